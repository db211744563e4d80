"""/metrics: exact numbers after known requests, and labels that have an end."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from rag.errors import StoreError
from rag.llm import LLMStatus
from rag.web.jobs import Jobs
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, growing, quoting, refusing, talk_of
from tests.web.test_api import Ingest

TALK = talk_of("Zero.", "One.", talk_id="secret-talk", title="T")


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine([TALK, talk_of("Other.", talk_id="b")])


def numbers(server: Server, name: str) -> dict[tuple[str, ...], float]:
    """Values of a name by the values of their labels."""
    text = httpx.get(f"{server.url}metrics").raise_for_status().text
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def ask(server: Server, **headers: str) -> None:
    httpx.post(f"{server.url}api/ask", json={"question": "What?"}, headers=headers, timeout=30)


def until(server: Server, name: str, wanted: dict[tuple[str, ...], float]) -> None:
    """Numbers are counted right after the response that a client has read."""
    deadline = time.monotonic() + 20
    while numbers(server, name) != wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    assert numbers(server, name) == wanted


def test_requests_by_route_and_status(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    server = serve(engine)
    for path in ("api/talks/secret-talk?q=x", "api/talks/a", "api/talks/b", "x/y", "x/z"):
        httpx.get(f"{server.url}{path}")
    httpx.request("PROPFIND", f"{server.url}x/coffee")
    deadline = time.monotonic() + 20
    while ("other", "other", "404") not in (found := numbers(server, "talkcite_requests_total")):
        assert time.monotonic() < deadline
    found.pop(("GET", "/metrics", "200"), None)
    assert found == {
        ("GET", "/api/talks/{talk_id}", "200"): 2,
        ("GET", "/api/talks/{talk_id}", "404"): 1,
        ("GET", "other", "404"): 2,
        ("other", "other", "404"): 1,
    }
    assert numbers(server, "talkcite_request_seconds_count")[("/api/talks/{talk_id}",)] == 3
    assert "secret" not in httpx.get(f"{server.url}metrics").text


def test_answers_by_door_and_outcome_and_their_steps(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    server = serve(engine)
    timings = {"search": 20.0, "first_claim": 300.0, "total": 1500.0}
    engine.script = [replace(quoting(TALK, 1), timings_ms=timings)]
    ask(server)
    asked = {"model": "talkcite", "messages": [{"role": "user", "content": "x"}]}
    httpx.post(f"{server.url}v1/chat/completions", json=asked)
    engine.script = growing(replace(quoting(TALK, 1), answered_by="m", timings_ms={"search": 20.0}))
    ask(server)
    engine.script = [refusing((TALK, 1))]
    ask(server)
    engine.failure = StoreError("gone")
    engine.script = growing(quoting(TALK, 1))
    ask(server)
    until(
        server,
        "talkcite_answers_total",
        {("api", "quotes"): 1, ("v1", "quotes"): 1, ("api", "written"): 1, ("api", "refused"): 1, ("api", "failed"): 1},
    )
    assert numbers(server, "talkcite_answer_seconds_count") == {("search",): 3, ("first_claim",): 2, ("answer",): 2}
    assert numbers(server, "talkcite_answer_seconds_sum") == pytest.approx(
        {("search",): 0.06, ("first_claim",): 0.6, ("answer",): 3.0}
    )
    assert numbers(server, "talkcite_answers_running") == {(): 0}


def test_an_answer_under_way(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    engine.pace_s, engine.script = 0.02, growing(quoting(TALK, 1))[:2] * 10_000
    server = serve(engine)
    stream = {"Accept": "text/event-stream"}
    with httpx.stream("POST", f"{server.url}api/ask", json={"question": "x"}, headers=stream, timeout=30) as response:
        arriving = response.iter_bytes()
        next(arriving)
        assert numbers(server, "talkcite_answers_running") == {(): 1}
    until(server, "talkcite_answers_running", {(): 0})
    assert numbers(server, "talkcite_answers_total") == {("api", "left"): 1}


def test_how_things_stand(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    ingest = Ingest()
    with ExitStack() as stack:
        jobs = stack.enter_context(Jobs(ingest))
        stack.callback(ingest.may_end.set)
        server = serve(engine, jobs=jobs)
        assert (numbers(server, "talkcite_talks"), numbers(server, "talkcite_cues")) == ({(): 2}, {(): 3})
        assert numbers(server, "talkcite_llm_ready") == {(): 0}

        class Model:
            status = LLMStatus("ready")

        engine.llm = Model()  # type: ignore[assignment]
        assert numbers(server, "talkcite_llm_ready") == {(): 1}
        Model.status = LLMStatus("loading")
        assert numbers(server, "talkcite_llm_ready") == {(): 0}
        for name in ("a.vtt", "b.vtt"):
            jobs.submit({name: io.BytesIO(b"WEBVTT")})
        assert numbers(server, "talkcite_uploads_pending") == {(): 2}
        ingest.may_end.set()
        until(server, "talkcite_uploads_pending", {(): 0})


def test_a_library_that_can_not_be_read(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    def broken() -> None:
        raise StoreError("data: damaged")

    server = serve(engine)
    engine.talks = broken  # type: ignore[method-assign,assignment]
    assert numbers(server, "talkcite_talks") == {}
    assert numbers(server, "talkcite_uploads_pending") == {(): 0}


def test_each_app_counts_for_itself(engine: FakeEngine, serve: Callable[..., Server]) -> None:
    one, other = serve(engine), serve(engine)
    ask(one)
    until(one, "talkcite_answers_total", {("api", "quotes"): 1})
    assert numbers(other, "talkcite_answers_total") == {}
