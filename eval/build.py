"""A data folder -> a library of its talks, kept between runs under a name made from the talks' content and the model.

Ingest runs every time: it embeds only what has changed, so a kept library always holds what today's code would store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

from eval.dataset import caption_files, digest
from ingest.pipeline import Options, ingest
from rag import index
from rag.embed import Embedder
from rag.errors import InputError
from rag.library import Library
from rag.types import Talk

LOCK_WAIT_S = 600.0

Say = Callable[[str], None]


def default_cache() -> Path:
    """Where libraries are kept between runs."""
    return Path(platformdirs.user_cache_dir("talkcite")) / "eval"


def library_home(folder: Path, embedder: Embedder, cache: Path) -> Path:
    """The folder of the library for this data and model."""
    return library_of(caption_files(folder), folder.resolve().name, embedder, cache)


def library_of(captions: Sequence[Path], name: str, embedder: Embedder, cache: Path) -> Path:
    """The folder of the library of these captions and this model, named after both."""
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", embedder.name)
    return cache / f"{name}-{digest(captions)}-{model}"


def build(folder: Path, embedder: Embedder, cache: Path, say: Say) -> Path:
    """Bring the library of a data folder up to date and return its home.

    Raises `InputError` when a caption file can't be read: half a corpus gives numbers that mean nothing.
    """
    home = library_home(folder, embedder, cache)
    say(f"{folder.name}: library in {home}")
    with index.writing(home, embedder, wait_s=LOCK_WAIT_S, say=say) as writer:
        report = ingest(caption_files(folder), writer, Options())
    failed = [entry.path for entry in report.files if entry.status == "failed"]
    if failed:
        raise InputError(
            f"{folder}: {len(failed)} of {len(report.files)} caption files can't be read, first {failed[0]}; "
            "'python -m ingest --check' says why; expected a data folder that can be read as a whole"
        )
    return home


def read_talks(home: Path) -> dict[str, Talk]:
    """All talks of a library by id."""
    library = Library(home)
    return {talk_id: library.get(talk_id) for talk_id in library.ids()}
