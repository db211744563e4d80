"""Which language model the settings name.

What speaks to models is imported once one is used: openai takes most of a second, which answers made of quotes, and
searches, must not pay.
"""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from rag.errors import LLMError, StartError
from rag.llm import LLM
from rag.prompt import DEFAULT_BUDGET
from rag.settings import Settings

# Two cores read about 90 tokens a second: with these the first sentence shows after some ten seconds.
_LOCAL_TOKENS = 600


def load_llm(settings: Settings, *, in_background: bool = False) -> LLM | None:
    """The language model that the settings name, None when answers are to be quotes.

    `in_background` is for the page, which answers with quotes while a local model is fetched and loaded.
    Raises `StartError` when there is no such local model, or when OpenAI itself is meant and no key is set.
    """
    if not settings.uses_llm:
        return None
    if settings.llm_is_local:
        from rag.local import LocalLLM

        return LocalLLM(
            None if settings.llm.lower() == "local" else Path(settings.llm).expanduser(),
            prompt_tokens=settings.llm_prompt_tokens or _LOCAL_TOKENS,
            timeout_s=settings.llm_timeout_s,
            in_background=in_background,
        )
    key = settings.llm_api_key.get_secret_value()
    if not settings.llm_base_url and not key:
        raise StartError(
            f"RAG_LLM is {settings.llm!r} but RAG_LLM_BASE_URL and RAG_LLM_API_KEY are not set; "
            "set the address of a server, or a key for OpenAI, or RAG_LLM=local or off"
        )
    from rag.openai_chat import OpenAIChat

    return OpenAIChat(settings.llm, settings.llm_base_url, key, settings.llm_timeout_s)


def prompt_tokens(settings: Settings, llm: LLM | None) -> int:
    """How much of the transcripts this model shall read for an answer, in tokens."""
    if settings.llm_prompt_tokens:
        return settings.llm_prompt_tokens
    if llm is None:
        return DEFAULT_BUDGET
    from rag.local import LocalLLM

    return _LOCAL_TOKENS if isinstance(llm, LocalLLM) else DEFAULT_BUDGET


def try_out(llm: LLM, limit_s: float = 20.0) -> None:
    """Ask the model for a word. Raises `LLMError` when none comes within `limit_s` seconds."""
    deadline = time.monotonic() + limit_s
    with closing(llm.stream([{"role": "user", "content": "Reply with the word yes."}], None)) as reply:
        for piece in reply:
            if piece.text:
                return
            if time.monotonic() > deadline:
                raise LLMError(f"{llm.name} did not answer within {limit_s:g} s")
