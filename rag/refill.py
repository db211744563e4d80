"""Bring the collection on a Chroma server up to the library, and clean it of what no kept generation needs.

The writer's part of `rag.server`; call with the writer's lock held.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import closing

from rag.errors import StoreError
from rag.generations import kept_manifests
from rag.library import Library
from rag.manifest import Manifest
from rag.records import content_key
from rag.server import Server, ServerVectors
from rag.windows import TEXT_FORM


def collection_name(library: Library, model: str, dim: int) -> str:
    """The collection of a library's vectors by one model: texts made another way, or another model, need a new one."""
    made = hashlib.sha256(f"{model}\n{dim}\n{TEXT_FORM}".encode()).hexdigest()[:8]
    return f"{_prefix(library)}{made}"


def is_complete(library: Library, manifest: Manifest, server: Server) -> bool:
    """True when the collection holds as many records as the kept generations need: a quick look, one request."""
    with closing(ServerVectors(server, manifest.collection, create=True)) as store:
        needed = _needed(kept_manifests(library.home), manifest.collection)
        return store.size() == sum(needed.values())


def refill(
    library: Library, manifest: Manifest, server: Server, known: dict[str, str], say: Callable[[str], None]
) -> None:
    """Add what the manifest needs and the collection lacks, from the library's vectors: nothing is embedded.

    `known` (talk id -> digest) are the talks that were there when this collection was last published; that one of them
    lacks vectors is said. Talks whose digest differs are written again even when their words are the same, since
    speakers and times are part of what other clients read.
    """
    with closing(ServerVectors(server, manifest.collection, create=True)) as store:
        there = store.contents()
        lost = 0
        for info in manifest.talks.values():
            is_lacking = there[content_key(info.id, info.text_digest)] != info.windows
            is_known = known.get(info.id) == info.digest
            if is_known and not is_lacking:
                continue
            if is_known and is_lacking and not lost:
                say(f"Chroma at {server.shown} has lost vectors that were there; adding them from the library")
            lost += is_known
            stored = library.version(info.id, info.digest)
            rows = library.vectors(stored, manifest.model) if stored else None
            if stored is None or rows is None:
                raise StoreError(f"talk {info.id}: its vectors vanished while the index was built; ingest again")
            store.add(stored, rows.passages)
        if lost:
            say(f"the vectors of {lost} talks were added again")


def tidy(library: Library, manifest: Manifest, server: Server, say: Callable[[str], None]) -> None:
    """Delete records and collections of this library that no kept generation needs; failing is said, not raised."""
    kept = kept_manifests(library.home)
    try:
        with closing(ServerVectors(server, manifest.collection, create=True)) as store:
            store.keep_only(set(_needed(kept, manifest.collection)))
            store.drop_others(_prefix(library), {known.collection for known in kept})
    except StoreError as error:  # everything is published; the next ingest cleans up
        say(f"records that nobody needs stay on the server for now: {error}")


def _needed(manifests: Iterable[Manifest], collection: str) -> dict[str, int]:
    """Content key -> number of records, over all manifests whose vectors lie in this collection."""
    return {
        content_key(info.id, info.text_digest): info.windows
        for manifest in manifests
        if manifest.collection == collection
        for info in manifest.talks.values()
    }


def _prefix(library: Library) -> str:
    return f"talkcite-{library.identity()}-"
