"""How search time, memory and disk grow with the library: `python -m eval bench --scale N`.

Talks and vectors are made up, but clustered as those of talks are: each talk has a few of 2,000 topics, and its
passages lie around them. The library doubles until it holds N passages; each step is measured in the same way. CPU
time is taken, since such a run lasts for hours in which the machine has other things to do.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag.embed import Vectors
from rag.index import publish
from rag.library import Library, StoredTalk, content_digest, text_digest
from rag.query import Wording
from rag.reader import Generation, IndexReader
from rag.retrieve import retrieve
from rag.types import Cue, Filters, Talk
from rag.windows import passages

MODEL, DIM = "made-up/scale", 384
SMALLEST = 12_500  # passages of the first step
_CUES = 200
_WINDOWS_A_TALK = 65
_TOPICS, _TOPICS_A_TALK = 2000, 5
_SPREAD = 0.7  # of a passage around its topic
_QUERIES = 60
_SEED = 7


@dataclass(frozen=True, slots=True)
class Step:
    """What a library of so many passages costs. Times are CPU time; a search is one without embedding the query."""

    windows: int
    added: int
    add_s: float
    search_ms: float
    within_talk_ms: float
    chroma_ms: float
    memory_mb: float
    index_mb: float
    library_mb: float


def grow(home: Path, most: int, say: Callable[[str], None]) -> Iterator[Step]:
    """Double a made-up library below the empty folder `home` until it holds `most` passages, measuring each step."""
    maker = _Maker(Library(home))
    wanted = min(SMALLEST, most)
    while True:
        before = maker.windows
        while maker.windows < wanted:
            maker.put()
        say(f"{maker.windows:,} passages: building the index …")
        started = _cpu_s()
        publish(maker.library, MODEL, DIM, say)
        yield _measured(maker, maker.windows - before, _cpu_s() - started)
        if wanted >= most:
            return
        wanted = min(2 * wanted, most)


class _Maker:
    """Makes talks up and stores them."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.windows = 0
        self._random = np.random.default_rng(_SEED)
        self._topics = self._random.standard_normal((_TOPICS, DIM), np.float32)
        self._talks = 0

    def put(self) -> None:
        """Store one more talk."""
        number = self._talks
        texts = (f"talk{number} says word{n % 50} of topic{number % 97}" for n in range(_CUES))
        cues = tuple(Cue(f"s{n}", n * 3000, n * 3000 + 2900, text) for n, text in enumerate(texts, 1))
        talk = Talk(self.talk_id(number), f"Talk {number}", cues)
        stored = StoredTalk(talk, content_digest(talk), text_digest(talk))
        count = len(passages(talk)) + _CUES
        own = self._topics[self._random.choice(_TOPICS, _TOPICS_A_TALK)]
        rows = own[np.arange(count) * _TOPICS_A_TALK // count]
        rows = rows + _SPREAD * self._random.standard_normal((count, DIM), np.float32)
        self.library.put_vectors(stored, rows / np.linalg.norm(rows, axis=1, keepdims=True), MODEL)
        self.library.put(stored)
        self.windows += len(passages(talk))
        self._talks += 1

    def queries(self) -> Iterator[tuple[str, Wording]]:
        """Talk ids, each with a question that is near to one of its passages: a cosine of about .7."""
        for number in np.random.default_rng(_SEED).choice(self._talks, _QUERIES):
            stored = self.library.record(self.talk_id(int(number)))
            vectors = self.library.vectors(stored, MODEL) if stored else None
            assert vectors is not None, "put() stored them"
            near = vectors.passages[int(number) % len(vectors.passages)]
            vector: Vectors = near + self._random.standard_normal(DIM, np.float32) / np.float32(np.sqrt(DIM))
            text = f"word{number % 50} of topic{number % 97}"
            yield self.talk_id(int(number)), Wording(text, vector / np.linalg.norm(vector))

    @staticmethod
    def talk_id(number: int) -> str:
        return f"talk-{number:06}"


def _measured(maker: _Maker, added: int, add_s: float) -> Step:
    home = maker.library.home
    queries = list(maker.queries())
    before = _resident_mb()
    reader = IndexReader(home)
    with reader.generation() as generation:
        assert generation is not None, "publish() made it"
        _search_ms(generation, queries)  # the first time reads talks and index from disk
        everywhere = _search_ms(generation, queries)
        within = statistics.median(
            _ms(lambda talk=talk, asked=asked: retrieve(generation, asked, 10, Filters(talk=talk)))  # type: ignore[misc]
            for talk, asked in queries
        )
        bare = statistics.median(
            _ms(lambda asked=asked: generation.vectors.nearest(asked.vector, 10))  # type: ignore[misc]
            for _, asked in queries
        )
        memory = _resident_mb() - before
    reader.close()
    index = _folder_mb(next(path for path in sorted((home / "index").glob("gen-*"), reverse=True)))
    return Step(
        maker.windows,
        added,
        add_s,
        everywhere,
        within,
        bare,
        memory,
        index,
        _folder_mb(home) - _folder_mb(home / "index"),
    )


def _search_ms(generation: Generation, queries: list[tuple[str, Wording]]) -> float:
    return statistics.median(
        _ms(lambda asked=asked: retrieve(generation, asked, 10, Filters()))  # type: ignore[misc]
        for _, asked in queries
    )


def _ms(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


def _cpu_s() -> float:
    """CPU time of this process and of those it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _resident_mb() -> float:
    """Memory that this process holds at the moment, files mapped into it included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _folder_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
