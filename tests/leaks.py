"""Leaks: what is left open by each of many steps, told apart from what is opened once and kept."""

from __future__ import annotations

import gc
import threading
from collections.abc import Sequence
from pathlib import Path


def open_now() -> tuple[int, int]:
    """Number of files and threads of this process."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()


def assert_level(counts: Sequence[int]) -> None:
    """`counts`, one after each step, don't grow with the steps.

    A pool may open one more connection at any time and keep it; a leak adds at least one with each step. So the last
    third may lie above the first by less than half the steps between them.
    """
    third = len(counts) // 3
    steps = len(counts) - 2 * third + 1
    assert steps >= 6, f"{len(counts)} counts are too few to tell a leak from a pool"
    growth = min(counts[-third:]) - max(counts[:third])
    assert growth < steps / 2, f"{growth} more after {steps} steps: {list(counts)}"
