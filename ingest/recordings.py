"""Which recording belongs to a talk: one that was given, stated, found beside the captions or uploaded with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ingest.metadata import stems
from ingest.sources import Source
from rag.links import is_address
from rag.recordings import Recording

RECORDINGS = (".mp4", ".webm", ".m4a", ".mp3")


def media_of(stated: str, source: Source, given: str, is_alone: bool) -> str:
    """The recording: as the user gave it (a file is relative to where they are), as stated, or found beside.

    `is_alone`: the file holds no other talk.
    """
    if given:
        return given if is_address(given) or not Path(given).is_file() else str(Path(given).resolve())
    if source.file is None:
        return stated
    if stated:
        return recording_path(stated, source.file.parent)
    return media_beside(source.file) if is_alone else ""


def uploaded_with(stated: str, source: Source, recordings: Sequence[Recording]) -> Recording | None:
    """The one of the uploaded recordings that captions name, or that has their name.

    None where captions state an address: it has times to link to, and a file of the same name is a copy of it.
    """
    if is_address(stated):
        return None
    own = {stem.casefold() for stem in stems(source.name)}
    for recording in recordings:
        if recording.path.name == stated or recording.path.stem.casefold() in own:
            return recording
    return None


def media_uploaded(stated: str, recording: Recording | None) -> str:
    """The recording of uploaded captions: what came with them, or an address, never a file of this machine."""
    if recording is not None:
        return recording.media
    return stated if is_address(stated) else ""  # a stranger's captions must not make just any file heard


def media_beside(path: Path) -> str:
    """The absolute path of a recording beside the captions with the same stem, "" when there is none."""
    for stem in stems(path.name):
        for ending in RECORDINGS:
            recording = path.with_name(stem + ending)
            if recording.is_file():
                return str(recording.resolve())
    return ""


def recording_path(media: str, folder: Path) -> str:
    """A bare file name as the absolute path of that file in `folder`, where it is there; anything else as it is.

    Only a bare name: what a caption file states must not point at other places of this machine.
    """
    if media and not is_address(media) and Path(media).name == media and (folder / media).is_file():
        return str((folder / media).resolve())
    return media
