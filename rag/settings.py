"""All settings in one record, read from the environment once. Nothing else in the project reads the environment."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, Self

import platformdirs
from pydantic import AfterValidator, AliasChoices, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from rag.errors import StartError


def _http_address(value: str) -> str:
    if value and not value.startswith(("http://", "https://")):
        raise ValueError("an address that starts with http:// or https://")
    return value.rstrip("/")


def _networks(value: str) -> str:
    parts = [part.strip() for part in value.split(",") if part.strip()]
    try:
        return ",".join(str(ip_network(part)) for part in parts)
    except ValueError:
        raise ValueError("addresses or networks such as 10.0.0.7 or 172.18.0.0/16, with commas between") from None


Networks = Annotated[str, AfterValidator(_networks)]
HttpAddress = Annotated[str, AfterValidator(_http_address)]


class Settings(BaseSettings):
    """Every setting `RAG_<NAME>` with its default.

    An explicit argument wins over the environment, the environment over the default. A wrong value raises
    `StartError` through `load_settings` with the setting's name, the value and what is allowed.
    """

    model_config = SettingsConfigDict(env_prefix="RAG_", frozen=True, populate_by_name=True, env_ignore_empty=True)

    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("talkcite", appauthor=False),
        description="folder of the library and its index; by default talkcite's place among the user's data",
    )
    embed_model: str = Field(
        default="", description="a sentence-transformers model name or folder; empty: the bundled MiniLM"
    )
    rerank_model: str = Field(
        default="", description="a CrossEncoder's name or folder that sorts the best moments again; empty: none"
    )
    glossary: Path | None = Field(
        default=None, description="text file with other spellings of terms, 'KV cache: KB cache, K-V cash'"
    )
    chroma_url: HttpAddress = Field(
        default="", description="a Chroma server that keeps the vectors; empty: each index keeps its own"
    )
    chroma_token: SecretStr = Field(
        default=SecretStr(""), description="what that server, or a proxy before it, takes as bearer token"
    )
    chroma_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias="CHROMA_API_KEY", description="Chroma Cloud keeps the vectors"
    )
    chroma_tenant: str = Field(default="", validation_alias="CHROMA_TENANT", description="tenant at Chroma Cloud")
    chroma_database: str = Field(default="", validation_alias="CHROMA_DATABASE", description="database at Chroma Cloud")
    public_url: HttpAddress = Field(default="", description="address under which others reach the page")
    read_only: bool = Field(default=False, description="take no uploads")
    auth: Path | None = Field(
        default=None, description="users file: who may sign in, and whose tokens programs may use; empty: everyone may"
    )
    asks_per_minute: int = Field(
        default=30, ge=1, le=100_000, description="questions a minute from one user or address"
    )
    trusted_proxies: Networks = Field(
        default="", description="addresses of proxies whose X-Forwarded-For counts, beside this machine's; with commas"
    )
    llm: str = Field(
        default="off", description="off: quotes; local or a .gguf file; else a model name at RAG_LLM_BASE_URL"
    )
    llm_base_url: HttpAddress = Field(
        default="", validation_alias=AliasChoices("RAG_LLM_BASE_URL", "OPENAI_BASE_URL"), description="OpenAI API root"
    )
    llm_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("RAG_LLM_API_KEY", "OPENAI_API_KEY")
    )
    llm_timeout_s: float = Field(default=120.0, gt=0, le=3600, description="limit for a whole answer, in seconds")
    llm_prompt_tokens: int | None = Field(
        default=None,
        ge=100,
        le=100_000,
        description="tokens of transcript that the model reads for an answer; empty: fewer for a local model",
    )
    log: Literal["off", "text", "json"] = Field(
        default="off", description="a line for each request and answer of the page's server, on stderr"
    )
    log_questions: bool = Field(default=False, description="these lines hold what was asked")
    top_k: int = Field(default=10, ge=1, le=50, description="hits a search returns")
    lead_in_s: float = Field(default=0.0, ge=0, le=60, description="seconds that links start before the sentence")

    @model_validator(mode="after")
    def _one_place_for_vectors(self) -> Self:
        if self.chroma_url and self.chroma_api_key.get_secret_value():
            raise ValueError("RAG_CHROMA_URL and CHROMA_API_KEY are both set, expected one: a server or Chroma Cloud")
        if self.chroma_token.get_secret_value() and not self.chroma_url:
            raise ValueError("RAG_CHROMA_TOKEN is set without RAG_CHROMA_URL, expected both: a token is for a server")
        named = [f"CHROMA_{name}" for name in ("TENANT", "DATABASE") if getattr(self, f"chroma_{name.lower()}")]
        if named and not self.chroma_api_key.get_secret_value():
            raise ValueError(f"{' and '.join(named)} set without CHROMA_API_KEY, expected Chroma Cloud's key as well")
        return self

    @property
    def uses_llm(self) -> bool:
        """True when written answers are wanted."""
        return self.llm.lower() not in ("", "off")

    @property
    def llm_is_local(self) -> bool:
        """True when the model is to run on this machine, inside the app: the default one or a file."""
        return self.llm.lower() == "local" or self.llm.lower().endswith(".gguf")


def load_settings(**explicit: object) -> Settings:
    """Read the settings; explicit arguments win over the environment.

    Raises `StartError` naming the first wrong setting. Secrets are never part of the message.
    """
    try:
        return Settings(**explicit)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        if not first["loc"]:  # settings that don't go together; the message names them
            raise StartError(f"{first['msg'].removeprefix('Value error, ')}; unset what is wrong") from None
        name = str(first["loc"][0])
        name = name if name.isupper() else f"RAG_{name.upper()}"
        found = "(hidden)" if name.endswith(("KEY", "TOKEN")) else repr(first["input"])
        expected = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        raise StartError(f"{name}: found {found}, expected {expected}; correct or unset it") from None


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read once."""
    return load_settings()
