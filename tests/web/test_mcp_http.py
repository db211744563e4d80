"""The tools over HTTP: the package's own client against the running app."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client

import rag
from rag.engine import Engine
from rag.index import writing
from rag.settings import load_settings
from rag.web import answering
from rag.web.limits import MAX_BODY
from tests.fakes import WordEmbedder
from tests.rag.talks import talk_of as real_talk_of
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, growing, quoting, talk_of

TALK = talk_of("Zero.", "One.", "Two.", talk_id="a", title="T")
MODES = ["auto", "legacy"]  # the newest protocol, where each request stands alone, and the one with a handshake


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine([TALK], script=growing(quoting(TALK, 1)))


@pytest.fixture
def server(engine: FakeEngine, serve: Callable[..., Server]) -> Server:
    return serve(engine)


def called(server: Server, *calls: tuple[str, dict[str, Any]], mode: str = "auto") -> list[Any]:
    """The results of tool calls."""

    async def run() -> list[Any]:
        async with Client(f"{server.url}mcp", mode=mode) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(run)


def text(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


@pytest.mark.parametrize("mode", MODES)
def test_the_tools_answer_as_those_of_the_command(tmp_path: Path, serve: Callable[..., Server], mode: str) -> None:
    with writing(tmp_path, WordEmbedder()) as writer:
        writer.put(real_talk_of("Hello.", "Welcome.", "Preemption evicts the longest sequence."))
    settings = load_settings(home=tmp_path, llm="off")
    with Engine(settings, WordEmbedder()) as engine:
        server = serve(engine, home=tmp_path)

        async def run() -> list[str]:
            async with Client(f"{server.url}mcp", mode=mode) as client:
                return [tool.name for tool in (await client.list_tools()).tools]

        assert anyio.run(run) == ["search_moments", "ask", "list_talks", "read_transcript"]
        found, answer, talks, read, wrong = called(
            server,
            ("search_moments", {"query": "preemption", "k": 1}),
            ("ask", {"question": "what does preemption evict?"}),
            ("list_talks", {}),
            ("read_transcript", {"talk_id": "talk-a", "first_cue": "s3"}),
            ("ask", {"question": "x", "year": "1066"}),
            mode=mode,
        )
        *_, last = engine.ask("what does preemption evict?")
        server.stop()
    assert found.structured_content["hits"][0]["first_cue"] == "s3"
    assert answer.structured_content["answer"] == last.text == "Preemption evicts the longest sequence."
    assert text(talks) == "talk-a: A talk"
    assert text(read) == "A talk\ns3 0:04 Preemption evicts the longest sequence."
    assert wrong.is_error
    assert text(wrong).startswith("Error executing tool ask: no talk matches year '1066'")


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_leaves_stops_the_answer(engine: FakeEngine, server: Server, mode: str) -> None:
    engine.pace_s = 0.02
    engine.script = engine.script[:1] * 10_000

    async def run() -> None:
        async with Client(f"{server.url}mcp", mode=mode) as client:
            with anyio.move_on_after(1):
                await client.call_tool("ask", {"question": "What?"})

    anyio.run(run)
    assert len(engine.asked) == 1
    deadline = time.monotonic() + 20
    while engine.closed < 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert engine.closed == 1


def test_it_shares_the_places_of_the_api(
    engine: FakeEngine, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "MAX_ANSWERS", 1)
    engine.pace_s, engine.script = 0.05, engine.script[:1] * 1000
    server = serve(engine)
    stream = {"Accept": "text/event-stream"}
    with httpx.stream("POST", f"{server.url}api/ask", json={"question": "x"}, headers=stream, timeout=30):
        (refused,) = called(server, ("ask", {"question": "What?"}))
    assert refused.is_error
    assert text(refused) == "Error executing tool ask: 1 questions are being answered; try again in a moment."


def test_errors_do_not_tell_where_the_library_is(tmp_path: Path, serve: Callable[..., Server]) -> None:
    with Engine(load_settings(home=tmp_path, llm="off"), WordEmbedder()) as engine:
        server = serve(engine, home=tmp_path)
        asked, found = called(server, ("ask", {"question": "x"}), ("search_moments", {"query": "x"}))
        server.stop()
    for result in (asked, found):
        assert result.is_error
        assert text(result).endswith(": RAG_HOME: no talks yet; add some with 'python -m ingest PATH'")


LIST: Any = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "talks.example.org", "Origin": "https://talks.example.org"}, 200),
    ],
)
def test_hosts_and_origins_are_those_of_the_page(
    engine: FakeEngine, serve: Callable[..., Server], headers: dict[str, str], status: int
) -> None:
    url = serve(engine, public_url="https://talks.example.org").url
    assert httpx.post(f"{url}mcp", json=LIST, headers=ACCEPT | headers).status_code == status


def test_what_is_too_large_or_no_message_is_refused(engine: FakeEngine, server: Server) -> None:
    large = LIST | {"params": {"x": "y" * MAX_BODY}}
    assert httpx.post(f"{server.url}mcp", json=large, headers=ACCEPT).status_code == 413
    for body in (b"{", b"[]", b"\xff", b'{"jsonrpc": "2.0"}'):
        headers = ACCEPT | {"Content-Type": "application/json"}
        assert httpx.post(f"{server.url}mcp", content=body, headers=headers).status_code == 400
    for method in ("GET", "DELETE", "HEAD"):
        refused = httpx.request(method, f"{server.url}mcp", headers=ACCEPT)
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert engine.asked == []


def test_without_the_package_the_page_runs_and_says_what_is_missing(
    engine: FakeEngine, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name in ("mcp", "rag.mcp_server") or name.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delattr(rag, "mcp_server", raising=False)
    url = serve(engine).url
    refused = httpx.post(f"{url}mcp", json=LIST)
    assert (refused.status_code, refused.json()["detail"]) == (
        501, "mcp: the package 'mcp' is not installed; pip install '.[mcp]'",
    )  # fmt: skip
    assert httpx.get(f"{url}healthz").status_code == 200
