"""The load trial, briefly: no error at any door, a talk added and a model away in the middle."""

from __future__ import annotations

import http.server
import json
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from eval import tables
from eval.__main__ import main
from eval.bench import doors
from eval.bench.load import Kind, Load


@pytest.mark.slow
def test_no_client_meets_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["load", "--clients", "6", "--seconds", "15", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["errors"], found["log_errors"], found["talks"]) == ([], [], 1)
    assert all(kind["seconds"] for kind in found["kinds"].values())
    by = Counter[str]()
    for name, kind in found["kinds"].items():
        if name.startswith("ask"):
            by.update(kind["answered_by"])
    assert by["stub"] > 0
    assert by["quotes"] > 0  # after the outage's retries
    assert found["files"][3] < found["files"][1] + 100  # what ingest and clients opened is closed again
    assert code in (0, 1)  # so short a trial says nothing of memory


def load(**changed: object) -> Load:
    search = {"search": Kind([0.01, 0.02, 0.03])}
    good = Load(2, 9.6, search, [], [], {"quotes": 4}, 1, (100, 200, 260, 219), (9, 9, 9, 9), (100, 200))
    return Load(**{name: getattr(good, name) for name in Load.__slots__} | changed)  # type: ignore[arg-type]


def test_what_holds() -> None:
    assert load().holds
    assert not load(errors=["x"]).holds
    assert not load(log_errors=["x"]).holds
    assert not load(talks=0).holds
    assert not load(memory_mb=(100, 200, 260, 221)).holds


def test_the_table() -> None:
    assert [load().kinds["search"].percentile(share) for share in (0.5, 0.95, 1)] == [20, 30, 30]
    assert tables.load(load()).row_count == 6


@pytest.fixture
def app() -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """A server that answers every POST with what the list holds."""
    replies: list[tuple[int, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = replies[0]
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", replies
    server.shutdown()
    server.server_close()


CLAIM = {"text": "x", "citations": [1]}
GOOD = {"claims": [CLAIM], "abstained": False, "answered_by": "m"}


@pytest.mark.parametrize(
    ("door", "status", "body", "wrong"),
    [
        ("search (API)", 503, "busy", "503 busy"),
        ("search (API)", 200, '{"hits": []}', "search: "),
        ("ask (API)", 200, json.dumps(GOOD | {"claims": [{"text": "x", "citations": []}]}), "m: "),
        ("ask (API)", 200, json.dumps(GOOD | {"claims": []}), "m: "),
        ("ask (API)", 200, json.dumps(GOOD | {"abstained": True}), "m: "),
        ("ask (API, stream)", 200, 'event: error\ndata: {"x": 1}\n\n', "ended with 'event: error'"),
        ("ask (chat API, stream)", 200, "data: {}\n\n", "the stream ended with"),
        ("ask (MCP)", 200, 'data: {"result": {"isError": true}}\n\n', "ask: "),
        ("search (MCP)", 200, '{"error": {"code": 1}}', "search_moments: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_noticed(
    app: tuple[str, list[tuple[int, str]]], door: str, status: int, body: str, wrong: str
) -> None:
    address, replies = app
    replies.append((status, body))
    with pytest.raises(doors.Wrong, match=wrong):
        doors.DOORS[door](address, "x")


def test_what_is_right(app: tuple[str, list[tuple[int, str]]]) -> None:
    address, replies = app
    refusal = {"claims": [], "abstained": True, "answered_by": "quotes"}
    for door, body, by in (
        ("ask (API)", json.dumps(GOOD), "m"),
        ("ask (API)", json.dumps(refusal), "quotes"),
        ("ask (API, stream)", f"event: claim\ndata: {{}}\n\nevent: answer\ndata: {json.dumps(GOOD)}\n\n", "m"),
        ("ask (chat API, stream)", f"data: {json.dumps({'talkcite': GOOD})}\n\ndata: [DONE]\n\n", "m"),
        ("ask (MCP)", f"event: message\ndata: {json.dumps({'result': {'structuredContent': GOOD}})}\n\n", "m"),
    ):
        replies[:] = [(200, body)]
        assert doors.DOORS[door](address, "x") == by
