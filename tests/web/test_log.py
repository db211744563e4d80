"""Lines of the log: their exact form, one for each request and answer, nothing in them that should not be."""

from __future__ import annotations

import io
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from rag.errors import StoreError, UsageError
from rag.web.log import request_id, set_up_log, told
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, growing, quoting, refusing, talk_of

TALK = talk_of("Zero.", "One.", talk_id="secret-talk", title="T")
SECRET = "What did the board decide?"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture
def log() -> Iterator[Callable[[str], io.StringIO]]:
    """Sets the log up, in the form that is given; afterwards all is as it was."""
    root, ours = logging.getLogger(), [logging.getLogger(name) for name in ("rag", "ingest")]
    before = root.handlers[:], root.level, [each.level for each in ours]

    def start(form: Any) -> io.StringIO:
        stream = io.StringIO()
        root.handlers.clear()
        set_up_log(form, stream)
        return stream

    yield start
    root.handlers[:], root.level = before[0], before[1]
    for each, level in zip(ours, before[2], strict=True):
        each.setLevel(level)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine([TALK])


def lines(stream: io.StringIO, count: int) -> list[dict[str, Any]]:
    """So many lines of JSON, times and lengths of time checked and taken out; the last follows its response."""
    deadline = time.monotonic() + 20
    while stream.getvalue().count("\n") < count and time.monotonic() < deadline:
        time.sleep(0.01)
    found = [json.loads(line) for line in stream.getvalue().splitlines()]
    for line in found:
        assert re.fullmatch(TIME, line.pop("time"))
        for name in [name for name in line if name == "ms"]:
            assert line.pop(name) >= 0
    return found


def ask(server: Server, **headers: str) -> httpx.Response:
    return httpx.post(f"{server.url}api/ask", json={"question": SECRET}, headers=headers, timeout=30)


def test_text(log: Callable[[Any], io.StringIO]) -> None:
    stream = log("text")
    token = request_id.set("r1")
    told(logging.getLogger("rag.x"), "answer", {"n": 1.5, "what": 'a "b"\n=', "is": True, "none": ""})
    request_id.reset(token)
    logging.getLogger("rag.x").warning("a\nforged line\x1b[2J é")
    logging.getLogger("other").info("not ours")
    first, second = stream.getvalue().splitlines()
    assert re.fullmatch(TIME + r' INFO rag\.x: answer n=1\.5 what="a \\"b\\"\\n=" is=true none="" request_id=r1', first)
    assert re.fullmatch(TIME + r" WARNING rag\.x: a\\nforged line\\x1b\[2J é", second)


@pytest.mark.parametrize("form", ["text", "json"])
def test_tracebacks(log: Callable[[Any], io.StringIO], form: str) -> None:
    stream = log(form)
    try:
        raise ValueError("x")
    except ValueError:
        logging.getLogger("rag.x").exception("failed")
    if form == "text":
        assert stream.getvalue().splitlines()[-1] == "ValueError: x"
    else:
        (line,) = lines(stream, 1)
        assert line.pop("traceback").endswith("\nValueError: x")
        assert line == {"level": "ERROR", "logger": "rag.x", "message": "failed"}


def test_nothing_but_warnings_unless_asked_for(
    log: Callable[[Any], io.StringIO], engine: FakeEngine, serve: Callable[..., Server]
) -> None:
    stream = log("off")
    assert ask(serve(engine)).status_code == 200
    assert stream.getvalue() == ""


def test_a_line_for_the_answer_and_one_for_the_request(
    log: Callable[[Any], io.StringIO], engine: FakeEngine, serve: Callable[..., Server]
) -> None:
    stream = log("json")
    timings = {"search": 1.0, "first_claim": 2.0, "total": 3.0}
    whole = replace(quoting(TALK, 1), answered_by="m", usage={"prompt_tokens": 7}, timings_ms=timings)
    engine.script = growing(whole)
    response = ask(serve(engine), **{"X-Request-ID": "from-proxy_1.2"})
    assert response.headers["x-request-id"] == "from-proxy_1.2"
    answer, request = lines(stream, 2)
    known = {"level": "INFO", "logger": "rag.web.observe", "request_id": "from-proxy_1.2"}
    assert answer == known | {
        "message": "answer", "door": "api", "outcome": "written", "search_ms": 1.0, "first_claim_ms": 2.0,
        "total_ms": 3.0, "claims": 1, "talks": 1, "prompt_tokens": 7,
    }  # fmt: skip
    assert request == known | {
        "message": "request", "method": "POST", "route": "/api/ask", "status": 200, "bytes": len(response.content),
    }  # fmt: skip
    assert SECRET not in stream.getvalue()


def test_questions_are_logged_when_that_is_wanted(
    log: Callable[[Any], io.StringIO], engine: FakeEngine, serve: Callable[..., Server]
) -> None:
    stream = log("json")
    ask(serve(engine, log_questions=True))
    assert [line.get("question") for line in lines(stream, 2)] == [SECRET, None]


@pytest.mark.parametrize(
    ("script", "failure", "outcome"),
    [
        ([quoting(TALK, 1)], None, {"outcome": "quotes"}),
        ([refusing((TALK, 1))], None, {"outcome": "refused"}),
        (growing(quoting(TALK, 1)), StoreError("data: gone"), {"outcome": "failed", "error": "data: gone"}),
        (growing(quoting(TALK, 1)), UsageError(f"no talk {SECRET}"), {"outcome": "failed", "error": "UsageError"}),
        (growing(quoting(TALK, 1)), ZeroDivisionError("secret"), {"outcome": "failed", "error": "ZeroDivisionError"}),
    ],
)  # fmt: skip
def test_outcomes(
    log: Callable[[Any], io.StringIO],
    engine: FakeEngine,
    serve: Callable[..., Server],
    script: list[Any],
    failure: Exception | None,
    outcome: dict[str, str],
) -> None:
    stream = log("json")
    engine.script, engine.failure = script, failure
    ask(serve(engine))
    (answer,) = [line for line in lines(stream, 2) if line["message"] == "answer"]
    assert {name: answer.get(name) for name in outcome} == outcome
    assert ("error" in answer) == (failure is not None)
    assert SECRET not in json.dumps(answer)


def test_a_client_that_leaves(
    log: Callable[[Any], io.StringIO], engine: FakeEngine, serve: Callable[..., Server]
) -> None:
    stream = log("json")
    engine.pace_s, engine.script = 0.02, growing(quoting(TALK, 1))[:2] * 10_000
    server = serve(engine)
    with httpx.stream(
        "POST", f"{server.url}api/ask", json={"question": SECRET}, headers={"Accept": "text/event-stream"}, timeout=30
    ) as response:
        next(response.iter_bytes())
    server.stop()  # waits for what is under way
    answer, request = lines(stream, 2)
    assert (answer["outcome"], answer["request_id"]) == ("left", response.headers["x-request-id"])
    assert (request["status"], request["cut"], request["request_id"]) == (200, True, answer["request_id"])


@pytest.mark.parametrize(
    ("method", "path", "route", "status"),
    [
        ("GET", "api/talks/secret-talk?q=What+did+the+board", "/api/talks/{talk_id}", 200),
        ("GET", "?q=What+did+the+board+decide", "/", 200),
        ("GET", "desk/talks/nobody", "/desk/talks/{talk_id}", 404),
        ("GET", "desk/static/desk.js", "/desk/static/*", 200),
        ("GET", "api/nowhere", "/api/*", 404),
        ("GET", "nowhere/at/all", "other", 404),
        ("GET", "mcp", "/mcp", 405),
        ("POST", "v1/chat/completions", "/v1/chat/completions", 400),
    ],
)
def test_routes_are_told_as_templates(
    log: Callable[[Any], io.StringIO],
    engine: FakeEngine,
    serve: Callable[..., Server],
    method: str,
    path: str,
    route: str,
    status: int,
) -> None:
    stream = log("json")
    httpx.request(method, f"{serve(engine).url}{path}", headers={"Authorization": "Bearer hidden"})
    (line,) = lines(stream, 1)
    assert (line["method"], line["route"], line["status"]) == (method, route, status)
    assert not re.search("secret-talk|board|nobody|hidden", stream.getvalue())


@pytest.mark.parametrize("brought", ["x" * 65, "a b", "a\tb", 'a"b', "", "é".encode().decode("latin-1"), "{}"])
def test_ids_that_are_not_short_and_plain_are_replaced(
    engine: FakeEngine, serve: Callable[..., Server], brought: str
) -> None:
    response = httpx.get(f"{serve(engine).url}healthz", headers=[(b"X-Request-ID", brought.encode("latin-1"))])
    assert re.fullmatch("[0-9a-f]{16}", response.headers["x-request-id"])


def test_a_refused_host_has_an_id_and_a_line(
    log: Callable[[Any], io.StringIO], engine: FakeEngine, serve: Callable[..., Server]
) -> None:
    stream = log("json")
    response = httpx.get(f"{serve(engine).url}healthz", headers={"Host": "evil.example"})
    (line,) = lines(stream, 1)
    assert (line["status"], line["route"], line["request_id"]) == (403, "other", response.headers["x-request-id"])


def test_a_question_of_the_page(
    log: Callable[[Any], io.StringIO], engine: FakeEngine, serve: Callable[..., Server]
) -> None:
    from tests.web.test_routes import ask as ask_the_page

    stream = log("json")
    ask_the_page(serve(engine), "s1", run=1, question=SECRET)
    found = lines(stream, 3)
    (answer,) = [line for line in found if line["message"] == "answer"]
    assert (answer["door"], answer["outcome"]) == ("page", "quotes")
    (joined,) = [line for line in found if line.get("route") == "/gradio_api/queue/join"]
    assert answer["request_id"] == joined["request_id"]
    assert SECRET not in stream.getvalue()
