"""What goes wrong around a running app, one fault each: what its users see, and that nothing is lost.

docs/operations.md has the same as a table. Faults of the library alone are in tests/rag/test_faults.py, those of a
Chroma server in tests/rag/test_server.py, stopping in tests/web/test_stopping.py.
"""

from __future__ import annotations

import re
import resource
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client

from eval.bench.stub_model import stub_model
from rag.export import talk_vtt
from rag.index import writing
from rag.library import Library
from tests.conftest import ROOT
from tests.fakes import WordEmbedder
from tests.rag.chroma_server import chroma_run
from tests.rag.stub_server import serving
from tests.rag.talks import numbered_talk
from tests.web.app_process import AppProcess, running_app

pytestmark = pytest.mark.slow  # starts the program

QUESTION = "Sentence word7 about caching talk-a?"
SSE = {"Accept": "text/event-stream"}
IDLE = 1000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    with writing(home, WordEmbedder()) as writer:
        writer.put(numbered_talk(12, "talk-a"))
    return home


def until(holds: Callable[[], Any], limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def post(app: AppProcess, path: str, **body: Any) -> Any:
    return httpx.post(f"{app.url}{path}", json=body, timeout=60).raise_for_status().json()


def upload(app: AppProcess, name: str, cues: int = 12) -> dict[str, Any]:
    """The job of a talk's upload, once it is over."""
    files = {"files": (f"{name}.vtt", talk_vtt(numbered_talk(cues, name)).encode())}
    job = httpx.post(f"{app.url}api/ingest", files=files, timeout=60).raise_for_status().json()
    until(lambda: (state := job_of(app, job))["state"] in ("done", "failed") and job.update(state) is None)
    return dict(job)


def job_of(app: AppProcess, job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{app.url}api/jobs/{job['job_id']}", timeout=60).raise_for_status().json()
    return found


def finds(app: AppProcess, talk_id: str) -> bool:
    """True when the talk's last sentence is found at its place."""
    (hit,) = post(app, "api/search", query=f"Sentence word12 about caching {talk_id}.", k=1)["hits"]
    return bool(hit["talk_id"] == talk_id)


def test_the_model_goes_and_comes(home: Path) -> None:
    with stub_model() as model, running_app(home, RAG_LLM="stub", RAG_LLM_BASE_URL=model.url) as app:
        app.wait_until_ready()
        assert post(app, "api/ask", question=QUESTION)["answered_by"] == "stub"
        model.stop()
        answer = post(app, "api/ask", question=QUESTION)
        assert (answer["answered_by"], bool(answer["citations"])) == ("quotes", True)
        assert answer["notice"].startswith(
            "Quotes instead of a written answer: the language model stub at 127.0.0.1 can"
        )
        model.start()
        assert post(app, "api/ask", question=QUESTION)["answered_by"] == "stub"


def test_a_chroma_server_goes_and_comes(home: Path, tmp_path: Path) -> None:
    with chroma_run(tmp_path / "chroma") as chroma:
        with writing(home, WordEmbedder(), server=chroma.server) as writer:
            writer.put(numbered_talk(12, "talk-a"))
        with running_app(home, RAG_CHROMA_URL=chroma.server.root) as app:
            app.wait_until_ready()
            assert post(app, "api/ask", question=QUESTION)["notice"] == ""
            chroma.kill()
            until(lambda: post(app, "api/ask", question=QUESTION)["notice"] != "")
            answer = post(app, "api/ask", question=QUESTION)
            assert answer["citations"][0]["first_cue"] == "s7"
            chroma.start(tmp_path / "chroma")
            until(lambda: post(app, "api/ask", question=QUESTION)["notice"] == "")


def test_the_disk_is_full(home: Path) -> None:
    with running_app(home, largest_file=135_000) as app:
        app.wait_until_ready()
        job = upload(app, "talk-b", cues=200)
        assert job["state"] == "failed"
        assert job["error"].endswith("; free space or choose another folder")
        assert "\n" not in job["error"]
        assert post(app, "api/ask", question=QUESTION)["citations"][0]["first_cue"] == "s7"
        assert Library(home).ids() == ["talk-a"]
    with running_app(home) as app:  # there is room again
        app.wait_until_ready()
        assert upload(app, "talk-b", cues=200)["state"] == "done"
        until(lambda: finds(app, "talk-b"))


def test_clients_that_read_slowly(home: Path) -> None:
    """They get all of it in the end, and nobody waits for them."""
    with writing(home, WordEmbedder()) as writer:
        writer.put(numbered_talk(20_000, "long"))
    with running_app(home) as app, ExitStack() as stack:
        app.wait_until_ready()
        whole = httpx.get(f"{app.url}api/talks/long", timeout=60).content
        assert len(whole) > 2_000_000
        slow = []
        for _ in range(30):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", httpx.URL(app.url).port))
            client.sendall(b"GET /api/talks/long HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            client.recv(100)
            slow.append(client)
        assert post(app, "api/ask", question=QUESTION)["citations"][0]["first_cue"] == "s7"
        assert upload(app, "talk-b")["state"] == "done"
        slow[0].settimeout(60)
        received = b"".join(iter(lambda: slow[0].recv(65_536), b""))
        assert received.endswith(whole[-1000:])


@pytest.mark.parametrize("door", ["api, stream", "api", "v1", "mcp"])
def test_a_client_that_leaves_ends_the_model_s_request(home: Path, door: str) -> None:
    chat = {"model": "talkcite", "messages": [{"role": "user", "content": QUESTION}], "stream": True}

    def leave(app: AppProcess) -> None:
        if door == "mcp":
            anyio.run(call_and_leave, f"{app.url}mcp")
            return
        path, body, headers = {
            "api, stream": ("api/ask", {"question": QUESTION}, SSE),
            "api": ("api/ask", {"question": QUESTION}, {}),
            "v1": ("v1/chat/completions", chat, {}),
        }[door]
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{app.url}{path}", json=body, headers=headers, timeout=1)

    with serving(lambda stub, exchange: (exchange.stream(done=False), stub.stall(exchange))) as stub:  # type: ignore[func-returns-value]
        with running_app(home, RAG_LLM="stub", RAG_LLM_BASE_URL=stub.url) as app:
            app.wait_until_ready()
            leave(app)
            assert len(stub.requests) == 1
            assert stub.hung_up.wait(20)


async def call_and_leave(url: str) -> None:
    async with Client(url) as client:
        with anyio.move_on_after(1):
            await client.call_tool("ask", {"question": QUESTION})


def open_files(app: AppProcess) -> int:
    return len(list(Path(f"/proc/{app.process.pid}/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files of a process are looked up in /proc")
def test_a_thousand_idle_connections(home: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * IDLE + 500:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * IDLE + 500), hard))
    with running_app(home) as app:
        app.wait_until_ready()
        before = open_files(app)
        with ExitStack() as stack:
            place = ("127.0.0.1", httpx.URL(app.url).port or 0)
            idle = [stack.enter_context(socket.create_connection(place, timeout=60)) for _ in range(IDLE)]
            assert post(app, "api/ask", question=QUESTION)["citations"][0]["first_cue"] == "s7"
            assert upload(app, "talk-b")["state"] == "done"
            until(lambda: finds(app, "talk-b"))
            assert {connection.recv(1) for connection in idle} == {b""}  # those that never asked are given up
        until(lambda: open_files(app) < before + 100)
        assert app.stop() == 0


def test_two_apps_on_one_library(home: Path) -> None:
    """What one stores the other finds; both store at the same time; one that is killed leaves the other at work."""
    with running_app(home) as one, running_app(home) as other:
        one.wait_until_ready()
        other.wait_until_ready()
        assert upload(one, "talk-b")["state"] == "done"
        until(lambda: finds(other, "talk-b"))
        files = [
            {"files": (f"{name}.vtt", talk_vtt(numbered_talk(12, name)).encode())} for name in ("talk-c", "talk-d")
        ]
        apps = (one, other)
        jobs = [
            httpx.post(f"{app.url}api/ingest", files=each, timeout=60).raise_for_status().json()
            for app, each in zip(apps, files, strict=True)
        ]
        for app, job in zip(apps, jobs, strict=True):
            until(lambda app=app, job=job: job_of(app, job)["state"] == "done")  # type: ignore[misc]
        for app in apps:
            for talk_id in ("talk-a", "talk-b", "talk-c", "talk-d"):
                until(lambda app=app, talk_id=talk_id: finds(app, talk_id))  # type: ignore[misc]
        one.process.kill()
        assert upload(other, "talk-e")["state"] == "done"
        until(lambda: finds(other, "talk-e"))


def test_the_table_of_faults_names_tests_that_there_are() -> None:
    table = (
        (ROOT / "docs" / "operations.md").read_text(encoding="utf-8").partition("## Faults")[2].partition("\n## ")[0]
    )
    named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", table)
    assert len(named) >= 10
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
