"""The index's generations: lock, build, check, publish. Readers are in `rag.reader`.

A published generation never changes. A writer copies the current one, changes the copy, has it checked by a process of
its own and then switches the name in `CURRENT`. A killed writer leaves only an unpublished folder behind, which the
next one deletes. Embedded Chroma needs this: a second process, or a kill in the middle of a write, can damage the
folder that is open. With a Chroma server a generation holds the words alone, and its manifest names the collection on
the server that keeps the vectors (`rag.refill`).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from rag.check import problem_of
from rag.embed import Embedder, Vectors
from rag.errors import StartError, StoreError
from rag.files import ensure_folder, sync_tree
from rag.generations import copy_generation, delete_superseded, delete_unpublished, next_name
from rag.lexical import LexicalStore
from rag.library import Library, StoredTalk, content_digest, embedded_texts, text_digest
from rag.manifest import (
    Manifest,
    current_manifest,
    current_name,
    describe,
    index_folder,
    read_manifest,
    set_current,
    write_manifest,
)
from rag.refill import collection_name, is_complete, refill, tidy
from rag.seal import broken_seal, write_seal
from rag.server import Server
from rag.types import Talk
from rag.vectors import ChromaFolder

Say = Callable[[str], None]
Outcome = Literal["added", "replaced", "unchanged"]

_CHECK_LIMIT_S = 600

# Deleting from Chroma's graph can put other passages out of reach: up to this size, where it takes seconds, the index
# is built anew instead; beyond it the check measures what is found.
_QUICK_TO_BUILD = 5000


def _silent(_: str) -> None:
    """Say nothing."""


@contextmanager
def writing(
    home: Path, embedder: Embedder, *, server: Server | None = None, wait_s: float = 0, say: Say = _silent
) -> Iterator[Writer]:
    """Hold the one writer's lock on the library at `home`; on leaving the block, publish what was committed.

    `server` keeps the vectors; without one each generation keeps them in its own folder.
    A second writer waits `wait_s` seconds and then raises `StartError`. The lock dies with its process. When the block
    raises, what was committed until then is still published, so that nothing reported as stored is missing.
    """
    with _locked(home, wait_s, say):
        library = Library(home)
        library.discard_leftovers()
        writer = Writer(library, embedder)

        def publish_stored(anew: bool = False) -> None:
            if library.ids() or current_name(
                home
            ):  # else there is nothing to publish, and no model to be loaded for it
                publish(library, embedder.name, embedder.dim, say, server, anew=anew)

        try:
            yield writer
        except BaseException:
            try:
                publish_stored()
            except StoreError as error:
                say(str(error))  # what the block raised is what the caller must see
            raise
        publish_stored(writer.builds_anew)


@contextmanager
def _locked(home: Path, wait_s: float, say: Say) -> Iterator[None]:
    ensure_folder(home)
    lock = FileLock(home / "writer.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{home}: another process is writing, waiting up to {wait_s:.0f} s")
        try:
            lock.acquire(timeout=wait_s)
        except Timeout:
            raise StartError(
                f"{home}: locked by another writer for over {wait_s:.0f} s; let it finish, or wait longer with --wait"
            ) from None
    try:
        yield
    finally:
        lock.release()


def is_writing(home: Path) -> bool:
    """True while a process holds the writer's lock on the library at `home`."""
    path = home / "writer.lock"
    if not os.access(path, os.W_OK):
        return False  # nobody ever wrote, or nobody can
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


class Writer:
    """Commits talks to the library, one by one; `writing` publishes them together."""

    def __init__(self, library: Library, embedder: Embedder) -> None:
        self.library = library
        self.builds_anew = False
        self._embedder = embedder

    def put(self, talk: Talk) -> Outcome:
        """Store or replace a talk as a whole; the model runs only when its words are new."""
        old = self.library.sound_record(talk.id)
        if old is not None and old.digest == content_digest(talk) and self._has_vectors(old):
            return "unchanged"
        new = StoredTalk(talk, content_digest(talk), text_digest(talk))
        if not self._has_vectors(new):
            self.embed(new)
        self.library.put(new)
        return "added" if old is None else "replaced"

    def reembed(self) -> int:
        """Give every stored talk vectors of this writer's model; returns how many talks had none."""
        missing = 0
        for talk_id in self.library.ids():
            stored = self.library.sound_record(talk_id)
            if stored is not None and not self._has_vectors(stored):
                self.embed(stored)
                missing += 1
        return missing

    def remove(self, talk_id: str) -> None:
        """Forget a talk. Raises `UsageError` when there is none of that id."""
        self.library.remove(talk_id)

    def build_anew(self) -> None:
        """Have the index built from the library alone, for when the published one is known to be damaged."""
        self.builds_anew = True

    def embed(self, stored: StoredTalk) -> None:
        """Store vectors of this writer's model for a talk."""
        vectors = self._embedder.encode_passages(embedded_texts(stored.talk))
        self.library.put_vectors(stored, vectors, self._embedder.name)

    def _has_vectors(self, stored: StoredTalk) -> bool:
        return self.library.vectors(stored, self._embedder.name) is not None


def removing(home: Path, talk_id: str, *, server: Server | None = None, wait_s: float = 0, say: Say = _silent) -> None:
    """Remove one talk and publish, without loading any model. Raises `UsageError` for an unknown talk."""
    current = current_manifest(home)
    with _locked(home, wait_s, say):
        library = Library(home)
        library.remove(talk_id)
        if current is not None:
            publish(library, current.model, current.dim, say, server)


def publish(
    library: Library, model: str, dim: int, say: Say = _silent, server: Server | None = None, *, anew: bool = False
) -> str:
    """Bring the index up to the library's state; the name of the published generation, "" while there was no talk.

    Call with the writer's lock held. Copies and changes the current generation, or builds anew from the library's
    vectors (nothing is embedded) when there is none, it is damaged, it belongs to another model, way of making texts or
    place for vectors, `anew` says so, or the changed copy fails its check. What a server lost is added again, whether
    or not anything changed.
    """
    home = library.home
    wanted = _indexable(library, model, say)
    name = current_name(home)
    if not name and not wanted:
        return ""  # an ingest in which everything failed leaves no trace
    collection = collection_name(library, model, dim) if server else ""
    manifest = Manifest(model, dim, {talk_id: describe(stored) for talk_id, stored in wanted.items()}, collection)
    current = current_manifest(home)
    other = "it is damaged" if anew else ""
    if current is not None and not other:
        other = current.unlike(manifest) or _damage(home, name, current)
    base = None if other else current
    if other:
        say(f"building the index anew: {other} ({manifest.windows} passages)")
    is_new = base is None or base.digests != manifest.digests
    try:
        if not is_new and (server is None or is_complete(library, manifest, server)):
            return name
        if server is not None:
            refill(library, manifest, server, base.digests if base else {}, say)
        if is_new:
            name = _publish_new(library, base, name, manifest, wanted, say, server)
    except StoreError as error:
        raise StoreError(f"{error}; the talks are stored, and the next ingest publishes them all") from error
    delete_superseded(library, home)
    if server is not None:
        tidy(library, manifest, server, say)
    return name


def _publish_new(
    library: Library,
    base: Manifest | None,
    name: str,
    manifest: Manifest,
    wanted: dict[str, StoredTalk],
    say: Say,
    server: Server | None,
) -> str:
    """Make a generation that holds what the manifest says, and publish it; its name. `base` is the current one."""
    home = library.home
    delete_unpublished(home, name)
    target = index_folder(home) / next_name(home)
    try:
        changed = _copy_and_change(library, base, name, target, manifest, wanted, say, server)
        if not changed:
            shutil.rmtree(target, ignore_errors=True)
            _change(library, target, [], list(wanted.values()), manifest)
            if problem := check(library, target, server):
                raise StoreError(f"{target}: a newly built index fails its check ({problem}); nothing was published")
        write_seal(target)
        sync_tree(target)
        set_current(home, target.name)
    except (OSError, sqlite3.Error, StoreError) as error:
        shutil.rmtree(target, ignore_errors=True)  # a full disk needs the room, and nobody can have it open
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{target}: the index can't be written ({error}); free space") from error
    return target.name


def _damage(home: Path, name: str, manifest: Manifest) -> str:
    """What is visibly wrong with the published generation, "" when nothing is: cheap enough for every ingest."""
    generation = index_folder(home) / name
    try:
        words = LexicalStore(generation / "lexical").size()
    except StoreError as error:
        return str(error)
    if words != manifest.windows:
        return f"{words} passages in its word index, expected {manifest.windows}"
    if manifest.collection:
        return ""
    if not (generation / "chroma" / "chroma.sqlite3").is_file():
        return f"{generation / 'chroma'}: missing"
    return broken_seal(generation)


def _indexable(library: Library, model: str, say: Say) -> dict[str, StoredTalk]:
    """All talks with vectors of this model. A damaged or missing file costs one talk, and is said."""
    wanted = {}
    for talk_id in library.ids():
        try:
            stored = library.record(talk_id)
        except StoreError as error:
            say(str(error))
            continue
        if stored is None:
            continue
        if library.vectors(stored, model) is None:
            say(f"talk {talk_id}: no vectors of {model}, so not searchable; 'python -m ingest --reembed' adds them")
            continue
        wanted[talk_id] = stored
    return wanted


def _copy_and_change(
    library: Library,
    current: Manifest | None,
    name: str,
    target: Path,
    manifest: Manifest,
    wanted: dict[str, StoredTalk],
    say: Say,
    server: Server | None,
) -> bool:
    """Make `target` from the current generation; False when there is none, or the copy is not fit to be published."""
    if current is None:
        return False
    gone = [talk_id for talk_id, info in current.talks.items() if _differs(manifest, info.id, info.digest)]
    if gone and server is None and manifest.windows <= _QUICK_TO_BUILD:
        return False
    try:
        copy_generation(index_folder(library.home) / name, target, with_chroma=server is None)
        new = [stored for talk_id, stored in wanted.items() if _differs(current, talk_id, stored.digest)]
        _change(library, target, gone, new, manifest)
        problem = check(library, target, server)
    except (StoreError, sqlite3.Error, shutil.Error) as error:
        problem = str(error)
    if problem:
        say(f"building the index anew from the library: the current one can't be built upon ({problem})")
    return not problem


def _differs(manifest: Manifest, talk_id: str, digest: str) -> bool:
    info = manifest.talks.get(talk_id)
    return info is None or info.digest != digest


def _change(library: Library, target: Path, gone: list[str], new: list[StoredTalk], manifest: Manifest) -> None:
    # With a server the vectors are there already.
    store = None if manifest.collection else ChromaFolder(target / "chroma", create=True)
    try:
        words = LexicalStore(target / "lexical", create=True)
        for talk_id in gone:
            if store is not None:
                store.delete(talk_id)
            words.delete(talk_id)
        if store is not None:
            store.add_all((stored, _passage_vectors(library, stored, manifest.model)) for stored in new)
        for stored in new:
            words.add(stored)
        words.commit()
    finally:
        if store is not None:
            store.close()
    write_manifest(target, manifest)


def _passage_vectors(library: Library, stored: StoredTalk, model: str) -> Vectors:
    vectors = library.vectors(stored, model)
    if vectors is None:
        raise StoreError(f"talk {stored.talk.id}: its vectors vanished while the index was built")
    return vectors.passages


def check(library: Library, generation: Path, server: Server | None = None) -> str:
    """Check a generation; "" when it is sound, else what is wrong.

    In a process of its own, because a damaged Chroma folder can end the process that opens it; a server can't do that.
    """
    manifest = read_manifest(generation)
    if manifest is not None and manifest.collection:
        try:
            return problem_of(library, generation.name, server)
        except StoreError as error:
            return str(error)
    command = [sys.executable, "-m", "rag.check", str(library.home), generation.name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {_CHECK_LIMIT_S} s"
    if done.returncode == 0:
        return ""
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[-1] if lines else f"the check ended with code {done.returncode}"
