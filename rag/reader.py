"""Follow the published index: open the generation that counts, and change to the next one without failing a query.

A reader looks at `CURRENT` at most once a second. A new generation is opened and warmed beside the old one, in the
background; then the handle is swapped, and the old one is closed once its last query is done. An index that can't be
read is no reason not to answer: see `rag.fallback`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from rag.embed import Vectors
from rag.errors import StoreError
from rag.fallback import VectorArm, WordArm
from rag.library import Library, StoredTalk, TalkVectors
from rag.manifest import Manifest, TalkInfo, current_manifest, current_name, index_folder, read_manifest
from rag.seal import broken_seal
from rag.server import Server, ServerVectors
from rag.types import Talk, Window
from rag.vectors import ChromaFolder, VectorStore
from rag.windows import passages

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
_IDLE_S = 2.0  # without a question in between, nobody is made to wait for a new generation but who asks next
_TALKS_IN_MEMORY = 512
_FILTERS_IN_MEMORY = 16


class Generation:
    """One open generation: its contents, words, vectors, and the talks exactly as they were when it was published."""

    def __init__(self, library: Library, name: str, manifest: Manifest, server: Server | None = None) -> None:
        folder = index_folder(library.home) / name

        def open_vectors() -> VectorStore:
            if damage := broken_seal(folder):  # opening it could end this process
                raise StoreError(f"{damage}; 'python -m rag doctor --repair'")
            if not manifest.collection:
                return ChromaFolder(folder / "chroma", manifest.talks.values())
            if server is None:
                raise StoreError(
                    f"{folder}: its vectors are on a Chroma server, and neither RAG_CHROMA_URL nor CHROMA_API_KEY is "
                    "set; set it, or ingest once to bring them into the library's folder"
                )
            return ServerVectors(server, manifest.collection, manifest.talks.values())

        self.name = name
        self.manifest = manifest
        self.words = WordArm(folder / "lexical", manifest)
        self.vectors = VectorArm(library, manifest, open_vectors, is_server_set=server is not None)
        self._library = library
        self.select = lru_cache(maxsize=_FILTERS_IN_MEMORY)(manifest.select)
        self.talk = lru_cache(maxsize=_TALKS_IN_MEMORY)(self._talk)
        self.passages = lru_cache(maxsize=_TALKS_IN_MEMORY)(self._passages)
        self._rows = lru_cache(maxsize=_TALKS_IN_MEMORY)(self._row_of)
        self.users = 0
        self.retired = False

    def _talk(self, talk_id: str) -> tuple[StoredTalk, TalkVectors]:
        """The talk and its vectors as published. Raises `StoreError` when they are damaged or gone."""
        info = self.manifest.talks[talk_id]
        stored = self._library.version(talk_id, info.digest)
        vectors = self._library.vectors(stored, self.manifest.model) if stored else None
        if stored is None or vectors is None:
            raise StoreError(f"talk {talk_id}: its content {info.digest} is missing; ingest its captions again")
        return stored, vectors

    def _passages(self, talk_id: str) -> list[Window]:
        """The passages of a talk, in the order of its vectors' rows."""
        return passages(self.talk(talk_id)[0].talk)

    def close(self) -> None:
        """Give back files, connections and memory. Nobody may be asking."""
        self.vectors.close()
        self.words.close()
        for cached in (self.talk, self.passages, self._rows):  # each talk's vectors keep a file open
            cached.cache_clear()

    def _row_of(self, talk_id: str) -> dict[int, int]:
        return {window.first: row for row, window in enumerate(self.passages(talk_id))}

    def row(self, talk_id: str, first: int) -> int:
        """The row of the passage that starts at cue `first` (position) in the talk's vectors."""
        return self._rows(talk_id)[first]

    def sentence_vector(self, talk: Talk, position: int) -> Vectors | None:
        """The stored vector of a cue, shape (dim,); None for a talk as another generation has it."""
        try:
            stored, vectors = self.talk(talk.id)
        except (KeyError, StoreError):
            return None
        return vectors.sentences[position] if stored.talk is talk else None

    def passage(self, talk_id: str, first: int) -> Window:
        """The passage that starts at cue `first` (position)."""
        return self.passages(talk_id)[self.row(talk_id, first)]


class IndexReader:
    """Gives every query the newest published generation. Safe to use from many threads."""

    def __init__(self, home: Path, server: Server | None = None) -> None:
        self._library = Library(home)
        self._server = server
        self._home = home
        self._lock = threading.Lock()
        self._looked_at = 0.0
        self._opening = threading.Lock()  # held by the one thread that opens a generation
        self._generation: Generation | None = None

    @contextmanager
    def generation(self) -> Iterator[Generation | None]:
        """The generation to answer from, kept open inside the block; None when nothing was ever published."""
        self._follow()
        with self._lock:
            generation = self._generation
            if generation is not None:
                generation.users += 1
        try:
            yield generation
        finally:
            if generation is not None:
                with self._lock:
                    generation.users -= 1
                    unused = generation.retired and generation.users == 0
                if unused:
                    generation.close()

    @contextmanager
    def successor(self, failed: Generation) -> Iterator[Generation | None]:
        """The generation that `CURRENT` names by now, opened once for all who ask; None when it is still `failed`."""
        with self._opening:
            name = current_name(self._home)
            if name and self._generation is not None and name != self._generation.name:
                self._open(name)
        with self.generation() as generation:
            yield None if generation is failed else generation

    def close(self) -> None:
        """Give back files and memory once the last query is done."""
        self._swap(None)

    def _follow(self) -> None:
        """Notice a new generation: later ones than the first are opened in the background, so that nobody waits.

        After a while in which nobody asked, it is opened here and now: a talk may have been removed long ago.
        """
        if self._generation is None:
            with self._opening:  # whoever comes first opens it, the others wait for that
                if self._generation is None and (name := current_name(self._home)):
                    self._open(name)
            return
        unseen_s = time.monotonic() - self._looked_at
        if unseen_s < _LOOK_EVERY_S or not self._opening.acquire(blocking=False):
            return
        self._looked_at = time.monotonic()
        name = current_name(self._home)
        if name and name != self._generation.name:
            if unseen_s > _IDLE_S:
                self._open_next(name)
            else:
                threading.Thread(target=self._open_next, args=(name,), name="open-index", daemon=True).start()
        else:
            self._opening.release()

    def _open(self, name: str) -> None:
        manifest = read_manifest(index_folder(self._home) / name)
        if manifest is None:
            raise StoreError(f"{index_folder(self._home) / name}: damaged; 'python -m rag doctor --repair'")
        if not manifest.is_of_this_version:
            made = f"{index_folder(self._home) / name}: made by another version"
            raise StoreError(f"{made}; 'python -m rag doctor --repair' builds it anew")
        self._swap(Generation(self._library, name, manifest, self._server))

    def _open_next(self, name: str) -> None:
        try:
            self._open(name)
        except StoreError as error:
            _log.warning("the old index goes on serving: %s", error)  # the next look tries again
        finally:
            self._opening.release()

    def _swap(self, new: Generation | None) -> None:
        with self._lock:
            old, self._generation = self._generation, new
            unused = old is not None and old.users == 0
            if old is not None:
                old.retired = True
        if old is not None and unused:
            old.close()


def published_talks(home: Path) -> list[TalkInfo]:
    """What can be searched in the library at `home`, sorted by title, without opening any search library's files."""
    manifest = current_manifest(home)
    return sorted(manifest.talks.values() if manifest else (), key=lambda info: (info.title.casefold(), info.id))
