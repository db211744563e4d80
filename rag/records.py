"""A talk's passages as Chroma records: ids, documents and metadata, within the limits of every Chroma."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rag.library import StoredTalk
from rag.manifest import TalkInfo
from rag.windows import passages

Contents = Mapping[str, TalkInfo]  # the talks of a generation by their `content_key`

# Chroma Cloud's limits, kept everywhere so that a library can move. Only copies for other clients are ever cut: what
# is searched and shown comes from the library.
_ID_BYTES = 128
_DOCUMENT_BYTES = 16_384
_VALUE_BYTES = 4_096

_ROOM_FOR_PLACE = 24  # "/" and the positions at which a passage starts and ends


@dataclass(frozen=True, slots=True)
class Record:
    """One passage as Chroma keeps it, without its vector."""

    id: str
    document: str
    metadata: dict[str, str | int]


def records_of(stored: StoredTalk) -> Iterator[Record]:
    """The records of a talk, in the order of its vectors' rows."""
    content = content_key(stored.talk.id, stored.text_digest)
    for window in passages(stored.talk):
        cues = stored.talk.cues[window.first : window.last + 1]
        metadata: dict[str, str | int] = {
            "talk_id": stored.talk.id,
            "text_digest": stored.text_digest,
            "first": window.first,
            "last": window.last,
            "first_cue": _cut(cues[0].id, _VALUE_BYTES),
            "last_cue": _cut(cues[-1].id, _VALUE_BYTES),
            "start_ms": cues[0].start_ms,
            "end_ms": cues[-1].end_ms,
            "speakers": _cut(", ".join(dict.fromkeys(cue.speaker for cue in cues if cue.speaker)), _VALUE_BYTES),
        }
        yield Record(f"{content}/{window.first}-{window.last}", _cut(window.text, _DOCUMENT_BYTES), metadata)


def content_key(talk_id: str, text_digest: str) -> str:
    """What the ids of all records of one content start with, before "/" and the place; no two contents share it."""
    key = f"{talk_id}/{text_digest}"
    if len(key) + _ROOM_FOR_PLACE > _ID_BYTES:  # talk ids are ASCII
        key = f"{hashlib.sha256(talk_id.encode()).hexdigest()[:32]}/{text_digest}"
    return key


def contents_of(talks: Iterable[TalkInfo]) -> Contents:
    """The talks of a generation by what the ids of their records start with."""
    return {content_key(info.id, info.text_digest): info for info in talks}


def place_of(record_id: str, contents: Contents) -> tuple[str, int, int] | None:
    """Talk id, first and last cue of a record's passage; None when its content is not among these.

    An id says it all, so that a search needs no metadata, which takes Chroma longer to read than to find.
    """
    content, _, place = record_id.rpartition("/")
    info = contents.get(content)
    if info is None:
        return None
    first, _, last = place.partition("-")
    return info.id, int(first), int(last)


def content_of(record_id: str) -> str:
    """The `content_key` that a record's id starts with."""
    return record_id.rpartition("/")[0]


def _cut(text: str, limit: int) -> str:
    """The start of a text, at most `limit` bytes of UTF-8."""
    content = text.encode()
    return text if len(content) <= limit else content[:limit].decode(errors="ignore")
