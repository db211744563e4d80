"""Uploads on their way into the library: one at a time, the others wait, in a queue with an end.

What reads and stores them is handed in. A job's files lie in a folder of its own, which goes when the job is over.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal

from rag import schema
from rag.errors import TalkciteError
from rag.web.limits import MAX_WAITING
from rag.web.problem import UNEXPECTED

_log = logging.getLogger(__name__)

# Jobs that are over are remembered, the latest of them.
_REMEMBERED = 100


class Busy(Exception):
    """The queue is full."""


class _Stopped(Exception):
    """The server is being stopped."""


@dataclass(slots=True)
class Progress:
    """How far an ingest is; it stops at the next file once `is_stopping` says so."""

    is_stopping: threading.Event
    files: int
    files_done: int = 0

    def start(self, files: int) -> None:
        """So many files will be read."""
        self.files = files

    def finish(self, _: object) -> None:
        """One of them, or a talk in it, is done."""
        self.files_done = min(self.files_done + 1, self.files)
        if self.is_stopping.is_set():
            raise _Stopped


# Reads caption files, stores their talks, tells how far it is and returns the report.
Ingest = Callable[[Sequence[Path], Progress], schema.IngestReport]


@dataclass(slots=True)
class _Job:
    progress: Progress
    folder: TemporaryDirectory[str]
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    report: schema.IngestReport | None = None
    error: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed")

    def as_json(self) -> schema.Job:
        return {
            "job_id": self.id,
            "state": self.state,
            "files": self.progress.files,
            "files_done": self.progress.files_done,
            "report": self.report,
            "error": self.error,
        }


class Jobs:
    """The queue in front of `ingest`. Safe to use from many threads; `close` it when done."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ingest")

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, files: Mapping[str, BinaryIO]) -> schema.Job:
        """Queue files, by plain names; their content is copied before this returns. Raises `Busy`."""
        job = _Job(Progress(self._stopping, len(files)), TemporaryDirectory(prefix="talkcite-upload-"))
        with self._lock:
            if sum(not other.is_over for other in self._jobs.values()) >= MAX_WAITING:
                job.folder.cleanup()
                raise Busy
            self._jobs[job.id] = job
            over = [other.id for other in self._jobs.values() if other.is_over]
            for forgotten in over[:-_REMEMBERED]:
                del self._jobs[forgotten]
        paths = [Path(job.folder.name, name) for name in files]
        try:
            for path, content in zip(paths, files.values(), strict=True):
                with path.open("wb") as file:
                    shutil.copyfileobj(content, file)
        except BaseException:
            self._forget(job)
            raise
        state = job.as_json()
        self._worker.submit(self._run, job, paths)
        return state

    def get(self, job_id: str) -> schema.Job | None:
        """How far a job is; None when there is none of that id."""
        job = self._jobs.get(job_id)
        return job.as_json() if job else None

    @property
    def pending(self) -> int:
        """How many are waiting or running."""
        with self._lock:
            return sum(not job.is_over for job in self._jobs.values())

    def close(self) -> None:
        """Drop what waits, and let the running ingest end with the file it is reading."""
        self._stopping.set()
        self._worker.shutdown(cancel_futures=True)
        for job in self._jobs.values():
            job.folder.cleanup()

    def _run(self, job: _Job, paths: Sequence[Path]) -> None:
        job.state = "running"
        try:
            job.report = self._ingest(paths, job.progress)
        except _Stopped:
            job.error = "The server was stopped; what was stored until then is kept."
        except TalkciteError as error:
            job.error = str(error)
        except Exception:
            _log.exception("ingesting an upload failed")
            job.error = UNEXPECTED
        finally:
            job.folder.cleanup()
            job.state = "failed" if job.report is None else "done"

    def _forget(self, job: _Job) -> None:
        job.folder.cleanup()
        with self._lock:
            del self._jobs[job.id]
