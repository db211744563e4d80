"""Both search arms, each with what answers in its place while its index can't be read.

Without Chroma every passage is compared, from the library's vectors; without the word index meaning alone decides.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from rag.embed import Vectors
from rag.errors import StoreError
from rag.lexical import LexicalStore, Phrase
from rag.library import Library
from rag.manifest import Manifest
from rag.resilient import Resilient
from rag.vectors import Found, VectorStore
from rag.windows import passages

_log = logging.getLogger(__name__)


class VectorArm:
    """Passages by meaning: from Chroma, and while that fails from all vectors of the library, compared one by one.

    `is_server_set` says whether the settings name a server, for the advice to those who lack one.
    """

    def __init__(
        self, library: Library, manifest: Manifest, open_store: Callable[[], VectorStore], *, is_server_set: bool
    ) -> None:
        def open_and_ask() -> VectorStore:
            store = open_store()
            try:
                if (size := store.size()) < manifest.windows:
                    raise StoreError(f"{size} vectors in Chroma, expected {manifest.windows}")
                if manifest.windows:
                    store.nearest(np.ones(manifest.dim, np.float32), 1)  # the first query loads the index
            except StoreError:
                store.close()
                raise
            return store

        self._library = library
        self._manifest = manifest
        self._store = Resilient(open_and_ask)
        self._everything: Everything | None = None
        self._stacking = threading.Lock()
        self._without = _without_chroma(bool(manifest.collection), is_server_set)

    def nearest(self, query: Vectors, count: int) -> list[Found]:
        """The `count` passages nearest to the vector `query`, shape (dim,), best first; score = cosine."""
        found = self._store.ask(lambda store: store.nearest(query, count))
        if found is not None:
            self._everything = None
            return found
        with self._stacking:  # the first builds it, the others wait for that
            everything = self._everything = self._everything or Everything(self._library, self._manifest)
        return everything.nearest(query, count)

    @property
    def notice(self) -> str:
        """What readers of an answer should know, "" while all is well."""
        return "" if self._store.is_working else self._without

    def close(self) -> None:
        """Give back files, connections and memory."""
        self._store.close()


def _without_chroma(is_on_server: bool, is_server_set: bool) -> str:
    """What is said in place of Chroma's answer, and the way out."""
    if not is_on_server:
        what, cure = "The vector index can't be read", "'python -m rag doctor --repair' rebuilds it"
    elif is_server_set:
        what, cure = (
            "The Chroma server doesn't answer as it should",
            "start it, and the next ingest fills in what it lost",
        )
    else:
        what = "The vectors are on a Chroma server, and RAG_CHROMA_URL isn't set"
        cure = "set it, or the next ingest brings them back"
    return f"{what}, so all passages were compared one by one; {cure}."


class WordArm:
    """Passages by words; while the word index can't be read there are none, and all words are equally telling."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        def open_and_count() -> LexicalStore:
            store = LexicalStore(folder)
            if (size := store.size()) != manifest.windows:
                raise StoreError(f"{folder}: {size} passages in the word index, expected {manifest.windows}")
            return store

        self._store = Resilient(open_and_count)

    def best(
        self,
        query: str,
        count: int,
        *,
        talk_ids: Collection[str] | None = None,
        speaker: str = "",
        every_word: bool = False,
        alike: Mapping[str, Collection[Phrase]] = MappingProxyType({}),
    ) -> list[Found]:
        """See `LexicalStore.best`."""

        def best(store: LexicalStore) -> list[Found]:
            return store.best(query, count, talk_ids=talk_ids, speaker=speaker, every_word=every_word, alike=alike)

        return self._store.ask(best) or []

    def rarity(self, terms: Collection[str], talk_ids: Collection[str] | None = None) -> dict[str, float]:
        """See `LexicalStore.rarity`."""
        known = self._store.ask(lambda store: store.rarity(terms, talk_ids))
        return dict.fromkeys(terms, 1.0) if known is None else known

    def occurring(self, phrases: Sequence[Phrase]) -> list[Phrase]:
        """See `LexicalStore.occurring`; all of them while the index can't be read, so that nothing is replaced."""
        known = self._store.ask(lambda store: store.occurring(phrases))
        return list(phrases) if known is None else known

    @property
    def notice(self) -> str:
        """What readers of an answer should know, "" while all is well."""
        if self._store.is_working:
            return ""
        return (
            "The word index can't be read, so passages were found by meaning alone; "
            "'python -m rag doctor --repair' rebuilds it."
        )

    def close(self) -> None:
        """Give back files and memory."""
        self._store.close()


class Everything:
    """All passages of a generation in one matrix. Talks that can't be read are left out, and logged."""

    def __init__(self, library: Library, manifest: Manifest) -> None:
        rows = np.empty((manifest.windows, manifest.dim), np.float32)
        places: list[tuple[str, int, int]] = []
        for info in manifest.talks.values():
            try:
                stored = library.version(info.id, info.digest)
            except StoreError as error:
                _log.warning("left out of the search: %s", error)
                continue
            vectors = library.vectors(stored, manifest.model) if stored else None
            if stored is None or vectors is None or len(vectors.passages) != info.windows:
                _log.warning("left out of the search: talk %s, its content is missing; ingest it again", info.id)
                continue
            rows[len(places) : len(places) + info.windows] = vectors.passages
            places += [(info.id, window.first, window.last) for window in passages(stored.talk)]
        self._rows = rows[: len(places)]
        self._places = places

    def nearest(self, query: Vectors, count: int) -> list[Found]:
        """See `VectorArm.nearest`."""
        scores = self._rows @ query
        count = min(count, len(scores))
        if not count:
            return []
        best = np.argpartition(scores, -count)[-count:]
        best = best[np.argsort(-scores[best], kind="stable")]
        found = []
        for row in best:
            talk_id, first, last = self._places[row]
            found.append(Found(talk_id, first, last, float(scores[row])))
        return found
