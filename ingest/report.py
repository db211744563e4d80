"""What an ingest has to say: one entry a file, as JSON and as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ingest.types import Problem

if TYPE_CHECKING:  # importing it loads pydantic, which a health report does without
    from rag.schema import FileEntry, IngestReport

Status = Literal["added", "replaced", "unchanged", "checked", "failed"]
MAX_LISTED = 1000  # problems of one kind kept for a file
_MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one talk in one file.

    `repaired`, `skipped` and `warnings` are lines; those about a line of the file start with `path:line: `. `error` is
    why the file failed. `recording` is the name of the uploaded recording that the talk got.
    """

    path: str
    status: Status
    talk_id: str = ""
    title: str = ""
    language: str = ""
    cues: int = 0
    duration_ms: int = 0
    repaired: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
    recording: str = ""

    def as_json(self) -> FileEntry:
        """The entry of `python -m ingest --json`."""
        entry: FileEntry = {
            "path": self.path,
            "talk_id": self.talk_id,
            "title": self.title,
            "status": self.status,
            "language": self.language,
            "cues": self.cues,
            "minutes": round(self.duration_ms / 60_000, 1),
            "repaired": list(self.repaired),
            "skipped": list(self.skipped),
            "warnings": list(self.warnings),
        }
        if self.error:
            entry["error"] = self.error
        if self.recording:
            entry["recording"] = self.recording
        return entry


@dataclass(frozen=True, slots=True)
class Report:
    """The health report. `ignored` holds files met in a folder that are no captions, with the reason."""

    files: tuple[FileReport, ...]
    ignored: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """How many inputs could not be read."""
        return sum(entry.status == "failed" for entry in self.files)

    def as_json(self) -> IngestReport:
        """The document of `python -m ingest --json`."""
        return {
            "files": [entry.as_json() for entry in self.files],
            "ignored": [{"path": path, "why": why} for path, why in self.ignored],
            "removed": list(self.removed),
        }

    def lines(self) -> Iterator[str]:
        """The report for people, without what failed."""
        for entry in self.files:
            if entry.status != "failed":
                yield from _entry_lines(entry)
        for path, why in self.ignored:
            yield f"ignored    {path}: {why}"
        for removed in self.removed:
            yield f"removed    {removed}"
        yield self._summary()

    def errors(self) -> Iterator[str]:
        """Why inputs failed, a line each."""
        return (entry.error for entry in self.files if entry.status == "failed")

    def _summary(self) -> str:
        counts = {status: sum(entry.status == status for entry in self.files) for status in _ORDER}
        parts = [f"{count} {status}" for status, count in counts.items() if count]
        parts += [f"{len(self.removed)} removed"] if self.removed else []
        read = [entry for entry in self.files if entry.status != "failed"]
        cues, minutes = sum(e.cues for e in read), sum(e.duration_ms for e in read) / 60_000
        return f"{', '.join(parts) or 'no captions found'}; {cues:,} cues, {minutes:,.0f} minutes"


_ORDER: tuple[Status, ...] = ("added", "replaced", "unchanged", "checked", "failed")


def _entry_lines(entry: FileReport) -> Iterator[str]:
    minutes = entry.duration_ms / 60_000
    yield f"{entry.status:<10} {entry.path}: {entry.talk_id}, {entry.cues:,} cues, {minutes:.1f} min"
    yield from (f"           repaired: {what}" for what in entry.repaired)
    for kind, listed in (("skipped", entry.skipped), ("warning", entry.warnings)):
        yield from (f"           {kind}: {what}" for what in listed[:_MAX_SHOWN])
        if len(listed) > _MAX_SHOWN:
            yield f"           {kind}: and {len(listed) - _MAX_SHOWN} more (--json lists them)"


def located(path: str, problem: Problem) -> str:
    """`path:line: what`, or `path: what` for a problem of the whole file."""
    return f"{path}:{problem.line}: {problem.what}" if problem.line else f"{path}: {problem.what}"


def listed(path: str, problems: Iterable[Problem]) -> tuple[str, ...]:
    """The problems as lines, the first thousand of them."""
    lines = [located(path, problem) for problem in problems]
    if len(lines) > MAX_LISTED:
        lines[MAX_LISTED:] = [f"{path}: and {len(lines) - MAX_LISTED} more of this kind"]
    return tuple(lines)
