import sys
from pathlib import Path

import pytest

from rag.errors import StartError
from rag.settings import load_settings


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith(("RAG_", "OPENAI_", "CHROMA_")):
            monkeypatch.delenv(name)


def test_defaults() -> None:
    settings = load_settings()
    assert (settings.embed_model, settings.llm, settings.top_k) == ("", "off", 10)
    assert not settings.uses_llm


@pytest.mark.skipif(sys.platform != "linux", reason="each system has its own folder for users' data")
def test_the_library_lies_among_the_users_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert load_settings().home == tmp_path / "talkcite"
    monkeypatch.setenv("RAG_HOME", "")
    assert load_settings().home == tmp_path / "talkcite"
    monkeypatch.setenv("RAG_HOME", "data")
    assert load_settings().home == Path("data")


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


def test_read_only_is_a_yes_or_no(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load_settings().read_only
    monkeypatch.setenv("RAG_READ_ONLY", "true")
    assert load_settings().read_only
    monkeypatch.setenv("RAG_READ_ONLY", "maybe")
    with pytest.raises(StartError, match=r"RAG_READ_ONLY: found 'maybe', expected a valid boolean"):
        load_settings()


def test_an_empty_value_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_TOP_K", "")
    assert load_settings().top_k == 10


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_LLM_API_KEY", "sk-secret")
    assert "sk-secret" not in repr(load_settings())


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"RAG_CHROMA_URL": "http://h:1", "CHROMA_API_KEY": "ck-secret"}, "RAG_CHROMA_URL and CHROMA_API_KEY are both"),
        ({"RAG_CHROMA_TOKEN": "ck-secret"}, "RAG_CHROMA_TOKEN is set without RAG_CHROMA_URL"),
        ({"CHROMA_TENANT": "t"}, "CHROMA_TENANT set without CHROMA_API_KEY"),
        ({"CHROMA_TENANT": "t", "CHROMA_DATABASE": "d"}, "CHROMA_TENANT and CHROMA_DATABASE set without"),
        ({"RAG_CHROMA_URL": "localhost:8000"}, "RAG_CHROMA_URL: found 'localhost:8000', expected an address"),
    ],
)
def test_chroma_settings_that_do_not_go_together_are_named(
    monkeypatch: pytest.MonkeyPatch, found: dict[str, str], message: str
) -> None:
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StartError, match=message) as raised:
        load_settings()
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_chroma_cloud_is_set_by_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CHROMA_API_KEY": "ck-secret", "CHROMA_TENANT": "t", "CHROMA_DATABASE": "d"}.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.chroma_api_key.get_secret_value() == "ck-secret"
    assert (settings.chroma_tenant, settings.chroma_database) == ("t", "d")
    assert "ck-secret" not in repr(settings)
