"""Speed and memory as ratios, measured side by side in one process, so that they mean the same on any machine.

A benchmark is a function from a `Bench` to one `Measured`. What is compared runs alternately, and the median of the
pairs counts: a busy machine slows both sides alike.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from eval.build import read_talks
from eval.dataset import caption_files
from ingest.pipeline import Options, ingest
from rag import index
from rag.embed import Embedder
from rag.engine import Engine
from rag.library import embedded_texts
from rag.settings import Settings
from rag.types import Filters

REPEATS = 3
# Shorter than this, the fixed cost of starting an index outweighs what is measured.
ENOUGH_S = 20.0
QUERIES = (
    "What did the change cost and what did it save?",
    "Who decided to switch it off, and why?",
    "How is quality measured?",
    "What went wrong in the first week?",
    "Which numbers were given for latency?",
)


@dataclass(frozen=True, slots=True)
class Bench:
    """What every benchmark gets: captions to ingest, a model, settings, and an empty folder of its own."""

    captions: tuple[Path, ...]
    embedder: Embedder
    settings: Settings
    scratch: Path


@dataclass(frozen=True, slots=True)
class Measured:
    """`value` in `unit` (lower is better), the most that is wanted (None: no goal), and what it is made of."""

    name: str
    value: float
    unit: str
    goal: float | None
    detail: str

    @property
    def holds(self) -> bool:
        """True unless the goal is missed."""
        return self.goal is None or self.value <= self.goal


def ingest_over_encoding(bench: Bench) -> Measured:
    """Wall time of a first ingest over that of encoding the same texts and nothing else."""
    pairs = []
    texts: list[list[str]] = []
    for attempt in range(REPEATS):
        home = bench.scratch / f"ingest-{attempt}"
        ingesting = _seconds(partial(_ingest, bench, home))
        texts = [embedded_texts(talk) for talk in read_talks(home).values()]
        pairs.append((ingesting, _seconds(partial(_encode, bench, texts))))
    ratio, detail = _median_ratio(pairs)
    count = sum(len(some) for some in texts)
    goal = 1.25 if min(encoding for _, encoding in pairs) >= ENOUGH_S else None
    return Measured("ingest / encoding", ratio, "×", goal, f"{detail}; {count} texts of {len(texts)} talks")


def ingest_again(bench: Bench) -> Measured:
    """Wall time of an ingest that finds nothing new."""
    home = bench.scratch / "again"
    _ingest(bench, home)
    seconds = statistics.median(_seconds(partial(_ingest, bench, home)) for _ in range(REPEATS))
    return Measured("ingest again, nothing new", seconds, "s", 3.0, f"{len(bench.captions)} files")


def search_over_encoding(bench: Bench) -> Measured:
    """Time of a whole search over all talks over that of encoding its query."""
    home = bench.scratch / "search"
    _ingest(bench, home)
    with Engine(bench.settings.model_copy(update={"home": home, "llm": "off"}), embedder=bench.embedder) as engine:
        pairs = [
            (
                _seconds(partial(engine.search, query, 10, Filters())),
                _seconds(partial(bench.embedder.encode_query, query)),
            )
            for query in QUERIES * REPEATS
        ]
    ratio, detail = _median_ratio(pairs)
    return Measured("search / encoding its query", ratio, "×", None, detail)


def peak_memory(_: Bench) -> Measured:
    """The most memory this process ever held, over all benchmarks before."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    megabytes = peak / (1024 * 1024 if sys.platform == "darwin" else 1024)  # bytes there, kilobytes elsewhere
    return Measured("peak memory", megabytes, "MB", None, "of the whole process, model included")


BENCHMARKS: tuple[Callable[[Bench], Measured], ...] = (
    ingest_over_encoding,
    ingest_again,
    search_over_encoding,
    peak_memory,
)


def run(folders: Sequence[Path], embedder: Embedder, settings: Settings, say: Callable[[str], None]) -> list[Measured]:
    """Run every benchmark on the captions of the data folders, one after the other."""
    captions = tuple(path for folder in folders for path in caption_files(folder))
    embedder.encode_passages(["warm up"])  # the first call allocates and compiles
    results = []
    with TemporaryDirectory(prefix="talkcite-bench-") as scratch:
        for place, benchmark in enumerate(BENCHMARKS):
            say(f"{benchmark.__name__} …")
            own = Path(scratch) / str(place)
            own.mkdir()
            results.append(benchmark(Bench(captions, embedder, settings, own)))
    return results


def _ingest(bench: Bench, home: Path) -> None:
    with index.writing(home, bench.embedder) as writer:
        ingest(bench.captions, writer, Options())


def _encode(bench: Bench, texts: Sequence[Sequence[str]]) -> None:
    for some in texts:
        bench.embedder.encode_passages(some)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _median_ratio(pairs: Sequence[tuple[float, float]]) -> tuple[float, str]:
    ratio = statistics.median(a / b for a, b in pairs)
    one, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    return ratio, f"{one:.3f} s over {other:.3f} s, median of {len(pairs)} pairs"
