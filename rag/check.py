"""Is an index generation sound? `python -m rag.check HOME GENERATION` exits 0, or prints what is wrong and exits 1."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from rag.errors import TalkciteError
from rag.lexical import LexicalStore
from rag.library import Library
from rag.manifest import index_folder, read_manifest
from rag.vectors import ChromaFolder, record_ids

_SAMPLES = 20
_TOLERANCE = 1e-6


def problem_of(library: Library, name: str) -> str:
    """What is wrong with a generation: counts, stored vectors, or a stored passage that does not find itself."""
    generation = index_folder(library.home) / name
    manifest = read_manifest(generation)
    if manifest is None:
        return "its manifest is missing or damaged"
    words = LexicalStore(generation / "lexical").size()
    if words != manifest.windows:
        return f"{words} passages in the word index, expected {manifest.windows}"
    store = ChromaFolder(generation / "chroma")
    if store.size() != manifest.windows:
        return f"{store.size()} vectors in Chroma, expected {manifest.windows}"
    infos = list(manifest.talks.values())
    for info in infos[:: max(1, len(infos) // _SAMPLES)]:
        stored = library.version(info.id, info.digest)
        vectors = library.vectors(stored, manifest.model) if stored else None
        if stored is None or vectors is None:
            return f"talk {info.id}: its content {info.digest} is not in the library"
        ids = list(record_ids(stored))
        if not ids:
            continue
        for row, key in {0: ids[0], len(ids) - 1: ids[-1]}.items():
            kept = store.vector_of(key)
            if kept is None or np.abs(kept - vectors.passages[row]).max() > _TOLERANCE:
                return f"{key}: its vector in Chroma is not the library's"
        best = store.nearest(np.asarray(vectors.passages[0]), 1)
        if not best or best[0].score < 0.999:
            return f"{ids[0]}: a stored passage does not find itself"
    store.close()
    return ""


if __name__ == "__main__":
    try:
        found = problem_of(Library(Path(sys.argv[1])), sys.argv[2])
    except TalkciteError as error:
        found = str(error)
    if found:
        print(found)  # the calling process reads this line
    sys.exit(1 if found else 0)
