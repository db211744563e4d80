"""How often, how much and how slowly clients may ask: exact limits, and nobody's limit is another's."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message

from rag.users import User
from rag.web import connections, limits, rate
from rag.web.limits import MAX_BODY, BodyLimit, BodyPace
from rag.web.rate import AskedBy, Asking, Buckets, address_of, client_of
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine
from tests.web.test_routes import ask


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """`clock(5)` lets five seconds pass for the buckets."""
    now = 1000.0

    def pass_(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(rate.time, "monotonic", lambda: now)
    return pass_


def scope(host: str | None = "192.0.2.1", user: str = "") -> dict[str, Any]:
    given_user = {"user": User(user)} if user else {}
    return {"type": "http", "client": (host, 1234) if host else None, **given_user}


# Buckets


def test_a_bucket_holds_so_many_and_fills_slowly(clock: Callable[[float], None]) -> None:
    buckets = Buckets(3, 1 / 20)
    assert [buckets.take("a") for _ in range(5)] == [0, 0, 0, 20, 20]
    assert buckets.take("b") == 0
    clock(15)
    assert buckets.take("a") == 5
    clock(5)
    assert [buckets.take("a"), buckets.take("a")] == [0, 20]
    clock(10_000)
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 20]


def test_what_is_given_back_did_not_count(clock: Callable[[float], None]) -> None:
    buckets = Buckets(2, 1)
    for _ in range(10):
        assert buckets.take("a") == 0
        buckets.give_back("a")
    buckets.give_back("a")  # it never holds more than its size
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 1]


def test_what_was_used_longest_ago_is_forgotten_first(clock: Callable[[float], None]) -> None:
    buckets = Buckets(1, 0.001, most=3)
    for key in "abc":
        assert buckets.take(key) == 0
    assert buckets.take("a") > 0
    assert buckets.take("d") == 0  # b goes
    assert buckets.take("b") == 0
    assert buckets.take("a") > 0
    assert len(buckets._levels) == 3


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 30)), max_size=80))
def test_no_client_gets_more_than_its_rate(steps: list[tuple[str, float]]) -> None:
    now = 50.0
    before, rate.time.monotonic = rate.time.monotonic, lambda: now
    try:
        buckets = Buckets(5, 0.5)
        taken = {"a": 0, "b": 0}
        for key, passed in steps:
            now += passed
            taken[key] += buckets.take(key) == 0
            assert taken[key] <= 5 + (now - 50) * 0.5 + 1e-6
    finally:
        rate.time.monotonic = before


def test_threads_get_no_more_together(clock: Callable[[float], None]) -> None:
    buckets = Buckets(50, 1)
    got: list[float] = []
    threads = [threading.Thread(target=lambda: got.extend(buckets.take("a") for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got.count(0) == 50


# Who is one client


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::1", "::1"),
        ("unknown", "unknown"),
        (None, ""),
    ],
)
def test_addresses(host: str | None, address: str) -> None:
    assert address_of(scope(host)) == address


def test_a_user_is_one_client_wherever_they_are() -> None:
    assert client_of(scope("192.0.2.1", "ada")) == client_of(scope("192.0.2.2", "ada")) == "user ada"
    assert client_of(scope("192.0.2.1")) == "address 192.0.2.1"
    assert client_of(scope("user ada")) != client_of(scope("192.0.2.1", "ada"))


def test_questions_are_counted_by_client(clock: Callable[[float], None]) -> None:
    asking = Asking(2, spares_this_machine=False)
    assert [asking.wait_s(scope()) for _ in range(3)] == [0, 0, 30]
    assert asking.wait_s(scope("127.0.0.1")) == 0

    async def ask_in_it(*_: object) -> None:
        await asyncio.sleep(0)
        asking.check()

    clock(29.5)
    with pytest.raises(HTTPException) as refused:
        anyio.run(AskedBy(ask_in_it), scope(), None, None)
    assert (refused.value.status_code, refused.value.headers) == (429, {"Retry-After": "1"})
    asking.check()  # no request, nobody to count it for
    assert refused.value.detail == "That were many questions in a short time; please ask again in 1 s."


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "127.8.9.1", "::ffff:127.0.0.1"])
def test_this_machine_is_spared_where_no_proxy_hides_others(host: str) -> None:
    spared = Asking(1, spares_this_machine=True)
    assert [spared.wait_s(scope(host)) for _ in range(3)] == [0, 0, 0]
    assert [spared.wait_s(scope(host, "ada")) > 0 for _ in range(3)] == [False, True, True]
    assert [spared.wait_s(scope("192.0.2.1")) > 0 for _ in range(2)] == [False, True]


@pytest.mark.slow
def test_page_and_api_share_the_limit(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    server = serve(engine, public_url="http://127.0.0.1:1", asks_per_minute=2)
    assert ask(server, "s", run=1, question="One?")[-1]["done"]
    assert httpx.post(f"{server.url}api/ask", json={"question": "Two?"}).status_code == 200
    refused = httpx.post(f"{server.url}api/ask", json={"question": "Three?"})
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 30
    assert refused.headers["content-type"] == "application/problem+json"
    said = ask(server, "s", run=4, question="Four?")
    assert {snapshot["run"] for snapshot in said} == {4}
    assert said[0]["error"].startswith("That were many questions in a short time; please ask again in ")
    other = {"X-Forwarded-For": "192.0.2.9"}  # a proxy on this machine says so
    assert httpx.post(f"{server.url}api/ask", json={"question": "Five?"}, headers=other).status_code == 200
    assert [question for question, *_ in engine.asked] == ["One?", "Two?", "Five?"]


# Bodies


async def read_all(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


BODIES = Starlette(routes=[Route("/{path:path}", read_all, methods=["POST"])])


def run(app: Any, messages: Callable[[], Any], path: str = "/", **headers: str) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asked = {
        "type": "http", "method": "POST", "path": path, "root_path": "", "query_string": b"",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    anyio.run(app, asked, messages, send)
    return sent


def test_each_path_has_its_limit() -> None:
    app = TestClient(BodyLimit(BODIES, limit=10, others={"/large": 20}, leaves=lambda path: path == "/left"))
    assert app.post("/left", content=b"x" * 99).status_code == 200
    for path, size, status in (
        ("/", 10, 200),
        ("/", 11, 413),
        ("/large", 20, 200),
        ("/large", 21, 413),
        ("/large/", 11, 413),
    ):
        answer = app.post(path, content=b"x" * size)
        assert answer.status_code == status
        assert (answer.headers.get("connection") == "close") == (status == 413)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["gradio_api/queue/join", "desk/model", "sign-in"])
def test_the_page_takes_no_endless_bodies_either(engine: FakeEngine, serve: Callable[..., Server], path: str) -> None:
    url = f"{serve(engine).url}{path}"
    assert httpx.post(url, content=b" " * (MAX_BODY + 1)).status_code == 413

    def endless() -> Iterator[bytes]:
        for _ in range(200):
            yield b" " * 10_000

    with suppress(httpx.WriteError):  # the server may hang up before everything was sent
        assert httpx.post(url, content=endless()).status_code in (404, 413)


def test_a_body_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_S", 0.05)
    first = True

    async def messages() -> Message:
        nonlocal first
        if not first:
            await asyncio.sleep(3600)
        first = False
        return {"type": "http.request", "body": b"x", "more_body": True}

    sent = run(BodyPace(BODIES), messages)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


def test_a_body_that_drips_is_given_up_and_one_that_flows_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_S", 0.3)
    monkeypatch.setattr(limits, "BYTES_A_SECOND", 1000)

    def body(size: int, pieces: int = 40) -> Callable[[], Any]:
        left = pieces

        async def messages() -> Message:
            nonlocal left
            await asyncio.sleep(0.02)
            left -= 1
            return {"type": "http.request", "body": b"x" * size, "more_body": left > 0}

        return messages

    assert run(BodyPace(BODIES), body(1))[0]["status"] == 408
    flowing = run(BodyPace(BODIES), body(1000))
    assert (flowing[0]["status"], flowing[1]["body"]) == (200, b"40000")


def test_what_the_server_does_itself_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_S", 0.1)

    async def busy(request: Request) -> PlainTextResponse:
        async for _ in request.stream():
            await asyncio.sleep(0.05)
        return PlainTextResponse("done")

    left = 8

    async def messages() -> Message:
        nonlocal left
        left -= 1
        return {"type": "http.request", "body": b"x", "more_body": left > 0}

    assert run(BodyPace(Starlette(routes=[Route("/", busy, methods=["POST"])])), messages)[0]["status"] == 200


def test_waiting_for_the_client_to_go_has_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_S", 0.05)
    came = [{"type": "http.request", "body": b"", "more_body": False}]

    async def messages() -> Message:
        if came:
            return came.pop()
        await asyncio.sleep(0.2)
        return {"type": "http.disconnect"}

    async def app(_: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"
        assert (await receive())["type"] == "http.disconnect"
        await PlainTextResponse("gone")({"type": "http"}, receive, send)

    assert run(BodyPace(app), messages)[0]["status"] == 200


# Connections


def talk(server: Server, *pieces: bytes, pause_s: float = 0.0, wait_s: float = 10) -> tuple[bytes, float]:
    """What the server says to these bytes until it hangs up, and after how many seconds; `wait_s`: it did not."""
    said = b""
    before = time.monotonic()
    hung_up = threading.Event()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.settimeout(wait_s)

        def listen() -> None:
            nonlocal said
            with suppress(OSError):
                while piece := connection.recv(65_536):
                    said += piece
            hung_up.set()

        listener = threading.Thread(target=listen)
        listener.start()
        with suppress(OSError):  # it may hang up meanwhile
            for piece in pieces:
                connection.sendall(piece)
                hung_up.wait(pause_s)
        listener.join()
    return said, time.monotonic() - before


ALIVE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, serve: Callable[..., Server]) -> Server:
    monkeypatch.setattr(connections, "HEAD_S", 0.5)
    return serve(engine)


@pytest.mark.slow
def test_connections_that_ask_nothing_are_closed(quick: Server) -> None:
    for pieces in ([], [b"GET / HT"], [ALIVE], [ALIVE + b"X-Long: "] + [b"x"] * 30):
        said, after_s = talk(quick, *pieces, pause_s=0.05)
        assert said == b""
        assert after_s < 9
    assert httpx.get(f"{quick.url}healthz").status_code == 200


@pytest.mark.slow
def test_the_second_request_of_a_connection_may_not_be_slow_either(quick: Server) -> None:
    dripping = [bytes([byte]) for byte in ALIVE + b"X-Long: " + b"x" * 40]
    said, after_s = talk(quick, ALIVE + b"\r\n", *dripping, pause_s=0.05)
    assert said.startswith(b"HTTP/1.1 200")
    assert after_s < 9


@pytest.mark.slow
def test_the_rest_of_a_refused_body_is_not_listened_to(quick: Server) -> None:
    head = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    said, after_s = talk(quick, head, *[b"x"] * 40, pause_s=0.05)
    assert said.startswith(b"HTTP/1.1 404")
    assert after_s < 9


@pytest.mark.slow
def test_an_endless_head_is_given_up(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    server = serve(engine)
    line = b"X-Long: " + b"x" * 9_990 + b"\r\n"
    said, after_s = talk(server, ALIVE, *[line] * 2_000, wait_s=15)
    assert said == b""
    assert after_s < connections.HEAD_S / 2  # long before the time was over
    said, _ = talk(server, ALIVE, *[line] * 3, b"Connection: close\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 200")


def test_many_requests_of_one_connection_are_no_long_head(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    with httpx.Client(base_url=serve(engine).url, headers={"X-Long": "x" * 5_000}) as client:
        for _ in range(30):
            assert client.get("healthz").status_code == 200
        assert client.post("api/search", json={"query": "x"}, headers={"X-Long": "x" * 30_000}).status_code == 200


@pytest.mark.slow
def test_who_asks_in_time_is_served_for_as_long_as_it_takes(quick: Server, engine: FakeEngine) -> None:
    engine.pace_s = 1.5  # three times as long as a head may take
    assert httpx.post(f"{quick.url}api/ask", json={"question": "x"}, timeout=30).status_code == 200
    with httpx.Client(base_url=quick.url) as client:
        for _ in range(4):
            assert client.get("healthz").status_code == 200
            time.sleep(0.2)
