"""The public address, and whom the server believes who asks."""

from __future__ import annotations

import json
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from rag.errors import StartError
from rag.settings import load_settings
from rag.web.connections import server_config
from rag.web.front import Front
from rag.web.paths import route_path
from rag.web.security import Guard

PUBLIC = "https://example.org/talks"
FORWARDED = {"X-Forwarded-For": "192.0.2.7", "Host": "127.0.0.1:7860"}


async def tell(request: Request) -> JSONResponse:
    told = {name: value for name, value in request.headers.items() if "forward" in name or name.startswith("x-")}
    return JSONResponse(
        {
            "url": str(request.url),
            "route": route_path(request.scope),
            "root": request.scope["root_path"],
            "client": request.client.host if request.client else None,
            "told": told,
        }
    )


INNER = Starlette(routes=[Mount("/api", routes=[Route("/{rest:path}", tell)]), Route("/{rest:path}", tell)])


def client(public_url: str = "", trusted: str = "", peer: str = "127.0.0.1") -> TestClient:
    config = server_config(Front(Guard(INNER, public_url=public_url), public_url), trusted)
    config.load()
    app: Any = config.loaded_app  # with what the web server itself puts around it
    return TestClient(app, base_url="http://127.0.0.1:7860", client=(peer, 4711), follow_redirects=False)


def seen(page: TestClient, path: str, **headers: str) -> dict[str, Any]:
    answer = page.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    assert answer.status_code == 200, answer.text
    return dict(json.loads(answer.text))


@pytest.mark.parametrize("host", ["example.org", "EXAMPLE.org", "127.0.0.1:7860", "localhost:7860", "[::1]:7860"])
@pytest.mark.parametrize("path", ["/desk/talks", "/talks/desk/talks"])
def test_behind_a_proxy_the_public_address_counts(host: str, path: str) -> None:
    found = seen(client(PUBLIC), f"{path}?a=b", Host=host, X_Forwarded_For="192.0.2.7")
    assert found["url"] == "https://example.org/talks/desk/talks?a=b"
    assert (found["route"], found["root"], found["client"]) == ("/desk/talks", "/talks", "192.0.2.7")
    assert found["told"] == {}


def test_whoever_asks_the_app_itself_gets_its_own_address() -> None:
    found = seen(client(PUBLIC), "/desk/talks")
    assert found["url"] == "http://127.0.0.1:7860/talks/desk/talks"
    assert seen(client(), "/desk/talks")["url"] == "http://127.0.0.1:7860/desk/talks"
    assert seen(client("http://talks.lan:8000"), "/x", Host="talks.lan:8000")["url"] == "http://talks.lan:8000/x"


def test_a_proxy_that_forwards_no_client_is_known_by_the_name() -> None:
    assert seen(client(PUBLIC), "/x", Host="example.org")["url"] == "https://example.org/talks/x"


def test_the_path_without_its_slash_leads_to_the_page() -> None:
    answer = client(PUBLIC).get("/talks", headers={"Host": "example.org"})
    assert (answer.status_code, answer.headers["location"]) == (307, "/talks/")


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/talks/", "/"),
        ("/talksmore", "/talksmore"),
        ("/", "/"),
        ("/talks/talks/", "/talks/"),
    ],
)
def test_only_the_whole_path_is_taken_off(path: str, route: str) -> None:
    assert seen(client(PUBLIC), path)["route"] == route


def test_what_clients_say_of_themselves_is_told_to_nobody() -> None:
    said = {
        "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/evil",
        "X-Forwarded-For": "10.0.0.1", "Forwarded": "for=10.0.0.1;host=evil.example", "X-Real-IP": "10.0.0.1",
        "X-Gradio-Server": "https://evil.example", "X-Original-URL": "/evil",
    }  # fmt: skip
    found = client(PUBLIC, peer="198.51.100.1").get("/desk/talks", headers=said).json()
    assert found["told"] == {}
    assert found["client"] == "198.51.100.1"
    assert "evil" not in json.dumps(found)


def test_a_strange_host_stays_one_whatever_else_is_said() -> None:
    for public_url in ("", PUBLIC):
        answer = client(public_url).get("/", headers={"Host": "evil.example", "X-Forwarded-For": "192.0.2.7"})
        assert answer.status_code == 403
        forwarded = client(public_url).get("/", headers={"Host": "evil.example", "X-Forwarded-Host": "example.org"})
        assert forwarded.status_code == 403


@pytest.mark.parametrize(
    ("peer", "trusted", "said", "client_"),
    [
        ("127.0.0.1", "", "192.0.2.7", "192.0.2.7"),
        ("::1", "", "192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "", "10.9.9.9, 192.0.2.7", "192.0.2.7"),  # the first was made up by the client
        ("127.0.0.1", "", "10.9.9.9, 192.0.2.7, 127.0.0.1", "192.0.2.7"),
        ("198.51.100.1", "", "192.0.2.7", "198.51.100.1"),
        ("10.0.0.7", "10.0.0.7", "192.0.2.7", "192.0.2.7"),
        ("172.18.0.9", "10.0.0.7,172.18.0.0/16", "192.0.2.7, 10.0.0.7", "192.0.2.7"),
        ("172.19.0.9", "10.0.0.7,172.18.0.0/16", "192.0.2.7", "172.19.0.9"),
        ("127.0.0.1", "10.0.0.7", "192.0.2.7", "192.0.2.7"),
    ],
)
def test_only_proxies_are_believed_who_asks(peer: str, trusted: str, said: str, client_: str) -> None:
    assert seen(client("", trusted, peer), "/", X_Forwarded_For=said)["client"] == client_


def test_the_environment_of_the_web_server_adds_no_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    assert seen(client(peer="198.51.100.1"), "/", X_Forwarded_For="192.0.2.7")["client"] == "198.51.100.1"
    assert isinstance(server_config(INNER), uvicorn.Config)


@pytest.mark.parametrize("value", ["*", "proxy.lan", "10.0.0.0/33", "10.0.0.7/8", "10.0.0.7;10.0.0.8"])
def test_proxies_are_addresses(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_TRUSTED_PROXIES", value)
    with pytest.raises(StartError, match=r"RAG_TRUSTED_PROXIES: found .*, expected addresses or networks such as"):
        load_settings()


def test_proxies_are_read_as_networks() -> None:
    assert load_settings(trusted_proxies=" 10.0.0.7 , 172.18.0.0/16,fd00::/8,").trusted_proxies == (
        "10.0.0.7/32,172.18.0.0/16,fd00::/8"
    )
