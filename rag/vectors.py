"""Store and search vectors. The only file that knows chromadb.

One collection holds one record per passage (`rag.records`). `rag.server` keeps it on a Chroma server, with the text as
document and what is known of it as metadata, so that any Chroma client can make use of it. `ChromaFolder` keeps it in a
folder that no other client may open, so it holds the vector and the place alone, which takes half the time to build.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rag.embed import Vectors
from rag.errors import StoreError
from rag.library import StoredTalk
from rag.manifest import TalkInfo
from rag.records import Contents, Record, contents_of, place_of, records_of

COLLECTION = "passages"
_BATCH = 5000  # records a request; Chroma's own limit is 5,461 here, and the smaller of the two is used

# Chroma measures squared Euclidean distance unless told otherwise, and its defaults find only .87 of the true ten
# nearest among 100,000 vectors; with these tests/rag/test_large.py finds all. Twice the ef_construction takes twice the
# time to build and finds no more there.
HNSW: Any = {"hnsw": {"space": "cosine", "ef_search": 400, "max_neighbors": 32, "ef_construction": 100}}


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that a search arm found: cues `first`..`last` (positions). Higher scores are better."""

    talk_id: str
    first: int
    last: int
    score: float


class VectorStore(Protocol):
    """Passages by vector. `add` is the writer's, `nearest` is the readers'. Every failure is a `StoreError`."""

    def add(self, stored: StoredTalk, vectors: Vectors) -> None:
        """Add the passages of a talk; `vectors` has shape (passages, dim)."""
        ...

    def nearest(self, query: Vectors, count: int) -> list[Found]:
        """The `count` passages nearest to the vector `query`, shape (dim,), best first; score = cosine."""
        ...

    def size(self) -> int:
        """Number of passages stored."""
        ...

    def vector_of(self, record_id: str) -> Vectors | None:
        """The stored vector of one record, for checking what was written; None when there is none."""
        ...

    def close(self) -> None:
        """Give back files, connections and memory."""
        ...


class ChromaFolder:
    """A `VectorStore` in a folder of its own, which only one process at a time may have open for writing.

    A reader says which `talks` it expects to find. Only a writer says `create`: a reader must never leave an empty
    store where a full one was expected.
    """

    def __init__(self, folder: Path, talks: Iterable[TalkInfo] = (), *, create: bool = False) -> None:
        # Imported here: it costs most of a second, which commands that never search must not pay.
        import chromadb

        if not create and not (folder / "chroma.sqlite3").is_file():
            raise StoreError(f"{folder}: there is no Chroma store; 'python -m rag doctor --repair' makes one")
        self._contents = contents_of(talks)
        self._client: Any = None
        self._no_write = f"{folder}: Chroma can't write ({{}}); free space"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._client = chromadb.PersistentClient(path=str(folder), settings=quiet_settings())
            self._collection: Any = (
                self._client.get_or_create_collection(COLLECTION, configuration=HNSW, embedding_function=None)
                if create
                else self._client.get_collection(COLLECTION, embedding_function=None)
            )
            self._batch = min(_BATCH, self._client.get_max_batch_size())
        except Exception as error:  # chromadb raises its Rust errors without a common base
            if self._client is not None:
                self._client.close()
            raise StoreError(f"{folder}: Chroma can't open it ({error}); 'python -m rag doctor --repair'") from error

    def add(self, stored: StoredTalk, vectors: Vectors) -> None:
        """See `VectorStore`."""
        self.add_all([(stored, vectors)])

    def add_all(self, talks: Iterable[tuple[StoredTalk, Vectors]]) -> None:
        """Add the passages of many talks, in batches that span talks: twice as fast as one by one."""
        with _told(self._no_write):
            upsert(self._collection, talks, self._batch, for_others=False)

    def delete(self, talk_id: str) -> None:
        """Remove all passages of a talk."""
        with _told(self._no_write):
            self._collection.delete(where={"talk_id": talk_id})

    def nearest(self, query: Vectors, count: int) -> list[Found]:
        """See `VectorStore`."""
        with _told():
            found = ask(self._collection, query, count, self._contents)
        known = [passage for passage in found if passage is not None]
        if len(known) < len(found):
            raise StoreError("Chroma holds passages of other talks than its manifest; 'python -m rag doctor --repair'")
        return known

    def size(self) -> int:
        """See `VectorStore`."""
        with _told():
            return int(self._collection.count())

    def vector_of(self, record_id: str) -> Vectors | None:
        """See `VectorStore`."""
        with _told():
            return stored_vector(self._collection, record_id)

    def close(self) -> None:
        """See `VectorStore`."""
        self._client.close()


@contextmanager
def _told(what: str = "Chroma can't answer ({}); 'python -m rag doctor --repair'") -> Iterator[None]:
    """Whatever chromadb raises, as one `StoreError`: `what`, with the cause in place of {}."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(what.format(error)) from error


def quiet_settings() -> Any:
    """Chroma's own settings, without telemetry."""
    from chromadb.config import Settings as ChromaSettings

    return ChromaSettings(anonymized_telemetry=False)


def server_client(root: str, token: str) -> Any:
    """A client of the Chroma server at `root`. A token is sent as Chroma documents it: `Authorization: Bearer`."""
    import chromadb

    settings = quiet_settings()
    if token:
        settings.chroma_client_auth_provider = "chromadb.auth.token_authn.TokenAuthClientProvider"
        settings.chroma_client_auth_credentials = token
    return chromadb.HttpClient(host=root, settings=settings)


def cloud_client(api_key: str, tenant: str, database: str, connections: int) -> Any:
    """A client of Chroma Cloud with at most so many connections; "" takes the tenant or database of the key."""
    import chromadb

    settings = quiet_settings()
    settings.chroma_http_max_connections = connections
    return chromadb.CloudClient(tenant or None, database or None, api_key, settings)


def upsert(collection: Any, talks: Iterable[tuple[StoredTalk, Vectors]], batch: int, *, for_others: bool) -> None:
    """Write the records of talks, `batch` at a time; those that are there already are brought up to date.

    `for_others` adds what only other Chroma clients read: the text and all that is known of a passage.
    """
    waiting: list[tuple[Record, Vectors]] = []
    for stored, vectors in talks:
        waiting += zip(records_of(stored), vectors, strict=True)
        while len(waiting) >= batch:
            _write(collection, waiting[:batch], for_others)
            del waiting[:batch]
    if waiting:
        _write(collection, waiting, for_others)


def _write(collection: Any, part: list[tuple[Record, Vectors]], for_others: bool) -> None:
    collection.upsert(
        ids=[record.id for record, _ in part],
        embeddings=np.stack([row for _, row in part]),
        documents=[record.document for record, _ in part] if for_others else None,
        metadatas=[record.metadata if for_others else _place(record) for record, _ in part],
    )


def _place(record: Record) -> dict[str, str | int]:
    return {name: record.metadata[name] for name in ("talk_id", "first", "last")}


def ask(collection: Any, query: Vectors, count: int, contents: Contents) -> list[Found | None]:
    """The `count` records nearest to `query`, best first; None for each whose content is not among these."""
    reply = collection.query(query_embeddings=[query], n_results=count, include=["distances"])
    return [
        Found(*place, 1.0 - float(distance)) if (place := place_of(record_id, contents)) else None
        for record_id, distance in zip(reply["ids"][0], reply["distances"][0], strict=True)
    ]


def stored_vector(collection: Any, record_id: str) -> Vectors | None:
    """The vector of one record as Chroma has it."""
    reply = collection.get(ids=[record_id], include=["embeddings"])
    return np.asarray(reply["embeddings"][0], np.float32) if reply["ids"] else None
