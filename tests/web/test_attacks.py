"""Attacks on the app as it is served, each of which must end in a short refusal: docs/security.md names them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from rag.errors import StoreError
from rag.settings import Settings
from rag.web import health
from rag.web.page import create_app
from tests.web.conftest import Server, as_engine
from tests.web.fake_engine import FakeEngine, growing, quoting, talk_of
from tests.web.test_routes import ask

SECRET = "the password is swordfish"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / "secret.mp3").write_text(SECRET)
    (folder / "session_key").write_text(SECRET)
    return folder


@pytest.fixture(scope="module")
def engine(home: Path) -> FakeEngine:
    recording = home / "heard.wav"
    recording.write_bytes(b"RIFF" + bytes(range(256)) * 40)
    return FakeEngine(
        [talk_of("One.", talk_id="one", media=str(recording)), talk_of("Two.", talk_id="two", media=SECRET)]
    )


@pytest.fixture(scope="module")
def client(engine: FakeEngine, home: Path) -> Iterator[TestClient]:
    app = create_app(as_engine(engine), Settings(home=home))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as opened:
        yield opened


@pytest.mark.parametrize(
    "way", ["..", "%2e%2e", "..%2f..", "%2e%2e%2f%2e%2e", "..%5c..", "....//", "%252e%252e", "one%00"]
)
@pytest.mark.parametrize(
    "path", ["desk/talks/{}/session_key", "desk/media/{}/secret.mp3", "desk/static/{}/page.py", "api/jobs/{}",
             "api/talks/{}/session_key",
             "assets/{}/package.json", "static/{}/routes.py", "{}/app.py", "desk/static/{}"],
)  # fmt: skip
def test_no_path_leads_out(client: TestClient, path: str, way: str) -> None:
    answer = client.get(f"/{path.format(way)}")
    assert answer.status_code in (403, 404)
    assert "swordfish" not in answer.text
    assert "import" not in answer.text


@pytest.mark.parametrize("path", ["desk/static//etc/passwd", "desk/media//etc/passwd", "assets//etc/passwd"])
def test_no_absolute_path_does(client: TestClient, path: str) -> None:
    assert client.get(f"/{path}").status_code in (403, 404)


DEEP = b"[" * 200_000 + b"]" * 200_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("api/ask", DEEP),
        ("api/ask", b'{"question":' + DEEP + b"}"),
        ("api/search", b'{"query":' * 90_000),
        ("desk/model", DEEP),
        ("gradio_api/queue/join", b'{"fn_index":0,"session_hash":"x","data":' + DEEP + b"}"),
        ("gradio_api/cancel", DEEP),
    ],
)
def test_nested_json_is_no_work(client: TestClient, path: str, body: bytes) -> None:
    answer = client.post(f"/{path}", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert len(answer.content) < 1000


@pytest.mark.parametrize(
    "part",
    [
        b'Content-Disposition: form-data; name="files"; filename="a.vtt"\r\n\r\nx',
        b'Content-Disposition: form-data; name="files"\r\n\r\nx',
        b"X: " + b"y" * 900_000 + b"\r\n\r\nx",
        b"\r\n\r\n",
        b"Content-Disposition: form-data\r\n\r\nx",
    ],
)
def test_forms_of_thousands_of_parts_are_refused(client: TestClient, part: bytes) -> None:
    body = b"".join(b"--b\r\n" + part + b"\r\n" for _ in range(3_000 if len(part) < 1000 else 1)) + b"--b--"
    answer = client.post("/api/ingest", content=body, headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert answer.status_code in (400, 403, 422)
    assert len(answer.content) < 1000


@pytest.mark.parametrize(
    "ranges",
    [
        ",".join(f"{n}-{n}" for n in range(0, 10_000, 2)),
        ",".join("0-" for _ in range(5_000)),
        ",".join("-1" for _ in range(5_000)),
        "0-0," * 5_000,
        "9" * 5_000 + "-",
    ],
)
def test_thousands_of_ranges_bring_no_more_than_the_recording(client: TestClient, ranges: str) -> None:
    answer = client.get("/desk/media/one", headers={"Range": f"bytes={ranges}"})
    assert answer.status_code in (200, 206, 400, 416)
    assert len(answer.content) < 3 * 10_244


def test_a_recording_is_a_recording(client: TestClient) -> None:
    assert client.get("/desk/media/one").status_code == 200
    assert client.get("/desk/media/two").status_code == 404


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest/meta-data", "http://127.0.0.1:22", "file:///etc/passwd", "gopher://x"]
)
def test_nobody_makes_the_server_fetch_an_address(client: TestClient, url: str) -> None:
    chosen = client.post("/desk/model", json={"kind": "server", "base_url": url, "model": "x"})
    assert chosen.status_code in (403, 422)
    assert client.post("/api/ingest", json={"url": url}).status_code in (403, 422)
    assert client.post("/api/ingest", data={"files": url}).status_code in (403, 422)
    assert client.get(f"/gradio_api/proxy={url}").status_code == 404
    assert client.get(f"/proxy={url}").status_code == 404


def test_nobody_is_told_where_the_library_lies(
    engine: FakeEngine, home: Path, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"{home}: no talks yet; add some with 'python -m ingest PATH'"
    told = "RAG_HOME: no talks yet; add some with 'python -m ingest PATH'"
    monkeypatch.setattr(engine, "script", growing(quoting(engine.library[0], 0)))
    monkeypatch.setattr(engine, "failure", StoreError(said))
    monkeypatch.setattr(engine, "unready", lambda: said)
    monkeypatch.setattr(health, "_FRESH_S", 0)
    assert client.get("/readyz").json()["detail"] == told
    assert client.post("/api/ask", json={"question": "x"}).json()["detail"] == told
    stream = client.post("/api/ask", json={"question": "x"}, headers={"Accept": "text/event-stream"})
    assert str(home) not in stream.text
    server = Server(engine, home=home)
    try:
        assert ask(server, "s", run=1, question="x")[-1] == {"run": 1, "error": told}
    finally:
        server.stop()


def test_readiness_costs_one_search_a_second(engine: FakeEngine, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def unready() -> str:
        nonlocal looks
        looks += 1
        return ""

    monkeypatch.setattr(engine, "unready", unready)
    app = create_app(as_engine(engine), Settings(home=home))
    visitor = TestClient(app, base_url="http://127.0.0.1")
    monkeypatch.setattr(health.time, "monotonic", lambda: 100.0)
    for _ in range(20):
        assert visitor.get("/readyz").json() == {"ready": True}
    assert looks == 1
    monkeypatch.setattr(health.time, "monotonic", lambda: 101.0)
    visitor.get("/readyz")
    assert looks == 2


def test_no_answer_names_the_program_behind_it(serve: object, engine: FakeEngine, home: Path) -> None:
    server = Server(engine, home=home)
    try:
        for path in ("", "api/talks", "nowhere", "desk/talks/nobody"):
            answer = httpx.get(f"{server.url}{path}")
            assert "server" not in answer.headers
            assert "Traceback" not in answer.text
            assert json.dumps(str(home)) not in answer.text
    finally:
        server.stop()
