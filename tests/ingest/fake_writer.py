"""A writer at the seam to the index: a real library, no vectors."""

from __future__ import annotations

from pathlib import Path

from ingest.report import Status
from rag.library import Library, StoredTalk, content_digest
from rag.types import Talk


class FakeWriter:
    """Stores talks and counts how many had to be embedded."""

    def __init__(self, home: Path) -> None:
        self.library = Library(home)
        self.embedded: list[str] = []

    def put(self, talk: Talk) -> Status:
        old = self.library.record(talk.id)
        digest = content_digest(talk)
        if old is not None and old.digest == digest:
            return "unchanged"
        self.embedded.append(talk.id)
        self.library.put(StoredTalk(talk, digest, digest))
        return "added" if old is None else "replaced"

    def remove(self, talk_id: str) -> None:
        self.library.remove(talk_id)
