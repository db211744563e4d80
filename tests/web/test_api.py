"""The HTTP API: exact documents, limits, errors, streams, uploads."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import jsonschema
import pytest
from starlette.testclient import TestClient

from rag.errors import StoreError, UsageError
from rag.settings import Settings
from rag.types import CheckedClaim
from rag.web import answering, health
from rag.web import api as api_module
from rag.web.api import create_api
from rag.web.jobs import Jobs, Progress
from rag.web.limits import MAX_ANSWERS, MAX_BODY, MAX_FILES, MAX_QUESTION, MAX_WAITING
from tests.web.conftest import Server, as_engine
from tests.web.fake_engine import FakeEngine, growing, quoting, refusing, talk_of

TALK = talk_of(
    *[f"Sentence {n}." for n in range(10)],
    talk_id="a",
    title="T",
    speakers=["Ada"],
    source="/home/ada/x.vtt",
    media="/home/ada/x.mp3",
)
CITATION = {
    "n": 1,
    "talk_id": "a",
    "title": "T",
    "first_cue": "s2",
    "last_cue": "s2",
    "start_ms": 2000,
    "end_ms": 4000,
    "url": "/?talk=a&t=2#s2",
    "speakers": ["Ada"],
    "quote": "Sentence 1.",
}
CLAIM = {"text": "Sentence 1.", "support": "supported", "citations": [1]}
ANSWER = {
    "question": "What?",
    "searched": "What?",
    "answer": "Sentence 1.",
    "abstained": False,
    "missing": "",
    "confidence": 0.9,
    "talks_searched": 1,
    "claims": [CLAIM],
    "citations": [CITATION],
    "nearest": [],
    "answered_by": "quotes",
    "notice": "",
    "usage": {},
    "timings_ms": {},
}
REPORT: Any = {"files": [], "ignored": [], "removed": []}
SSE = {"Accept": "text/event-stream"}


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine([TALK])


def client(engine: FakeEngine, jobs: Jobs | None = None) -> TestClient:
    return TestClient(create_api(as_engine(engine), Settings(), jobs), raise_server_exceptions=False)


def problem(response: httpx.Response) -> tuple[int, str]:
    """Status and detail of an error, which must be one line of problem+json."""
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document.keys() == {"type", "title", "status", "detail"}
    assert document["status"] == response.status_code
    assert "\n" not in document["detail"]
    return response.status_code, document["detail"]


def events(text: str) -> list[tuple[str, Any]]:
    """Name and data of each event of a stream."""
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_search(engine: FakeEngine) -> None:
    asked = {"query": " What? ", "k": 1, "talk": "a", "speaker": "Ada", "event": "E", "year": "2024"}
    response = client(engine).post("/search", json=asked)
    assert response.status_code == 200
    moment = {key: value for key, value in CITATION.items() if key not in ("n", "quote")}
    hit = {**moment, "first_cue": "s1", "last_cue": "s1", "start_ms": 0, "end_ms": 2000, "url": "/?talk=a&t=0#s1"}
    assert response.json() == {
        "query": "What?",
        "hits": [{**hit, "score": 1.0, "text": "Sentence 0."}],
        "notice": "",
    }
    (query, k, filters), *_ = engine.searched
    assert (query, k) == ("What?", 1)
    assert (filters.talk, filters.speaker, filters.event, filters.year) == ("a", "Ada", "E", "2024")


def test_ask(engine: FakeEngine) -> None:
    engine.script = growing(quoting(TALK, 1))
    history = [{"role": "user", "content": "Before?"}, {"role": "assistant", "content": "Yes."}]
    response = client(engine).post("/ask", json={"question": "What?", "year": "2024", "history": history})
    assert (response.status_code, response.json()) == (200, ANSWER)
    ((_, filters, turns),) = engine.asked
    assert filters.year == "2024"
    assert [(turn.role, turn.content) for turn in turns] == [("user", "Before?"), ("assistant", "Yes.")]
    assert engine.closed == 1


def test_a_refusal_is_an_answer(engine: FakeEngine) -> None:
    engine.script = [refusing((TALK, 3))]
    answer = client(engine).post("/ask", json={"question": "Pizza?"}).json()
    assert (answer["abstained"], answer["claims"], [hit["text"] for hit in answer["nearest"]]) == (
        True, [], ["Sentence 3."],
    )  # fmt: skip


def test_a_stream_sends_each_claim_once_it_is_checked_then_the_whole_answer(engine: FakeEngine) -> None:
    whole = quoting(TALK, 1)
    unchecked = replace(whole, claims=(CheckedClaim("Sentence 1.", (1,), None),), done=False)
    engine.script = [*growing(whole)[:1], unchecked, *growing(whole)[1:]]
    response = client(engine).post("/ask", json={"question": "What?"}, headers=SSE)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert events(response.text) == [("claim", {"claim": CLAIM, "citations": [CITATION]}), ("answer", ANSWER)]


def test_what_fails_before_a_stream_is_a_status_and_what_fails_later_an_event(engine: FakeEngine) -> None:
    engine.script = growing(quoting(TALK, 1))
    engine.failure = StoreError("data: gone")
    (last,) = events(client(engine).post("/ask", json={"question": "x"}, headers=SSE).text)
    assert last == (
        "error",
        {"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": "data: gone"},
    )
    engine.failure = ZeroDivisionError("secret")
    response = client(engine).post("/ask", json={"question": "x"}, headers=SSE)
    assert "secret" not in response.text
    assert events(response.text)[-1][1]["status"] == 500

    def refuse(*_: object) -> Iterator[Any]:
        raise UsageError("no talk matches year '1'")
        yield

    engine.ask = refuse  # type: ignore[method-assign,assignment]
    assert problem(client(engine).post("/ask", json={"question": "x"}, headers=SSE)) == (
        404,
        "no talk matches year '1'",
    )
    assert problem(client(engine).post("/ask", json={"question": "x"})) == (404, "no talk matches year '1'")


def test_talks_tell_names_of_files_but_not_where_they_lie(engine: FakeEngine) -> None:
    talks = client(engine).get("/talks")
    assert [(talk["talk_id"], talk["media"], talk["source"]) for talk in talks.json()] == [("a", "x.mp3", "x.vtt")]
    transcript = client(engine).get("/talks/a").json()
    assert (transcript["media"], transcript["source"]) == ("x.mp3", "x.vtt")
    assert transcript["cues"][1] == {
        "id": "s2", "start_ms": 2000, "end_ms": 4000, "text": "Sentence 1.", "speaker": "Ada",
    }  # fmt: skip
    assert problem(client(engine).get("/talks/nobody")) == (404, "talk 'nobody': not in the library")


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("ask", {}, 422, "question: Field required"),
        ("ask", {"question": "  "}, 422, "question: String should have at least 1 character"),
        ("ask", {"question": "x" * (MAX_QUESTION + 1)}, 422, "question: String should have at most 2000 characters"),
        ("ask", {"question": "x", "speakr": "y"}, 422, "speakr: Extra inputs are not permitted"),
        ("ask", {"question": "x", "history": [{"role": "system", "content": ""}]}, 422, "history.0.role: Input"),
        ("ask", {"question": "x", "history": [{"role": "user", "content": "y"}] * 17}, 422, "history: List should"),
        ("ask", {"question": "x" * MAX_BODY}, 413, "The body is too large, the limit is 1,000,000 bytes."),
        ("search", {"query": "x", "k": 0}, 422, "k: Input should be greater than or equal to 1"),
        ("search", {"query": "x", "k": 1001}, 422, "k: Input should be less than or equal to 1000"),
        ("search", {"query": "x", "talk": "y" * 301}, 422, "talk: String should have at most 300 characters"),
        ("nowhere", {}, 404, "Not Found"),
        ("talks", {}, 405, "Method Not Allowed"),
    ],
)
def test_what_is_refused(engine: FakeEngine, path: str, body: dict[str, Any], status: int, detail: str) -> None:
    found, what = problem(client(engine).post(f"/{path}", json=body))
    assert (found, what[: len(detail)]) == (status, detail)
    assert (engine.asked, engine.searched) == ([], [])


@pytest.mark.parametrize("body", [b"{", b'"x"', b'{"question": "\\ud800"}', b'{"\\ud800": 1}', b"\xff", b"[" * 100_000])
def test_bodies_that_are_no_question(engine: FakeEngine, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    status, _ = problem(client(engine).post("/ask", content=body, headers=headers))
    assert status in (400, 422)


def test_a_body_of_unknown_length_is_read_up_to_the_limit(engine: FakeEngine) -> None:
    sent: list[dict[str, Any]] = []
    read = 0

    async def receive() -> dict[str, Any]:  # never ends
        nonlocal read
        read += 100_000
        return {"type": "http.request", "body": b" " * 100_000, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/ask", "root_path": "", "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }  # fmt: skip
    anyio.run(create_api(as_engine(engine), Settings()), scope, receive, send)
    assert sent[0]["status"] == 413
    assert read == MAX_BODY + 100_000


def test_an_error_that_nobody_foresaw_tells_nothing(engine: FakeEngine) -> None:
    engine.failure = ZeroDivisionError("secret")
    engine.script = growing(quoting(TALK, 1))
    response = client(engine).post("/ask", json={"question": "x"})
    assert problem(response) == (500, "Something went wrong here; the log of the server says what.")


def test_an_empty_library(engine: FakeEngine) -> None:
    engine.library = []
    assert client(engine).get("/talks").json() == []
    assert problem(client(engine).post("/search", json={"query": "x"}))[0] == 503


def test_more_answers_at_once_than_allowed_are_refused(
    engine: FakeEngine, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "MAX_ANSWERS", 1)
    engine.pace_s = 0.05
    engine.script = growing(quoting(TALK, 1))[:1] * 1000
    server = serve(engine)
    with httpx.stream("POST", f"{server.url}api/ask", json={"question": "x"}, headers=SSE, timeout=30):
        refused = httpx.post(f"{server.url}api/ask", json={"question": "y"}, timeout=30)
        assert problem(refused)[0] == 503
        assert refused.headers["retry-after"] == "5"
        assert problem(httpx.post(f"{server.url}api/ask", json={"question": "y"}, headers=SSE, timeout=30))[0] == 503
    assert MAX_ANSWERS > 1


@pytest.mark.parametrize("headers", [SSE, {}], ids=["stream", "json"])
def test_closing_the_connection_stops_the_answer_and_frees_its_place(
    engine: FakeEngine, serve: Callable[..., Server], headers: dict[str, str]
) -> None:
    engine.pace_s = 0.05
    engine.script = growing(quoting(TALK, 1))[:2] * 10_000
    server = serve(engine)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.url}api/ask", json={"question": "x"}, headers=headers, timeout=0.5)
    deadline = time.monotonic() + 20
    while engine.closed < 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert engine.closed == 1


def test_the_page_and_the_api_share_one_guard(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    url = serve(engine).url
    asked = {"json": {"question": "x"}, "timeout": 30}
    assert httpx.post(f"{url}api/ask", **asked).status_code == 200
    assert httpx.post(f"{url}api/ask", headers={"Origin": url.rstrip("/")}, **asked).status_code == 200
    count = len(engine.asked)
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        status, detail = problem(httpx.post(f"{url}api/ask", headers={"Origin": origin}, **asked))
        assert (status, detail) == (403, f"Origin {origin!r} may not use this page.")
        form = {"files": ("x.vtt", b"WEBVTT\n")}
        assert httpx.post(f"{url}api/ingest", headers={"Origin": origin}, files=form).status_code == 403
    assert problem(httpx.post(f"{url}api/ask", headers={"Host": "evil.example"}, **asked))[0] == 403
    assert len(engine.asked) == count
    answer = httpx.get(f"{url}api/talks")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


def test_the_document_says_where_the_paths_begin(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    url = serve(engine).url
    assert httpx.get(f"{url}api/openapi.json").json()["servers"] == [{"url": "/api"}]
    assert problem(httpx.get(f"{url}api/nowhere"))[0] == 404
    assert problem(httpx.get(f"{url}api/docs"))[0] == 404


def test_health(engine: FakeEngine, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_FRESH_S", 0)
    url = serve(engine).url
    assert httpx.get(f"{url}healthz").json() == {"alive": True}
    assert httpx.get(f"{url}readyz").json() == {"ready": True}
    engine.library = []
    assert httpx.get(f"{url}healthz").status_code == 200
    assert problem(httpx.get(f"{url}readyz")) == (503, "data: no talks yet")


class Ingest:
    """Stands in for the real one: notes what the files held, and waits for leave to end."""

    def __init__(self) -> None:
        self.seen: list[dict[str, bytes]] = []
        self.may_end = threading.Event()
        self.failure: Exception | None = None
        self.folder = Path()

    def __call__(self, files: Any, progress: Progress) -> Any:
        self.folder = files[0].parent
        self.seen.append({file.name: file.read_bytes() for file in files})
        progress.start(2)
        progress.finish(None)
        assert self.may_end.wait(20)
        progress.finish(None)
        if self.failure:
            raise self.failure
        return REPORT


@pytest.fixture
def ingest() -> Ingest:
    return Ingest()


@pytest.fixture
def jobs(ingest: Ingest) -> Iterator[Jobs]:
    with Jobs(ingest) as jobs:
        yield jobs
        ingest.may_end.set()


def until(page: TestClient, job_id: str, *states: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        job: dict[str, Any] = page.get(f"/jobs/{job_id}").json()
        if job["state"] in states and (job["state"] != "running" or job["files_done"]):
            return job
        time.sleep(0.01)
    raise AssertionError(f"the job did not get to {states}")


def upload(page: TestClient, *names: str) -> httpx.Response:
    return page.post("/ingest", files=[("files", (name, io.BytesIO(name.encode()))) for name in names])


def test_an_upload_from_queue_to_report(engine: FakeEngine, ingest: Ingest, jobs: Jobs) -> None:
    page = client(engine, jobs)
    response = upload(page, "a.vtt", "../../b.srt", "C:\\x\\c d.json")
    job = response.json()
    assert (response.status_code, response.headers["location"]) == (202, f"jobs/{job['job_id']}")
    assert job == {
        "job_id": job["job_id"], "state": "waiting", "files": 3, "files_done": 0, "report": None, "error": "",
    }  # fmt: skip
    running = until(page, job["job_id"], "running")
    assert (running["files"], running["files_done"]) == (2, 1)
    ingest.may_end.set()
    done = until(page, job["job_id"], "done")
    assert (done["files_done"], done["report"]) == (2, REPORT)
    assert ingest.seen == [{"a.vtt": b"a.vtt", "b.srt": b"../../b.srt", "c d.json": b"C:\\x\\c d.json"}]
    assert not ingest.folder.exists()


def test_a_failed_job_says_why_in_one_line(engine: FakeEngine, ingest: Ingest, jobs: Jobs) -> None:
    page = client(engine, jobs)
    ingest.may_end.set()
    for failure, said in (
        (StoreError("disk full"), "disk full"),
        (ZeroDivisionError("secret"), "Something went wrong here; the log of the server says what."),
    ):
        ingest.failure = failure
        job = until(page, upload(page, "a.vtt").json()["job_id"], "failed")
        assert (job["report"], job["error"]) == (None, said)
        assert not ingest.folder.exists()


def test_the_queue_has_an_end_and_one_job_runs_at_a_time(engine: FakeEngine, ingest: Ingest, jobs: Jobs) -> None:
    page = client(engine, jobs)
    ids = [upload(page, f"{n}.vtt").json()["job_id"] for n in range(MAX_WAITING)]
    refused = upload(page, "late.vtt")
    assert problem(refused)[0] == 503
    assert refused.headers["retry-after"] == "30"
    until(page, ids[0], "running")
    assert {page.get(f"/jobs/{job_id}").json()["state"] for job_id in ids[1:]} == {"waiting"}
    ingest.may_end.set()
    for job_id in ids:
        until(page, job_id, "done")
    assert [list(files) for files in ingest.seen] == [[f"{n}.vtt"] for n in range(MAX_WAITING)]
    assert upload(page, "late.vtt").status_code == 202


@pytest.mark.parametrize(
    "names", [(), ("a.vtt", "x/a.vtt"), ("..",), (".hidden",), ("x" * 201,), ("ä" * 101,), ("a\u202eb.vtt",)]
)
def test_uploads_that_are_refused(engine: FakeEngine, ingest: Ingest, jobs: Jobs, names: tuple[str, ...]) -> None:
    assert problem(upload(client(engine, jobs), *names))[0] in (400, 422)
    assert problem(upload(client(engine, jobs), *[f"{n}.vtt" for n in range(MAX_FILES + 1)]))[0] == 422
    assert ingest.seen == []


def test_an_address_or_path_is_no_upload(engine: FakeEngine, ingest: Ingest, jobs: Jobs) -> None:
    page = client(engine, jobs)
    for form in ({"files": "/etc/passwd"}, {"files": "https://example.org/x.vtt"}):
        assert problem(page.post("/ingest", data=form))[0] == 422
    assert problem(page.post("/ingest", json={"files": ["/etc/passwd"]}))[0] == 422
    assert ingest.seen == []


def test_an_upload_that_is_too_large(engine: FakeEngine, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "MAX_UPLOAD", 1000)
    page = client(engine, jobs)
    response = page.post("/ingest", files={"files": ("a.vtt", b"x" * 1000)})
    assert problem(response) == (413, "The body is too large, the limit is 1,000 bytes.")
    assert page.post("/ingest", files={"files": ("a.vtt", b"x" * 100)}).status_code == 202


def test_a_server_without_uploads(engine: FakeEngine) -> None:
    page = client(engine)
    assert problem(upload(page, "a.vtt")) == (403, "This server takes no uploads (RAG_READ_ONLY).")
    assert problem(page.post("/ingest"))[0] == 403
    assert problem(page.get("/jobs/x"))[0] == 404


def test_closing_lets_the_running_job_end_with_its_file_and_drops_the_rest(ingest: Ingest) -> None:
    jobs = Jobs(ingest)
    first = jobs.submit({"a.vtt": io.BytesIO(b"")})["job_id"]
    jobs.submit({"b.vtt": io.BytesIO(b"")})
    deadline = time.monotonic() + 20
    while not ingest.seen and time.monotonic() < deadline:
        time.sleep(0.01)
    threading.Timer(0.1, ingest.may_end.set).start()
    jobs.close()
    job = jobs.get(first)
    assert job is not None
    assert (job["state"], job["error"]) == ("failed", "The server was stopped; what was stored until then is kept.")
    assert len(ingest.seen) == 1
    assert not ingest.folder.exists()


def test_the_document_states_limits_and_its_examples_hold(engine: FakeEngine) -> None:
    document = client(engine).get("/openapi.json").json()
    assert set(document["paths"]) == {"/search", "/ask", "/talks", "/talks/{talk_id}", "/ingest", "/jobs/{job_id}"}
    question = document["components"]["schemas"]["AskRequest"]["properties"]["question"]
    assert (question["minLength"], question["maxLength"]) == (1, MAX_QUESTION)
    for stated in ("1,000,000 bytes", "20 files", "500,000,000 bytes", "16 earlier turns"):
        assert stated in " ".join(document["info"]["description"].split())
    checked = 0
    for name, component in document["components"]["schemas"].items():
        for example in component.get("examples", []):
            schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
            jsonschema.validate(example, schema, cls=jsonschema.Draft202012Validator)
            checked += 1
    assert checked >= 10
