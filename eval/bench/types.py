"""What every benchmark gets and gives, and how two things are timed side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.embed import Embedder
from rag.settings import Settings

REPEATS = 3
QUERIES = (
    "What did the change cost and what did it save?",
    "Who decided to switch it off, and why?",
    "How is quality measured?",
    "What went wrong in the first week?",
    "Which numbers were given for latency?",
)


@dataclass(frozen=True, slots=True)
class Bench:
    """What every benchmark gets: captions to ingest, the home of a library of them, a model, settings, and an empty
    folder of its own."""

    captions: tuple[Path, ...]
    home: Path
    embedder: Embedder
    settings: Settings
    scratch: Path


@dataclass(frozen=True, slots=True)
class Measured:
    """`value` in `unit`, what is wanted of it (None: no goal), the physical floor beside it, and what it is made of.

    Lower is better, unless `at_least` says that the goal is the least that is wanted.
    """

    name: str
    value: float
    unit: str
    goal: float | None
    floor: str
    detail: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """True unless the goal is missed."""
        if self.goal is None:
            return True
        return self.value >= self.goal if self.at_least else self.value <= self.goal


Benchmark = Callable[[Bench], list[Measured]]


def seconds(work: Callable[[], object]) -> float:
    """Time on the clock that `work` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def median_ratio(pairs: Sequence[tuple[float, float]]) -> tuple[float, str]:
    """The median of one side over the other, and both sides in words; times in seconds."""
    ratio = statistics.median(a / b for a, b in pairs)
    one, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    return ratio, f"{one:.3f} s over {other:.3f} s, median of {len(pairs)} pairs"
