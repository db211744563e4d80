"""Who writes the answers: what the page says of it, and the owner's choice of another model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from rag.llm import LLMStatus
from rag.settings import Settings
from rag.web import model as subject
from rag.weights import DEFAULT
from tests.rag.scripted import ScriptedLLM
from tests.rag.stub_server import Exchange, Stub, said, serving
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, talk_of

LINE = "[data-part=model] span"


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine([talk_of("One.", talk_id="t", title="T")])


@pytest.fixture(autouse=True)
def not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "fetched", lambda _: None)


def yes(_: Stub, exchange: Exchange) -> None:
    exchange.stream(said("yes"))


def refuse(_: Stub, exchange: Exchange) -> None:
    exchange.error(401, "the key sk-secret is wrong")


def choose(server: Server, **choice: Any) -> httpx.Response:
    return httpx.post(f"{server.url}desk/model", json=choice, timeout=60)


def test_what_there_is(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    server = serve(engine)
    off = {"name": "", "state": "off", "done": 0, "total": 0, "detail": "", "local": None}
    assert httpx.get(f"{server.url}desk/model").json() == off
    engine.llm = ScriptedLLM([], name="small", status=LLMStatus("fetching", 3, 10))
    shown = {"name": "small", "state": "fetching", "done": 3, "total": 10, "detail": "", "local": None}
    assert httpx.get(f"{server.url}desk/model").json() == shown


def test_only_the_owner_chooses(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    reply = choose(serve(engine), kind="local")
    assert (reply.status_code, reply.json()["detail"]) == (403, "The model is chosen where the app was started.")
    assert engine.llm is None


def test_a_server_is_tried_before_it_is_taken(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    server = serve(engine, is_owners=True)
    with serving(refuse, yes) as stub:
        wanted = {"kind": "server", "base_url": stub.url, "model": "m", "key": "sk-secret"}
        refused = choose(server, **wanted)
        assert (refused.status_code, engine.llm) == (422, None)
        assert refused.json()["detail"] == (
            "the language model m at 127.0.0.1 refused the key (401): set RAG_LLM_API_KEY."
        )
        taken = choose(server, **wanted)
    assert taken.json() == {
        "name": "m", "state": "ready", "done": 0, "total": 0, "detail": "",
        "local": {"name": DEFAULT.name, "bytes": DEFAULT.size, "fetched": False},
    }  # fmt: skip
    assert engine.llm is not None
    assert {name.lower(): value for name, value in stub.headers[-1].items()}["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in refused.text + taken.text
    assert choose(server, kind="off").json()["state"] == "off"
    assert engine.llm is None


@pytest.mark.parametrize(
    ("choice", "status"),
    [
        ({"kind": "server", "base_url": "file:///etc/passwd", "model": "m"}, 422),
        ({"kind": "server", "base_url": "http://127.0.0.1:9/v1", "model": " "}, 422),
        ({"kind": "server", "base_url": "http://127.0.0.1:9/v1", "model": "/etc/passwd.gguf"}, 422),
        ({"kind": "/path/to.gguf"}, 422),
        ({}, 422),
    ],
)
def test_what_can_not_be_chosen(
    engine: FakeEngine, serve: Callable[..., Server], choice: dict[str, str], status: int
) -> None:
    assert choose(serve(engine, is_owners=True), **choice).status_code == status
    assert engine.llm is None


def test_the_local_model(engine: FakeEngine, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def load(settings: Settings, *, in_background: bool) -> ScriptedLLM:
        asked.append((settings.llm, in_background))
        return ScriptedLLM([], name="small", status=LLMStatus("loading"))

    monkeypatch.setattr(subject, "load_llm", load)
    reply = choose(serve(engine, is_owners=True), kind="local").json()
    assert (reply["name"], reply["state"], asked) == ("small", "loading", [("local", True)])


@pytest.mark.browser
def test_the_page_follows_the_model(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    llm = ScriptedLLM([], name="small", status=LLMStatus("fetching", 340_000_000, 1_000_000_000))
    engine.llm = llm
    page, _ = open_page(serve(engine).url)
    page.wait_for_selector(f"{LINE}:not(:empty)")
    assert page.locator(LINE).inner_text() == "Answers are quotes while small is being fetched: 34 % of 1.0 GB"
    assert page.locator("[data-part=model] progress").evaluate("bar => bar.value") == pytest.approx(0.34)
    llm.status = LLMStatus("loading")
    page.wait_for_function(f"document.querySelector('{LINE}').textContent.endsWith('small is being loaded')")
    llm.status = LLMStatus("ready")
    page.wait_for_function(f"document.querySelector('{LINE}').textContent === 'Answers are written by small'")
    assert page.locator("[data-part=live]").inner_text() == "Answers are written by small"
    assert page.locator("[data-part=model] button").is_hidden()


@pytest.mark.browser
def test_the_owner_connects_a_model(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine, is_owners=True).url)
    page.click("text=Connect a model")
    assert (
        page.locator("[data-part=local]").inner_text() == "Qwen2.5-Coder 1.5B, inside this app; 1.1 GB to fetch, once."
    )
    with serving(refuse, yes) as stub:
        page.fill("[name=base_url]", stub.url)
        page.fill("[name=model]", "m")
        page.fill("[name=key]", "sk-secret")
        page.click("text=Try it")
        page.wait_for_selector(".choose-model [role=alert]:not(:empty)")
        assert "refused the key" in page.locator(".choose-model [role=alert]").inner_text()
        page.click("text=Try it")
        page.wait_for_selector(".choose-model", state="hidden")
    assert page.locator(LINE).inner_text() == "Answers are written by m"
    assert page.locator("[name=key]").input_value() == ""
    page.click("[data-part=model] button")
    page.click("text=Answer with quotes")
    page.wait_for_function(f"document.querySelector('{LINE}').textContent === 'Answers are quotes'")
    assert engine.llm is None
