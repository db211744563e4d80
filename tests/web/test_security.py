"""Which requests are answered, and what every answer tells the browser."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from rag.web.security import PLAYERS, Guard


async def hello(_: object) -> PlainTextResponse:
    return PlainTextResponse("hello", headers={"X-Frame-Options": "ALLOWALL"})


async def socket(connection: WebSocket) -> None:
    await connection.accept()
    await connection.close()


def client(names: tuple[str, ...] = (), public_url: str = "") -> TestClient:
    routes = [Route("/", hello, methods=["GET", "POST"]), WebSocketRoute("/ws", socket)]
    return TestClient(Guard(Starlette(routes=routes), names, public_url), base_url="http://127.0.0.1:7860")


def test_headers_of_every_answer_refusals_and_missing_pages_included() -> None:
    for response in (client().get("/"), client().get("/nowhere"), client().get("/", headers={"Host": "evil.example"})):
        policy = dict(part.split(" ", 1) for part in response.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'self'"
        assert policy["connect-src"] == "'self'"
        assert policy["form-action"] == "'self'"
        assert policy["object-src"] == "'none'"
        assert policy["frame-ancestors"] == "'self'"
        assert policy["frame-src"].split() == list(PLAYERS)
        assert not [part for name, part in policy.items() if name != "frame-src" and "http" in part]
        assert response.headers.get_list("x-frame-options") == ["SAMEORIGIN"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "strict-origin-when-cross-origin"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:7860", 200),
        ("localhost", 200),
        ("LOCALHOST:7860", 200),
        ("[::1]:7860", 200),
        ("192.168.1.7:7860", 200),
        ("desk.lan:7860", 200),
        ("talks.example.org", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
        ("talks.example.org.evil.example", 403),
        ("user@evil.example", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
def test_hosts(host: str, status: int) -> None:
    page = client(names=("Desk.lan",), public_url="https://talks.example.org/desk")
    response = page.get("/", headers={"Host": host})
    assert response.status_code == status
    if status == 403:
        assert "RAG_PUBLIC_URL" in response.text


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://127.0.0.1:7860", 200),
        ("https://talks.example.org", 200),
        ("http://127.0.0.1:8000", 403),
        ("http://127.0.0.1", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
        ("http://[", 403),
        ("http://127.0.0.1:7860.evil.example", 403),
    ],
)
def test_origins(origin: str | None, status: int) -> None:
    page = client(public_url="https://talks.example.org")
    headers = {} if origin is None else {"Origin": origin}
    assert page.post("/", headers=headers).status_code == status
    assert page.get("/", headers=headers).status_code == status


def test_a_public_url_that_is_not_set_allows_no_empty_origin() -> None:
    assert client().post("/", headers={"Origin": "file://"}).status_code == 403


def test_sockets_are_guarded_too() -> None:
    page = client()
    with page.websocket_connect("ws://127.0.0.1:7860/ws"):
        pass
    strange = {"Origin": "http://evil.example"}
    with (
        pytest.raises(WebSocketDenialResponse),
        page.websocket_connect("ws://127.0.0.1:7860/ws", headers=strange),
    ):
        pass
