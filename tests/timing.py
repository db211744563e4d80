"""Time as ratios within one run: a busy machine slows both sides alike, so that a test fails only for a reason."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

# Work on so little takes milliseconds, in which a pause of the machine looks like growth.
_TOO_SHORT_S = 0.1
_TRIES = 3


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
