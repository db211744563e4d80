"""Ingests that are killed at a chosen moment while others search: what is left, and what did the searchers see?

Every process is forked from one that has imported everything, so that a kill costs seconds. An ingest reports by a pipe
what it has committed and which stage it enters and leaves; the functions of the stages are wrapped in that process
alone. Talks are made up: all sentences of one version of a talk share a word that no other version has.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import resource
import signal
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from rag import index
from rag.embed import Vectors
from rag.generations import unpublished
from rag.index import writing
from rag.lexical import LexicalStore
from rag.library import Library, content_digest
from rag.manifest import current_manifest, current_name
from rag.query import Wording
from rag.reader import Generation, IndexReader
from rag.retrieve import retrieve
from rag.types import Cue, Filters, Talk
from rag.vectors import ChromaFolder

# Stage -> the functions that it consists of. What runs between them is called BETWEEN.
STAGES: dict[str, tuple[tuple[Any, str], ...]] = {
    "library commit": ((Library, "put_vectors"), (Library, "put")),
    "generation copy": ((index, "copy_generation"),),
    "Chroma write": ((ChromaFolder, "add_all"), (ChromaFolder, "delete"), (ChromaFolder, "close")),
    "lexical commit": ((LexicalStore, "commit"),),
    "check": ((index, "check"),),
    "publish": ((index, "sync_tree"), (index, "set_current"), (index, "delete_superseded")),
}
BETWEEN = "between these"

_CUES = 12
_FILE_LIMIT_BYTES = 200_000_000  # a damaged store can write a file without end
_LIMIT_S = 120.0
_PAUSE_S = 0.02
_TOKEN = re.compile(r"talk\d+version\d+")

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__, "chromadb", "chromadb.config"])


class WordAxes:
    """A deterministic `Embedder` in which each word is one axis: storage is what is tried here, not meaning."""

    name = "made-up/words"
    dim = 256

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), dim)."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % self.dim] += 1
            row /= np.linalg.norm(row)
        return rows

    def encode_query(self, text: str) -> Vectors:
        """The unit vector of a query, shape (dim,)."""
        vector: Vectors = self.encode_passages([text])[0]
        return vector


def made_up(number: int, version: int) -> Talk:
    """One version of a talk; later versions are longer."""
    texts = [f"talk{number}version{version} says word{n} about talk{number}" for n in range(_CUES + version % 5)]
    cues = tuple(Cue(f"s{n}", n * 1000, n * 1000 + 900, text) for n, text in enumerate(texts, 1))
    return Talk(id=f"talk-{number:03}", title=f"Talk {number}", cues=cues)


@dataclass(frozen=True, slots=True)
class Call:
    """The `nth` call (from 0) of a function of a stage in an ingest, and how long it took when nothing disturbed it."""

    stage: str
    function: str
    nth: int
    seconds: float


@dataclass(slots=True)
class Ingest:
    """What an ingest reported until it ended: committed talks, finished calls, the stage that it was in at the end."""

    committed: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    stage: str = BETWEEN
    done: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A library after it was started again: talk id -> digest in library and index, and what else lies about.

    `found` holds the version's word that a search for each talk gives; "" where it gives none or several.
    """

    library: Mapping[str, str]
    published: Mapping[str, str]
    found: Mapping[str, str]
    leftovers: Sequence[str]


@dataclass(slots=True)
class Seen:
    """What a searcher saw: how many searches, and what was wrong with some."""

    searches: int = 0
    wrong: list[str] = field(default_factory=list)


def ingest(home: Path, talks: Sequence[Talk], kill_in: Call | None = None, fraction: float = 0.0) -> Ingest:
    """Ingest in a process of its own; SIGKILL it, and all it started, when `fraction` of that call should be over."""
    run = Ingest()
    counts: dict[str, int] = {}
    begun = 0.0
    with _process(_ingest, home, talks) as (process, reports):
        for kind, *what in _received(reports):
            if kind == "committed":
                run.committed.add(what[0])
            elif kind == "begin":
                run.stage, begun = what[0], time.perf_counter()
                nth = counts[what[1]] = counts.get(what[1], -1) + 1
                if kill_in is not None and (what[1], nth) == (kill_in.function, kill_in.nth):
                    time.sleep(fraction * kill_in.seconds)
                    os.killpg(process.pid or 0, signal.SIGKILL)
                    kill_in = None
            elif kind == "end":
                run.calls.append(Call(what[0], what[1], counts[what[1]], time.perf_counter() - begun))
                run.stage = BETWEEN
            else:
                run.done, run.error = kind == "done", "".join(what)
    return run


def start_again(home: Path) -> State:
    """What the next start finds: publishes what was committed, ingests nothing, then searches for every talk."""
    with _process(_start_again, home) as (_, reports):
        answers = list(_received(reports))
    if not answers or answers[-1][0] != "state":
        raise RuntimeError(f"the next start failed: {answers}")
    state: State = answers[-1][1]
    return state


@contextmanager
def searching(home: Path) -> Iterator[Seen]:
    """Search all the time in another process; what it saw is complete after the block."""
    seen, stop = Seen(), _context.Event()
    with _process(_search, home, stop) as (_, reports):
        try:
            yield seen
        finally:
            stop.set()
            for kind, searches, wrong in _received(reports):
                seen.searches += searches
                seen.wrong += wrong
                seen.wrong += [] if kind == "end" else [f"the searcher reported {kind}"]
            if not seen.searches:
                seen.wrong.append("the searcher ended without a report")


def some_moment(calls: Sequence[Call], stage: str, chance: random.Random) -> tuple[Call, float]:
    """A call of a stage, and how much of it should be over when the kill comes."""
    return chance.choice([call for call in calls if call.stage == stage]), chance.random()


@contextmanager
def _process(target: Callable[..., None], *arguments: object) -> Iterator[tuple[BaseProcess, Connection]]:
    here, there = _context.Pipe(duplex=False)
    process = _context.Process(target=_limited, args=(target, there, *arguments))
    process.start()
    there.close()
    try:
        yield process, here
        process.join(_LIMIT_S)
    finally:
        if process.is_alive():
            process.kill()
            process.join()
        here.close()


def _received(reports: Connection) -> Iterator[tuple[Any, ...]]:
    """Everything that a process reports until it ends."""
    while reports.poll(_LIMIT_S):
        try:
            yield reports.recv()
        except EOFError:
            return
    raise TimeoutError(f"a process reported nothing for {_LIMIT_S:.0f} s")


def _limited(target: Callable[..., None], *arguments: object) -> None:
    os.setsid()  # so that a kill takes along what it starts
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_LIMIT_BYTES, _FILE_LIMIT_BYTES))
    target(*arguments)


def _ingest(reports: Connection, home: Path, talks: Sequence[Talk]) -> None:
    for stage, functions in STAGES.items():
        for owner, name in functions:
            _report(owner, name, stage, reports)
    said: list[str] = []
    try:
        with writing(home, WordAxes(), say=said.append) as writer:
            for talk in talks:
                writer.put(talk)
                reports.send(("committed", talk.id))
    except Exception as error:  # the process that started this one says it
        reports.send(("failed", f"{error!r}; {said}"))
    else:
        reports.send(("done", "; ".join(said)))


def _report(owner: Any, name: str, stage: str, reports: Connection) -> None:
    """Have a function report when it begins and ends."""
    original = getattr(owner, name)
    label = f"{owner.__name__}.{name}"

    @wraps(original)
    def reporting(*arguments: Any, **named: Any) -> Any:
        reports.send(("begin", stage, label))
        try:
            return original(*arguments, **named)
        finally:
            reports.send(("end", stage, label))

    setattr(owner, name, reporting)


def _start_again(reports: Connection, home: Path) -> None:
    with writing(home, WordAxes()):
        pass
    library = Library(home)
    manifest = current_manifest(home)
    published = {} if manifest is None else {talk_id: info.digest for talk_id, info in manifest.talks.items()}
    reader = IndexReader(home)
    with reader.generation() as generation:
        found = {talk_id: _found(generation, talk_id) for talk_id in published} if generation else {}
    reader.close()
    stored = {talk_id: library.get(talk_id) for talk_id in library.ids()}
    leftovers = [str(path) for path in (*library.leftovers(), *unpublished(home, current_name(home)))]
    digests = {talk_id: content_digest(talk) for talk_id, talk in stored.items()}
    reports.send(("state", State(digests, published, found, leftovers)))


def _found(generation: Generation, talk_id: str) -> str:
    """The word of the version that a search for a talk over all talks gives; "" for none or several."""
    query = f"talk{int(talk_id.removeprefix('talk-'))}"
    hits = retrieve(generation, Wording(query, WordAxes().encode_query(query)), 3, Filters()).hits
    words = {word for hit in hits if hit.talk.id == talk_id for cue in hit.cues for word in _TOKEN.findall(cue.text)}
    return words.pop() if len(words) == 1 else ""


def _search(reports: Connection, home: Path, stop: Event) -> None:
    reader, seen, chance = IndexReader(home), Seen(), random.Random(7)
    while not stop.is_set():
        try:
            with reader.generation() as generation:
                if generation is not None:
                    seen.wrong += _halves(generation, chance)
                    seen.searches += 1
        except Exception as error:  # any failure at all is what this looks for
            seen.wrong.append(repr(error))
        time.sleep(_PAUSE_S)
    reader.close()
    reports.send(("end", seen.searches, seen.wrong))


def _halves(generation: Generation, chance: random.Random) -> list[str]:
    """What is wrong with one search: passages that are missing or too many, text of another version."""
    wrong = []
    talk_id = chance.choice(sorted(generation.manifest.talks))
    query = f"talk{int(talk_id.removeprefix('talk-'))}"
    vector = WordAxes().encode_query(query)
    windows = generation.manifest.talks[talk_id].windows
    by_words = len(generation.words.best(query, 1000, talk_ids={talk_id}))
    everything = generation.vectors.nearest(vector, generation.manifest.windows)
    by_vector = sum(found.talk_id == talk_id for found in everything)
    if not by_words == by_vector == windows:
        wrong.append(f"{generation.name} {talk_id}: {by_words} and {by_vector} passages, published {windows}")
    evidence = retrieve(generation, Wording(query, vector), 5, Filters())
    if evidence.notice:
        wrong.append(f"{generation.name}: {evidence.notice}")
    for hit in evidence.hits:
        if content_digest(hit.talk) != generation.manifest.talks[hit.talk.id].digest:
            wrong.append(f"{generation.name} {hit.talk.id}: the text of another version")
    if not any(hit.talk.id == talk_id for hit in evidence.hits):
        wrong.append(f"{generation.name} {talk_id}: not found")
    return wrong
