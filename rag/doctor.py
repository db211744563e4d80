"""What is wrong with this installation and its library, and how to repair it: `python -m rag doctor`.

Nothing here changes a file. Whatever opens the index runs in a process of its own.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from rag import __version__
from rag.embed import Embedder, Vectors, canonical_name
from rag.engine import Engine
from rag.errors import NewerFormat, StoreError, TalkciteError
from rag.files import check_home
from rag.generations import unpublished
from rag.index import check, is_writing
from rag.isolated import in_own_process
from rag.lexical import LexicalStore
from rag.library import Library, StoredTalk
from rag.llms import load_llm, try_out
from rag.manifest import current_manifest, current_name, index_folder
from rag.server import server_of
from rag.settings import Settings

REPAIR = "python -m rag doctor --repair"

_PACKAGES = ("chromadb", "tantivy", "sentence-transformers", "torch")
_LOW_SPACE_BYTES = 1_000_000_000
_SEARCH_LIMIT_S = 180  # it loads the model, which on a cold disk takes a while
_WORDS_LIMIT_S = 60
_SAMPLES = 3
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what was `found`, in one line, and where that is not `ok`, how to `repair` it."""

    name: str
    ok: bool
    found: str
    repair: str = ""


@dataclass(slots=True)
class Survey:
    """What lies in a library: talk id -> what is the matter with it, by kind, and id -> digest of the sound ones."""

    cues: int = 0
    digests: dict[str, str] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    newer: dict[str, str] = field(default_factory=dict)
    without_vectors: list[StoredTalk] = field(default_factory=list)


def examine(settings: Settings, embedder: Embedder | None = None) -> list[Check]:
    """Look at everything; `embedder` replaces the model of the index (it must be picklable).

    Raises `StoreError` when the home can't be a folder.
    """
    home = settings.home
    check_home(home)
    library = Library(home)
    manifest = current_manifest(home)
    wanted = canonical_name(settings.embed_model)
    found = survey(library, manifest.model if manifest else wanted)
    is_busy = is_writing(home)
    return [
        _versions(),
        _home(home),
        Check("lock", True, "another process is writing at this moment" if is_busy else "no other writer"),
        _talks(library, found),
        _vectors(found, manifest.model if manifest else wanted),
        _index(settings, library, found, is_busy),
        _words(home),
        _search(settings, embedder),
        _leftovers(library, is_busy),
        _language_model(settings),
    ]


def survey(library: Library, model: str) -> Survey:
    """Read every talk of a library, and its vectors of `model`."""
    found = Survey()
    for talk_id in library.ids():
        try:
            stored = library.record(talk_id)
        except NewerFormat as error:
            found.newer[talk_id] = str(error)
            continue
        except StoreError as error:
            found.damaged[talk_id] = str(error)
            continue
        if stored is None:
            continue  # removed meanwhile
        found.cues += len(stored.talk.cues)
        found.digests[talk_id] = stored.digest
        vectors = library.vectors(stored, model)
        if vectors is None or not all(_are_unit(rows) for rows in (vectors.passages, vectors.sentences)):
            found.without_vectors.append(stored)
    return found


def _are_unit(rows: Vectors) -> bool:
    """True for rows of length 1, or 0: a text without a meaning. NaN is neither."""
    lengths = np.linalg.norm(rows, axis=1)
    return bool(np.all((np.abs(lengths - 1) < 1e-2) | (lengths == 0)))


def _versions() -> Check:
    found = [f"talkcite {__version__}", f"python {platform.python_version()}"]
    missing = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        return Check("versions", False, f"not installed: {', '.join(missing)}", "pip install .")
    return Check("versions", True, ", ".join(found))


def _home(home: Path) -> Check:
    there = next(path for path in (home, *home.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    found = f"{home.absolute()}, {free / 1e9:.1f} GB free"
    if not os.access(there, os.W_OK | os.X_OK):
        return Check("home", False, f"{found}, can't be written", "make it writable, or choose another with RAG_HOME")
    if free < _LOW_SPACE_BYTES:
        return Check("home", False, found, "free space: an ingest copies the index before it changes it")
    return Check("home", True, found if home.exists() else f"{found}, not created yet")


def _talks(library: Library, found: Survey) -> Check:
    counts = f"{len(found.digests):,} talks, {found.cues:,} cues"
    if found.damaged:
        what = f"{counts}; damaged: {_some(found.damaged)}"
        return Check("library", False, what, f"'{REPAIR}' sets them aside; then ingest their captions again")
    if found.newer:
        what = f"{counts}; written by a newer version: {_some(found.newer)}"
        return Check("library", False, what, "update talkcite")
    hint = "" if found.digests else f"; add some to {library.home} with 'python -m ingest PATH'"
    return Check("library", True, counts + hint)


def _vectors(found: Survey, model: str) -> Check:
    if not found.without_vectors:
        return Check("vectors", True, f"every talk has vectors of {model}")
    missing = [stored.talk.id for stored in found.without_vectors]
    what = f"{len(missing):,} talks without sound vectors of {model}: {_some(missing)}"
    return Check("vectors", False, what, f"'{REPAIR}' embeds them again")


def _index(settings: Settings, library: Library, found: Survey, is_busy: bool) -> Check:
    home = library.home
    wanted = canonical_name(settings.embed_model)
    rebuild = f"'{REPAIR}' builds it from the library, without embedding"
    name = current_name(home)
    if not name:
        ok = is_busy or not found.digests
        return Check("index", ok, "nothing is published yet", "" if ok else rebuild)
    manifest = current_manifest(home)
    if manifest is None:
        return Check("index", False, f"{name}: its table of contents is missing or damaged", rebuild)
    if not manifest.is_of_this_version:
        return Check("index", False, f"{name}: it was made by another version", rebuild)
    if problem := check(library, index_folder(home) / name, server_of(settings)):
        return Check("index", False, f"{name}: {problem}", rebuild)
    published = {talk_id: info.digest for talk_id, info in manifest.talks.items()}
    unpublished = {talk_id for talk_id, digest in found.digests.items() if published.get(talk_id) != digest}
    gone = published.keys() - found.digests.keys()
    parts = [f"{name}: {manifest.windows:,} passages of {len(published):,} talks, made with {manifest.model}"]
    if unpublished:
        parts.append(f"not yet in it as stored: {_some(unpublished)}")
    if gone:
        parts.append(f"no longer in the library: {_some(gone)}")
    if manifest.model != wanted:
        count = len(found.digests)
        parts.append(f"RAG_EMBED_MODEL is {wanted}: 'python -m ingest --reembed' would embed {count:,} talks with it")
    ok = is_busy or not (unpublished or gone)
    return Check("index", ok, "; ".join(parts), "" if ok else rebuild)


def _words(home: Path) -> Check:
    try:
        return Check("words", True, in_own_process(words_found, home, limit_s=_WORDS_LIMIT_S))
    except StoreError as error:
        return Check("words", False, str(error), f"'{REPAIR}' builds the index from the library")


def words_found(home: Path) -> str:
    """How many passages the word index holds. Raises `StoreError` when it is not what was published."""
    manifest = current_manifest(home)
    if manifest is None:
        return "nothing is published yet"
    folder = index_folder(home) / current_name(home) / "lexical"
    count = LexicalStore(folder).size()
    if count != manifest.windows:
        raise StoreError(f"{folder}: {count:,} passages, expected {manifest.windows:,}")
    return f"{count:,} passages"


def _search(settings: Settings, embedder: Embedder | None) -> Check:
    if current_manifest(settings.home) is None:
        return Check("search", True, "nothing is published yet")
    quiet = settings.model_copy(update={"llm": "off"})
    try:
        return Check("search", True, in_own_process(sentences_found, quiet, embedder, limit_s=_SEARCH_LIMIT_S))
    except StoreError as error:
        return Check("search", False, str(error), f"'{REPAIR}' builds the index from the library")


def sentences_found(settings: Settings, embedder: Embedder | None) -> str:
    """Search for stored sentences, model and all. Raises `StoreError` when one is not its own best hit."""
    with Engine(settings, embedder) as engine:
        infos = engine.talks()
        tried = 0
        for info in infos[:: max(1, len(infos) // _SAMPLES)][:_SAMPLES]:
            spoken = [cue.text for cue in engine.talk(info.id).cues if not cue.is_sound_label]
            if not spoken:
                continue
            sentence = max(spoken, key=len)
            evidence = engine.evidence(sentence, 1)
            if evidence.notice:  # it answered without a part of the index
                raise StoreError(evidence.notice)
            hits = evidence.hits
            # The same sentence may be in several talks, of which any is right.
            if not hits or sentence not in (cue.text for cue in hits[0].talk.cues):
                raise StoreError(f"talk {info.id}: the search does not find its sentence {sentence[:60]!r}")
            tried += 1
    return f"{tried} stored sentences found themselves"


def _leftovers(library: Library, is_busy: bool) -> Check:
    paths = [*library.leftovers(), *unpublished(library.home, current_name(library.home))]
    if not paths:
        return Check("leftovers", True, "none")
    if is_busy:
        return Check("leftovers", True, f"{len(paths)} files and folders of the writer at work")
    names = [str(path.relative_to(library.home)) for path in paths]
    return Check("leftovers", False, f"of an ingest that was stopped: {_some(names)}", f"'{REPAIR}' deletes them")


def _language_model(settings: Settings) -> Check:
    if not settings.uses_llm:
        return Check("llm", True, "off: answers are quotes")
    try:
        llm = load_llm(settings)
        assert llm is not None, "uses_llm says that there is one"
        try:
            try_out(llm)
        finally:
            llm.close()
    except TalkciteError as error:
        return Check("llm", False, str(error), "until then answers are quotes; RAG_LLM=off chooses that")
    host = "this machine" if settings.llm_is_local else urlsplit(settings.llm_base_url).hostname or "api.openai.com"
    return Check("llm", True, f"{llm.name} at {host} answers")


def _some(names: Iterable[str]) -> str:
    """The first few names, and how many more."""
    listed = sorted(names)
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
