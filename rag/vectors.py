"""Store and search vectors. The only file that knows chromadb.

One collection holds one record per passage: id from talk, content and position; the vector; the text as document, so
that any Chroma client can make use of the store; talk id, cues, times and speakers as metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rag.embed import Vectors
from rag.errors import StoreError
from rag.library import StoredTalk
from rag.windows import passages

COLLECTION = "passages"
_BATCH = 5000  # Chroma's own limit is 5,461 here; the smaller of the two is used

# Chroma measures squared Euclidean distance unless told otherwise, and its defaults find only .87 of the true ten
# nearest among 100,000 vectors; with these it is .98.
_HNSW: Any = {"hnsw": {"space": "cosine", "ef_search": 400, "max_neighbors": 32, "ef_construction": 200}}


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that a search arm found: cues `first`..`last` (positions). Higher scores are better."""

    talk_id: str
    first: int
    last: int
    score: float


class VectorStore(Protocol):
    """Passages by vector. `add` and `delete` are the writer's, `nearest` is the readers'."""

    def add(self, stored: StoredTalk, vectors: Vectors) -> None:
        """Add the passages of a talk that is not in the store; `vectors` has shape (passages, dim)."""
        ...

    def delete(self, talk_id: str) -> None:
        """Remove all passages of a talk."""
        ...

    def nearest(self, query: Vectors, count: int) -> list[Found]:
        """The `count` passages nearest to the vector `query`, shape (dim,), best first; score = cosine."""
        ...

    def size(self) -> int:
        """Number of passages stored."""
        ...

    def close(self) -> None:
        """Give back files and memory."""
        ...


class ChromaFolder:
    """A `VectorStore` in a folder of its own, which only one process at a time may have open for writing."""

    def __init__(self, folder: Path) -> None:
        # Imported here: it costs most of a second, which commands that never search must not pay.
        import chromadb
        from chromadb.config import Settings as ChromaSettings

        try:
            folder.mkdir(parents=True, exist_ok=True)
            settings = ChromaSettings(anonymized_telemetry=False)
            self._client: Any = chromadb.PersistentClient(path=str(folder), settings=settings)
            self._collection: Any = self._client.get_or_create_collection(
                COLLECTION, configuration=_HNSW, embedding_function=None
            )
        except Exception as error:  # chromadb raises its Rust errors without a common base
            raise StoreError(f"{folder}: Chroma can't open it ({error}); 'python -m rag doctor --repair'") from error
        self._batch = min(_BATCH, self._client.get_max_batch_size())

    def add(self, stored: StoredTalk, vectors: Vectors) -> None:
        """See `VectorStore`."""
        windows = passages(stored.talk)
        for start in range(0, len(windows), self._batch):
            batch = windows[start : start + self._batch]
            self._collection.add(
                ids=[record_id(stored, window.first) for window in batch],
                embeddings=vectors[start : start + len(batch)],
                documents=[window.text for window in batch],
                metadatas=[_metadata(stored, window.first, window.last) for window in batch],
            )

    def delete(self, talk_id: str) -> None:
        """See `VectorStore`."""
        self._collection.delete(where={"talk_id": talk_id})

    def nearest(self, query: Vectors, count: int) -> list[Found]:
        """See `VectorStore`. Raises `StoreError` when Chroma fails, whatever it raised."""
        try:
            reply = self._collection.query(
                query_embeddings=[query], n_results=count, include=["metadatas", "distances"]
            )
        except Exception as error:  # chromadb raises its Rust errors without a common base
            raise StoreError(f"Chroma can't answer ({error}); 'python -m rag doctor --repair'") from error
        return [
            Found(str(meta["talk_id"]), int(meta["first"]), int(meta["last"]), 1.0 - float(distance))
            for meta, distance in zip(reply["metadatas"][0], reply["distances"][0], strict=True)
        ]

    def size(self) -> int:
        """See `VectorStore`."""
        return int(self._collection.count())

    def vector_of(self, key: str) -> Vectors | None:
        """The stored vector of one record, for checking what was written; None when there is none."""
        reply = self._collection.get(ids=[key], include=["embeddings"])
        return np.asarray(reply["embeddings"][0], np.float32) if reply["ids"] else None

    def close(self) -> None:
        """See `VectorStore`."""
        self._client.close()


def record_id(stored: StoredTalk, first: int) -> str:
    """The id of a passage in Chroma: talk, content and position, so that no two contents share one."""
    return f"{stored.talk.id}/{stored.text_digest}/{first}"


def _metadata(stored: StoredTalk, first: int, last: int) -> dict[str, str | int]:
    cues = stored.talk.cues[first : last + 1]
    return {
        "talk_id": stored.talk.id,
        "first": first,
        "last": last,
        "first_cue": cues[0].id,
        "last_cue": cues[-1].id,
        "start_ms": cues[0].start_ms,
        "end_ms": cues[-1].end_ms,
        "speakers": ", ".join(dict.fromkeys(cue.speaker for cue in cues if cue.speaker)),
    }


def record_ids(stored: StoredTalk) -> Iterator[str]:
    """The ids of all passages of a talk, in order."""
    return (record_id(stored, window.first) for window in passages(stored.talk))
