"""Is an index generation sound? `python -m rag.check HOME GENERATION` exits 0, or prints what is wrong and exits 1."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import numpy as np

from rag.errors import TalkciteError
from rag.fallback import Everything
from rag.lexical import LexicalStore
from rag.library import Library
from rag.manifest import Manifest, index_folder, read_manifest
from rag.records import content_key, records_of
from rag.seal import broken_seal
from rag.server import Server, ServerVectors
from rag.vectors import ChromaFolder, VectorStore

_SAMPLES = 20
_TOLERANCE = 1e-6
_NEAREST = 10
_REACHED = 0.9  # share of the nearest passages that the approximate search must find


def problem_of(library: Library, name: str, server: Server | None = None) -> str:
    """What is wrong with a generation: counts, stored vectors, or a stored passage that does not find itself.

    `server` is needed where a server keeps the vectors. Raises `StoreError` when a store can't be opened or asked.
    """
    generation = index_folder(library.home) / name
    manifest = read_manifest(generation)
    if manifest is None:
        return "its manifest is missing or damaged"
    words = LexicalStore(generation / "lexical").size()
    if words != manifest.windows:
        return f"{words} passages in the word index, expected {manifest.windows}"
    if damage := broken_seal(generation):
        return damage
    if not manifest.collection:
        with closing(ChromaFolder(generation / "chroma", manifest.talks.values())) as folder:
            if folder.size() != manifest.windows:
                return f"{folder.size()} vectors in Chroma, expected {manifest.windows}"
            return _wrong_sample(library, manifest, folder) or _out_of_reach(library, manifest, folder)
    if server is None:
        return "its vectors are on a Chroma server, and neither RAG_CHROMA_URL nor CHROMA_API_KEY is set"
    with closing(ServerVectors(server, manifest.collection, manifest.talks.values())) as store:
        there = store.contents()
        for info in manifest.talks.values():
            if (count := there[content_key(info.id, info.text_digest)]) != info.windows:
                return f"talk {info.id}: {count} vectors on the Chroma server, expected {info.windows}"
        return _wrong_sample(library, manifest, store)


def _wrong_sample(library: Library, manifest: Manifest, store: VectorStore) -> str:
    """What is wrong with the first and last passage of some talks."""
    infos = list(manifest.talks.values())
    for info in infos[:: max(1, len(infos) // _SAMPLES)]:
        stored = library.version(info.id, info.digest)
        vectors = library.vectors(stored, manifest.model) if stored else None
        if stored is None or vectors is None:
            return f"talk {info.id}: its content {info.digest} is not in the library"
        ids = [record.id for record in records_of(stored)]
        if not ids:
            continue
        for row, key in {0: ids[0], len(ids) - 1: ids[-1]}.items():
            kept = store.vector_of(key)
            if kept is None or np.abs(kept - vectors.passages[row]).max() > _TOLERANCE:
                return f"{key}: its vector in Chroma is not the library's"
        best = store.nearest(np.asarray(vectors.passages[0]), 1)
        if not best or best[0].score < 0.999:
            return f"{ids[0]}: a stored passage does not find itself"
    return ""


def _out_of_reach(library: Library, manifest: Manifest, store: VectorStore) -> str:
    """Whether the vector search misses passages: deleting can cut the graph that it walks, and no count tells."""
    everything = Everything(library, manifest)
    infos = list(manifest.talks.values())
    expected = found = 0
    for info in infos[:: max(1, len(infos) // _SAMPLES)]:
        stored = library.version(info.id, info.digest)
        vectors = library.vectors(stored, manifest.model) if stored else None
        for row in vectors.passages[-1:] if vectors else ():
            query = np.asarray(row)
            best = [passage.score for passage in everything.nearest(query, _NEAREST)]
            expected += len(best)
            # Scores are compared, not passages: of equals any will do.
            worst = best[-1] - _TOLERANCE * 100
            found += sum(passage.score >= worst for passage in store.nearest(query, len(best)))
    if found < _REACHED * expected:
        return f"the vector search finds {found} of the {expected} nearest passages"
    return ""


if __name__ == "__main__":
    try:
        found = problem_of(Library(Path(sys.argv[1])), sys.argv[2])
    except TalkciteError as error:
        found = str(error)
    if found:
        print(found)  # the calling process reads this line
    sys.exit(1 if found else 0)
