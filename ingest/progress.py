"""The progress bar on a terminal: files, cues a second, time left. The only file that knows rich."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ingest.report import FileReport


class Bar:
    """A `Progress` on stderr; use it as a context manager."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),  # file names are not ours: no markup in them
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]:,.0f} cues/s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("reading", total=None, speed=0.0)
        self._cues = 0
        self._started = time.monotonic()

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def start(self, files: int) -> None:
        """So many files will be read."""
        self._bar.update(self._task, total=files)

    def finish(self, entry: FileReport) -> None:
        """One of them is done."""
        self._cues += entry.cues
        speed = self._cues / max(0.001, time.monotonic() - self._started)
        self._bar.update(self._task, advance=1, speed=speed, description=entry.talk_id or entry.path)
