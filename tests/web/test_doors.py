"""Users and their limits hold at every door: page, API, chat API, tools for assistants, numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from rag.settings import Settings
from rag.users import User, hash_token, write_users
from rag.web.page import create_app
from tests.web.conftest import as_engine
from tests.web.fake_engine import FakeEngine, talk_of

ROBOT = {"Authorization": "Bearer token"}
CHAT = {"model": "talkcite", "messages": [{"role": "user", "content": "What?"}]}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ask", "arguments": {"question": "What?"}},
}
MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    pytest.importorskip("mcp")
    write_users(tmp_path / "users", {"robot": User("robot", token=hash_token("token"))})
    settings = Settings(home=tmp_path, auth=tmp_path / "users", asks_per_minute=3)
    engine: Any = FakeEngine([talk_of("One.", talk_id="one")])
    engine.settings = settings
    with TestClient(create_app(as_engine(engine), settings), base_url="http://127.0.0.1") as opened:
        yield opened


def ask_all(client: TestClient) -> list[httpx.Response]:
    return [
        client.post("/api/ask", json={"question": "What?"}, headers=ROBOT),
        client.post("/v1/chat/completions", json=CHAT, headers=ROBOT),
        client.post("/mcp", json=CALL, headers={**ROBOT, **MCP}),
    ]


def test_each_door_takes_the_token_and_nobody_without_it(client: TestClient) -> None:
    assert [answer.status_code for answer in ask_all(client)] == [200, 200, 200]
    assert client.get("/metrics", headers=ROBOT).status_code == 200
    for method, path in (("POST", "/api/ask"), ("POST", "/v1/chat/completions"), ("POST", "/mcp"), ("GET", "/metrics")):
        refused = client.request(method, path, json={})
        assert (refused.status_code, refused.headers["content-type"]) == (401, "application/problem+json")


def test_the_doors_share_a_clients_limit(client: TestClient) -> None:
    assert [answer.status_code for answer in ask_all(client)] == [200, 200, 200]
    api, chat, tools = ask_all(client)
    assert (api.status_code, chat.status_code) == (429, 429)
    assert 1 <= int(chat.headers["retry-after"]) <= 20
    assert chat.json()["error"]["code"] == "rate_limit_exceeded"
    assert "That were many questions in a short time" in tools.text
    assert '"isError":true' in tools.text
