from pathlib import Path

import pytest

from rag.errors import StartError
from rag.settings import load_settings


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith(("RAG_", "OPENAI_")):
            monkeypatch.delenv(name)


def test_defaults() -> None:
    settings = load_settings()
    assert (settings.home, settings.embed_model, settings.llm, settings.top_k) == (Path("data"), "", "off", 10)
    assert not settings.uses_llm


def test_an_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_TOP_K", "7")
    assert load_settings().top_k == 7
    assert load_settings(top_k=3).top_k == 3


def test_the_openai_variables_are_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert load_settings().llm_base_url == "http://127.0.0.1:1/v1"
    monkeypatch.setenv("RAG_LLM_BASE_URL", "http://127.0.0.1:2/v1")
    monkeypatch.setenv("RAG_LLM_API_KEY", "sk-2")
    assert load_settings().llm_base_url == "http://127.0.0.1:2/v1"
    assert load_settings().llm_api_key.get_secret_value() == "sk-2"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RAG_TOP_K", "0", r"RAG_TOP_K: found '0', expected .*greater than or equal to 1; correct or unset it"),
        ("RAG_TOP_K", "many", r"RAG_TOP_K: found 'many', expected .*valid integer"),
        ("RAG_LEAD_IN_S", "-1", r"RAG_LEAD_IN_S: found '-1'"),
        ("RAG_LLM_TIMEOUT_S", "0", r"RAG_LLM_TIMEOUT_S: found '0'"),
        ("RAG_LLM_PROMPT_TOKENS", "0", r"RAG_LLM_PROMPT_TOKENS: found '0', expected .*greater than or equal to 100"),
        ("RAG_LLM_BASE_URL", "localhost:8091", r"RAG_LLM_BASE_URL: found 'localhost:8091', expected an address"),
        ("OPENAI_BASE_URL", "ftp://x", r"BASE_URL: found 'ftp://x'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(StartError, match=message):
        load_settings()


def test_an_empty_value_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_TOP_K", "")
    assert load_settings().top_k == 10


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_LLM_API_KEY", "sk-secret")
    assert "sk-secret" not in repr(load_settings())
