"""The app is stopped with SIGTERM, as services are: whatever is under way ends in order, and the exit code is 0."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from rag.doctor import examine
from rag.engine import Engine
from rag.export import talk_vtt
from rag.index import writing
from rag.library import Library
from rag.manifest import current_manifest
from rag.settings import load_settings
from tests.fakes import WordEmbedder
from tests.rag.stub_server import Exchange, Stub, said, serving
from tests.rag.talks import numbered_talk
from tests.rag.test_local import lives
from tests.web.app_process import AppProcess, running_app
from tests.web.test_api import events

pytestmark = pytest.mark.slow  # starts the program

QUESTION = "What is said about caching?"
SSE = {"Accept": "text/event-stream"}
STOPPED = "the server is being stopped; ask again in a moment"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    with writing(home, WordEmbedder()) as writer:
        writer.put(numbered_talk(12, "talk-a"))
    return home


def until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle(home: Path, number: int) -> None:
    with running_app(home) as app:
        app.wait_until_ready()
        assert app.stop(number) == 0
        assert app.stderr == ""


def test_while_it_is_loading(home: Path) -> None:
    with running_app(home) as app:
        assert app.stop() == 0
        assert "Traceback" not in app.stderr


def stalls_after_a_claim(stub: Stub, exchange: Exchange) -> None:
    """Begins to answer, then says nothing more."""
    exchange.stream(said('{"covered": true, "claims": ['), done=False)
    stub.stall(exchange)


def test_while_answers_are_written(home: Path) -> None:
    """Each door's stream ends with an error that says why, and is whole; the model's requests are given up."""
    found: dict[str, Any] = {}

    def ask_the_api(app: AppProcess) -> None:
        with httpx.stream("POST", f"{app.url}api/ask", json={"question": QUESTION}, headers=SSE, timeout=60) as answer:
            found["api"] = events("".join(answer.iter_text()))

    def ask_whole(app: AppProcess) -> None:
        found["whole"] = httpx.post(f"{app.url}api/ask", json={"question": QUESTION}, timeout=60)

    def ask_v1(app: AppProcess) -> None:
        messages: Any = [{"role": "user", "content": QUESTION}]
        with openai.OpenAI(base_url=f"{app.url}v1", api_key="x", max_retries=0) as client:
            try:
                list(client.chat.completions.create(model="talkcite", messages=messages, stream=True))
            except openai.APIError as error:
                found["v1"] = error.message

    def ask_the_page(app: AppProcess) -> None:
        asked = {"data": [], "event_data": {"run": 1, "question": QUESTION}, "fn_index": 0, "session_hash": "s"}
        with httpx.Client(base_url=app.url, timeout=60) as client:
            client.post("gradio_api/queue/join", json={**asked, "trigger_id": 1}).raise_for_status()
            with client.stream("GET", "gradio_api/queue/data", params={"session_hash": "s"}) as stream:
                found["page"] = "".join(stream.iter_text())

    with serving(stalls_after_a_claim) as stub:
        with running_app(home, RAG_LLM="stub", RAG_LLM_BASE_URL=stub.url, RAG_LOG="json") as app:
            app.wait_until_ready()
            doors = (ask_the_api, ask_whole, ask_v1, ask_the_page)
            threads = [threading.Thread(target=door, args=(app,)) for door in doors]
            for thread in threads:
                thread.start()
            until(lambda: len(stub.requests) == len(doors))
            assert app.stop() == 0
            for thread in threads:
                thread.join(30)
            logged = [json.loads(line) for line in app.stderr.splitlines()]
        until(stub.hung_up.is_set)
    assert found["api"][-1][0] == "error"
    assert (found["api"][-1][1]["status"], found["api"][-1][1]["detail"]) == (503, STOPPED)
    assert (found["whole"].status_code, found["whole"].json()["detail"]) == (503, STOPPED)
    assert found["v1"] == STOPPED
    assert STOPPED in found["page"]
    assert sorted((line["door"], line["outcome"]) for line in logged if line["message"] == "answer") == [
        ("api", "stopped"), ("api", "stopped"), ("page", "stopped"), ("v1", "stopped"),
    ]  # fmt: skip
    assert not [line for line in logged if line["level"] != "INFO"]


def test_while_an_upload_is_stored(home: Path) -> None:
    """What was stored stays, sound and searchable; the rest was never there; a second upload brings it all."""
    names = [f"new-{n:02}" for n in range(15)]
    files = [("files", (f"{name}.vtt", talk_vtt(numbered_talk(300, name)).encode())) for name in names]
    with running_app(home) as app:
        app.wait_until_ready()
        job = httpx.post(f"{app.url}api/ingest", files=files, timeout=60).json()

        def begun() -> bool:
            state = httpx.get(f"{app.url}api/jobs/{job['job_id']}", timeout=60).json()
            assert state["state"] in ("waiting", "running"), state
            return bool(state["files_done"] >= 2)

        until(begun)
        assert app.stop() == 0
        assert app.stderr == ""
    settings = load_settings(home=home, llm="off", embed_model=WordEmbedder.name)
    stored = set(Library(home).ids())
    assert {"talk-a", *names} > stored > {"talk-a"}
    assert [check for check in examine(settings, WordEmbedder()) if not check.ok] == []
    manifest = current_manifest(home)
    assert manifest is not None
    assert set(manifest.talks) == stored
    with Engine(settings, WordEmbedder()) as engine:
        for talk_id in stored - {"talk-a"}:
            (hit, *_) = engine.search(f"Sentence word300 about caching {talk_id}.", 1)
            assert (hit.talk.id, len(hit.talk.cues)) == (talk_id, 300)
    with running_app(home) as app:
        app.wait_until_ready()
        job = httpx.post(f"{app.url}api/ingest", files=files, timeout=60).json()
        until(lambda: httpx.get(f"{app.url}api/jobs/{job['job_id']}").json()["state"] == "done")
        assert {talk["talk_id"] for talk in httpx.get(f"{app.url}api/talks").json()} == {"talk-a", *names}


MODEL = """
import json, os, pathlib, sys
sys.stdin.readline()
pathlib.Path({pid!r}).write_text(str(os.getpid()))
print(json.dumps({{"url": "http://127.0.0.1:9/v1"}}), flush=True)
sys.stdin.read()
"""


def test_the_model_s_process_ends_too(home: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF")
    with running_app(home, [sys.executable, "-c", MODEL.format(pid=str(pid))], RAG_LLM=str(file)) as app:
        until(lambda: pid.exists() and pid.read_text())
        child = int(pid.read_text())
        assert lives(child)
        assert app.stop() == 0, app.stderr
        assert not lives(child)
