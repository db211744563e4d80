"""Recordings that came with uploaded captions: told by content, named by content, kept in the library.

`media` of a talk is then `recordings/<digest>.<ending>`, relative to the library's folder, so that the folder can be
moved. Recordings that the owner ingests beside captions stay where they are and are named by their whole path.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path

from rag.files import write_whole

_FOLDER = "recordings"

# Kinds of file by how they begin, with the usual endings of each; the first stands for a name that has another one.
_KINDS: tuple[tuple[Callable[[bytes], bool], tuple[str, ...]], ...] = (
    (lambda start: start[4:8] == b"ftyp", (".mp4", ".m4v", ".mov", ".m4a")),
    (lambda start: start.startswith(b"\x1aE\xdf\xa3"), (".webm", ".mkv")),
    (lambda start: start.startswith(b"OggS"), (".ogg", ".oga", ".opus", ".ogv")),
    (lambda start: start.startswith(b"RIFF") and start[8:12] == b"WAVE", (".wav",)),
    (lambda start: start.startswith(b"fLaC"), (".flac",)),
    (lambda start: start.startswith(b"ID3") or _is_frame(start, 0xE6, 0xE2), (".mp3",)),
    (lambda start: _is_frame(start, 0xF6, 0xF0), (".aac",)),
)
_START = 12  # bytes that tell the kind
_KEPT = re.compile(rf"{_FOLDER}/[0-9a-f]{{16}}\.[a-z0-9]{{3,4}}")


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording on its way into the library: where it lies now, and the `media` of the talk that takes it."""

    path: Path
    media: str


def recording_in(path: Path) -> Recording | None:
    """The recording in a file; None when the content is of no kind that is known, whatever the name says."""
    with path.open("rb") as file:
        endings = _endings(file.read(_START))
        if not endings:
            return None
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    named = path.suffix.lower()
    return Recording(path, f"{_FOLDER}/{digest}{named if named in endings else endings[0]}")


def is_kept(media: str) -> bool:
    """True for the `media` of a talk whose recording lies in the library."""
    return bool(_KEPT.fullmatch(media))


def keep(recording: Recording, home: Path) -> None:
    """Copy a recording into the library at `home`, before the talk that names it is stored.

    Raises `StoreError` for want of space.
    """
    kept = home / recording.media
    if not kept.is_file():
        with recording.path.open("rb") as content:
            write_whole(kept, lambda file: shutil.copyfileobj(content, file))


def discard_all_but(home: Path, heard: Set[str]) -> None:
    """Delete the recordings in the library that no talk names; `heard` are the `media` of all talks."""
    for path in (home / _FOLDER).glob("[!.]*"):
        if f"{_FOLDER}/{path.name}" not in heard:
            path.unlink(missing_ok=True)


def _endings(start: bytes) -> tuple[str, ...]:
    return next((endings for fits, endings in _KINDS if fits(start)), ())


def _is_frame(start: bytes, mask: int, bits: int) -> bool:
    """True for an MPEG audio frame without anything in front. The mask leaves out the byte order mark of UTF-16."""
    return len(start) > 1 and start[0] == 0xFF and start[1] & mask == bits
