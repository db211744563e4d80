"""The local model's life: started, waited for, ended with its owner. Its server is a stub; tests/test_end_to_end.py
asks the real one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag import local
from rag.errors import LLMError, StartError
from rag.llm import Delta, LLMStatus
from rag.llms import load_llm
from rag.local import LocalLLM
from rag.settings import load_settings
from rag.weights import DEFAULT
from tests.conftest import ROOT
from tests.rag.stub_server import Exchange, Stub, said, serving

MESSAGES = [{"role": "user", "content": "Hello?"}]
# Says where the stub listens, and ends when stdin does, as `rag.llama` does; notes its pid and what it was asked.
SERVER = """
import json, os, pathlib, sys, time
asked = json.loads(sys.stdin.readline())
pathlib.Path({notes!r}).write_text(json.dumps({{"pid": os.getpid(), **asked}}))
while not pathlib.Path({go!r}).exists():
    time.sleep(0.02)
print(json.dumps({{"url": {url!r}}}), flush=True)
sys.stdin.read()
"""


class Server:
    """A stub of the model's server; it loads until `go` is called."""

    def __init__(self, folder: Path, url: str) -> None:
        self._go = folder / "go"
        self._notes = folder / "notes.json"
        script = textwrap.dedent(SERVER).format(notes=str(self._notes), go=str(self._go), url=url)
        self.command = [sys.executable, "-c", script]

    def go(self) -> None:
        self._go.touch()

    @property
    def asked(self) -> dict:
        """What the newest server was asked for, and its `pid`."""
        until(self._notes.exists)
        return json.loads(self._notes.read_text())


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that takes a moment."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def lives(pid: int) -> bool:
    """True while a process runs; one that ended and was not waited for yet counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    def reply(_: Stub, exchange: Exchange) -> None:
        exchange.stream(said("Hi."))

    with serving(reply) as stub:
        server = Server(tmp_path, stub.url)
        monkeypatch.setattr(local, "_SERVER", server.command)
        yield server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF")
    return path


def model(file: Path | None, *, in_background: bool = False) -> LocalLLM:
    return LocalLLM(file, prompt_tokens=1_500, timeout_s=30, in_background=in_background)


def test_who_waits_gets_the_reply_when_the_model_is_loaded(server: Server, file: Path) -> None:
    llm = model(file)
    stream = llm.stream(MESSAGES, None)
    assert next(stream) == Delta()
    assert llm.status == LLMStatus("loading")
    server.go()
    assert "".join(piece.text for piece in stream) == "Hi."
    assert (llm.name, llm.status) == ("small", LLMStatus("ready"))
    asked = server.asked
    assert (asked["file"], asked["context"], asked["threads"]) == (str(file), 5_500, len(os.sched_getaffinity(0)))
    assert len(asked["key"]) >= 32
    llm.close()
    assert not lives(asked["pid"])


def test_the_page_does_not_wait(server: Server, file: Path) -> None:
    llm = model(file, in_background=True)
    with pytest.raises(LLMError, match=r"^small is still being loaded$"):
        next(llm.stream(MESSAGES, None))
    server.go()
    until(lambda: llm.status.state == "ready")
    assert "".join(piece.text for piece in llm.stream(MESSAGES, None)) == "Hi."
    llm.close()


def test_the_page_fetches_what_is_missing(server: Server, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[LLMStatus] = []

    def fetch(_: object, report: Callable[[int], None]) -> Path:
        report(DEFAULT.size // 4)
        with pytest.raises(LLMError, match=r"^Qwen2\.5-Coder 1\.5B is still being fetched \(25 %\)$"):
            next(llm.stream(MESSAGES, None))
        states.append(llm.status)
        return file

    started = threading.Event()
    monkeypatch.setattr(local, "fetched", lambda _: None)
    monkeypatch.setattr(local, "fetch", lambda *args: started.wait() and fetch(*args))
    llm = model(None, in_background=True)
    started.set()
    server.go()
    until(lambda: llm.status.state == "ready")
    assert states == [LLMStatus("fetching", DEFAULT.size // 4, DEFAULT.size)]
    llm.close()


def test_closing_ends_the_fetching(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(_: object, report: Callable[[int], None]) -> Path:
        while True:
            report(1)
            time.sleep(0.01)

    monkeypatch.setattr(local, "fetched", lambda _: None)
    monkeypatch.setattr(local, "fetch", fetch)
    llm = model(None, in_background=True)
    llm.close()
    assert llm.status.state == "failed"


def test_closing_does_not_wait_for_the_model(server: Server, file: Path) -> None:
    llm = model(file)
    pid = server.asked["pid"]
    llm.close()
    assert not lives(pid)


def test_a_server_that_was_killed_is_started_again(server: Server, file: Path) -> None:
    server.go()
    llm = model(file)
    assert list(llm.stream(MESSAGES, None))
    pid = server.asked["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not lives(pid))
    assert "".join(piece.text for piece in llm.stream(MESSAGES, None)) == "Hi."
    assert server.asked["pid"] != pid
    llm.close()


def test_the_server_ends_with_an_owner_that_is_killed(server: Server, file: Path) -> None:
    script = f"""
        import time
        from pathlib import Path
        from rag import local
        local._SERVER = {server.command!r}
        local.LocalLLM(Path({str(file)!r}), prompt_tokens=1, timeout_s=1, in_background=True)
        time.sleep(600)
    """
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT)
    server.go()
    pid = server.asked["pid"]
    owner.kill()
    owner.wait()
    until(lambda: not lives(pid))


def test_a_file_that_is_no_model(file: Path) -> None:
    llm = model(file)
    with pytest.raises(LLMError, match=r"small\.gguf can't be loaded; is it a whole \.gguf model"):
        list(llm.stream(MESSAGES, None))
    assert llm.status.state == "failed"
    llm.close()


def test_what_can_not_be_served_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "missing.gguf"
    with pytest.raises(StartError, match=rf"^RAG_LLM {missing}: there is no such file, expected a \.gguf model"):
        load_llm(load_settings(llm=str(missing)))
    monkeypatch.setattr(local, "fetched", lambda _: None)
    with pytest.raises(
        StartError, match=r"is not on this machine yet; 'python -m rag model fetch' gets it \(1\.1 GB\)"
    ):
        load_llm(load_settings(llm="local"))
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(StartError, match=r"the package xllamacpp is not installed; pip install '\.\[local\]'"):
        load_llm(load_settings(llm="local"), in_background=True)
