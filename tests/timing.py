"""Time as ratios within one run: a busy machine slows both sides alike, so that a test fails only for a reason."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

# Work on so little takes milliseconds, in which a pause of the machine looks like growth.
_TOO_SHORT_S = 0.1
_TRIES = 3
_REFERENCE_S = 0.036


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def median_ratio(work: Callable[[], object], yardstick: Callable[[], object], pairs: int = 5) -> float:
    """How many times the CPU time of `yardstick` `work` takes."""
    return statistics.median(cpu_seconds(work) / cpu_seconds(yardstick) for _ in range(pairs))


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """`work(size)` takes about four times as long as `work(size // 4)`; where it is quadratic, sixteen times."""
    ratios = []
    for _ in range(_TRIES):
        whole = cpu_seconds(lambda: work(size))
        if whole < _TOO_SHORT_S:
            return
        ratios.append(whole / cpu_seconds(lambda: work(size // 4)))
        if ratios[-1] < 8:
            return
    raise AssertionError(f"{size}: {', '.join(f'{ratio:.1f}' for ratio in ratios)} times as long as a quarter of it")


def slowness() -> float:
    """How many times as long as on the machine of the documented figures this one takes at the moment, at least 1.

    For limits in seconds where there is nothing to compare with: one that lends its processors to others takes several
    times as long, in CPU time too.
    """

    def work() -> None:
        texts: dict[int, str] = {}
        for number in range(300_000):
            texts[number % 1000] = f"{number}x"
        sorted(texts.values())

    return max(1.0, min(cpu_seconds(work) for _ in range(_TRIES)) / _REFERENCE_S)
