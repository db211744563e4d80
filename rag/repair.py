"""Put right what `rag.doctor` finds and files alone can mend: `python -m rag doctor --repair`.

The only copy of anything is never deleted: a damaged talk is set aside under another name.
"""

from __future__ import annotations

from pathlib import Path

from rag.doctor import survey, words_found
from rag.embed import Embedder, canonical_name, load_embedder
from rag.errors import StoreError
from rag.generations import delete_unpublished
from rag.index import Say, check, writing
from rag.isolated import in_own_process
from rag.library import Library
from rag.manifest import Manifest, current_manifest, current_name, index_folder, read_manifest
from rag.server import Server, server_of
from rag.settings import Settings

_WORDS_LIMIT_S = 60


def repair(settings: Settings, say: Say, embedder: Embedder | None = None, *, wait_s: float = 60) -> None:
    """Set damaged talks aside, embed what has no vectors, delete leftovers, build a damaged index anew.

    Holds the writer's lock meanwhile; raises `StartError` when another writer keeps it for over `wait_s` seconds.
    """
    home = settings.home
    last = _last_manifest(home)
    embedder = embedder or load_embedder(last.model if last else canonical_name(settings.embed_model))
    server = server_of(settings)
    with writing(home, embedder, server=server, wait_s=wait_s, say=say) as writer:
        delete_unpublished(home, current_name(home))
        found = survey(writer.library, embedder.name)
        for talk_id in found.damaged:
            aside = writer.library.set_aside(talk_id)
            info = last.talks.get(talk_id) if last else None
            captions = info.source if info and info.source else "its captions"
            say(f"talk {talk_id}: damaged, set aside as {aside}; ingest {captions} again")
        for stored in found.without_vectors:
            writer.embed(stored)
            say(f"talk {stored.talk.id}: embedded again with {embedder.name}")
        if found.without_vectors or _is_damaged(writer.library, server):
            writer.build_anew()


def _is_damaged(library: Library, server: Server | None) -> bool:
    name = current_name(library.home)
    if not name:
        return False  # none there yet: it is built anyway
    if check(library, index_folder(library.home) / name, server):
        return True
    try:
        in_own_process(words_found, library.home, limit_s=_WORDS_LIMIT_S)
    except StoreError:
        return True
    return False


def _last_manifest(home: Path) -> Manifest | None:
    """The published table of contents, else that of the newest generation that has one."""
    if current := current_manifest(home):
        return current
    folders = sorted(index_folder(home).glob("gen-*"), reverse=True)
    return next((manifest for folder in folders if (manifest := read_manifest(folder))), None)
