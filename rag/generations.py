"""The folders of index generations: copy one, name the next, delete those that nobody needs."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path

from rag.files import sync_folder
from rag.library import Library
from rag.manifest import Manifest, current_name, index_folder, read_manifest

# How long a superseded generation stays: removing it under a reader makes that reader's queries fail.
KEEP_S = 600


def copy_generation(source: Path, target: Path, *, with_chroma: bool) -> None:
    """Copy a published generation that readers may have open; SQLite's own backup keeps its file consistent.

    Without Chroma where a server keeps the vectors.
    """

    def left_out(_: str, names: list[str]) -> list[str]:
        return [n for n in names if n.startswith(("chroma.sqlite3", ".tantivy-", "manifest.json", "seal.json"))]

    shutil.copytree(source, target, ignore=left_out)
    if not with_chroma:
        return
    with (
        sqlite3.connect(f"file:{source / 'chroma' / 'chroma.sqlite3'}?mode=ro", uri=True) as old,
        sqlite3.connect(target / "chroma" / "chroma.sqlite3") as new,
    ):
        old.backup(new)
    old.close()
    new.close()


def _generations(home: Path) -> list[Path]:
    return sorted(path for path in index_folder(home).glob("gen-*") if path.is_dir())


def next_name(home: Path) -> str:
    """The name for a new generation: names grow, so that their order is the order of publishing."""
    numbers = [int(path.name.removeprefix("gen-")) for path in _generations(home)]
    return f"gen-{max(numbers, default=0) + 1:06}"


def unpublished(home: Path, current: str) -> list[Path]:
    """Generations after the current one, which no reader has open: of the writer at work, or of one that was killed."""
    return [path for path in _generations(home) if path.name > current]


def delete_unpublished(home: Path, current: str) -> None:
    """Delete what a killed writer left. Call with the writer's lock held."""
    for path in unpublished(home, current):
        shutil.rmtree(path, ignore_errors=True)


def delete_superseded(library: Library, home: Path) -> None:
    """Delete generations that no reader can still have open, and the library's files that only they needed."""
    name = current_name(home)
    older = [path for path in _generations(home) if path.name < name]
    for path in older[:-1]:  # the predecessor always stays
        if time.time() - _superseded_at(path) > KEEP_S:
            shutil.rmtree(path, ignore_errors=True)
    in_use = set()
    for manifest in kept_manifests(home):
        for info in manifest.talks.values():
            in_use |= {(info.id, info.digest), (info.id, info.text_digest)}
    library.discard_unused(in_use)
    sync_folder(index_folder(home))


def kept_manifests(home: Path) -> list[Manifest]:
    """The tables of contents of all generations that are kept, oldest first."""
    return [manifest for path in _generations(home) if (manifest := read_manifest(path)) is not None]


def _superseded_at(path: Path) -> float:
    """When the generation after `path` was published, in seconds since the epoch."""
    later = [p for p in _generations(path.parent.parent) if p.name > path.name and (p / "manifest.json").exists()]
    return (later[0] / "manifest.json").stat().st_mtime if later else time.time()
