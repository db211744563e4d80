"""Files that survive a crash: written beside, flushed to disk, then renamed into place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from rag.errors import StoreError


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Create or replace `path` with what `write` writes; a reader sees the old file or the new one, never a part.

    Raises `StoreError` when the disk is full or the folder can't be written; then the old file is untouched.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path}: can't be written ({error.strerror or error}); free space or choose another folder"
        ) from error


def create_once(path: Path, content: bytes) -> bytes:
    """Create `path`, for its owner's eyes only, unless it is there; returns what it holds: of two who try, one wins.

    Raises `StoreError` when it can't be written or read.
    """
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                with suppress(FileExistsError):
                    os.link(name, path)
            finally:
                Path(name).unlink()
            sync_folder(path.parent)
        return path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"{path}: can't be made or read ({error.strerror or error}); free space or change its rights"
        ) from error


def sync_folder(folder: Path) -> None:
    """Flush a folder's own entries, so that a rename in it survives a power cut."""
    if os.name == "nt":  # Windows can't open folders, and journals renames by itself
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Flush every file and folder below `folder` to disk."""
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb+") as file:
                os.fsync(file.fileno())


def ensure_folder(folder: Path) -> None:
    """Create `folder` and check that it can be written. Raises `StoreError` naming it otherwise."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise StoreError(
            f"RAG_HOME {folder}: can't be written ({error.strerror or error}); choose another folder with RAG_HOME"
        ) from error


def check_home(folder: Path) -> None:
    """Raise `StoreError` when `folder` can't ever be a folder, because it or one above it is a file."""
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir():
        raise StoreError(f"RAG_HOME {folder}: {above} is a file, expected a folder; choose another with RAG_HOME")
