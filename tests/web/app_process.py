"""The app as a process of its own, with a model of words that loads at once: `python -m tests.web.app_process`."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.conftest import ROOT


class AppProcess:
    """A running app; `stop` ends it and tells how."""

    def __init__(self, process: subprocess.Popen[str], url: str, stderr: Path) -> None:
        self.process = process
        self.url = url
        self._stderr = stderr

    @property
    def stderr(self) -> str:
        """What it wrote there so far."""
        return self._stderr.read_text(encoding="utf-8")

    def wait_until_ready(self) -> None:
        """A question can be answered; in a library without talks that is never so."""
        deadline = time.monotonic() + 120
        while httpx.get(f"{self.url}readyz", timeout=60).status_code != 200:
            assert time.monotonic() < deadline, self.stderr
            time.sleep(0.05)

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        """The exit code, after a signal."""
        self.process.send_signal(signal_number)
        return self.process.wait(timeout=120)


@contextmanager
def running_app(
    home: Path, server: list[str] | None = None, largest_file: int = 0, **settings: str
) -> Iterator[AppProcess]:
    """The app over the library at `home`.

    `server` is the command that stands in for the local model's; `largest_file` the size in bytes beyond which no file
    can be written, as on a full disk (0: any).
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_", "OPENAI_"))}
    environment |= {"RAG_HOME": str(home), "RAG_LLM": "off", "PYTHONPATH": str(ROOT), **settings}
    command = [sys.executable, "-m", "tests.web.app_process", json.dumps([server, largest_file]), "--port", "0"]
    with tempfile.NamedTemporaryFile("w", suffix=".log") as stderr:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=ROOT)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            found = re.match(r"talkcite is at (http://\S+/) ", line)
            assert found is not None, (line, Path(stderr.name).read_text(encoding="utf-8"))
            yield AppProcess(process, found[1], Path(stderr.name))
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


if __name__ == "__main__":
    import app
    import rag.engine
    import rag.local
    from ingest.language import language_of
    from tests.fakes import WordEmbedder

    rag.engine.load_embedder = lambda _: WordEmbedder()  # type: ignore[assignment]
    instead, limit = json.loads(sys.argv[1])
    rag.local._SERVER = instead or rag.local._SERVER
    if limit:
        # The detector unpacks itself into a temporary file, which is not what is to fail.
        language_of(["Quosque tandem"], "")
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.exit(app.main(sys.argv[2:]))
