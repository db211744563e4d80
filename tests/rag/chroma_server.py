"""A real `chroma run` for tests: on a free loopback port, started and ended by process id."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from rag.server import Server

_START_LIMIT_S = 60


class ChromaRun:
    """One server. It keeps its port over restarts."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server = Server(f"http://127.0.0.1:{self.port}")
        self._process: subprocess.Popen[bytes] | None = None
        self.start(folder)

    def start(self, folder: Path) -> None:
        command = [Path(sys.executable).parent / "chroma", "run", "--path", folder, "--host", "127.0.0.1"]
        self._process = subprocess.Popen(
            [*map(str, command), "--port", str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + _START_LIMIT_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "chroma run ended by itself"
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.server.root}/api/v2/heartbeat", timeout=1).status_code == httpx.codes.OK:
                    return
            time.sleep(0.05)
        self.kill()
        raise AssertionError(f"chroma run did not answer within {_START_LIMIT_S} s")

    def send(self, what: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(what)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


@contextlib.contextmanager
def chroma_run(folder: Path) -> Iterator[ChromaRun]:
    run = ChromaRun(folder)
    try:
        yield run
    finally:
        run.kill()
