"""A blocking generator, stepped through from async code."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import aclosing

import anyio
import pytest

from rag.stepping import stepping


class Source:
    """Counts up, and notes in which threads, and when it is closed."""

    def __init__(self, pace_s: float = 0.0) -> None:
        self.pace_s = pace_s
        self.threads: set[int] = set()
        self.closed = 0

    def items(self, until: int) -> Generator[int]:
        try:
            for n in range(until):
                self.threads.add(threading.get_ident())
                time.sleep(self.pace_s)
                yield n
            if until == 2:
                raise ValueError("two is too few")
        finally:
            self.closed += 1


def test_all_items_in_order_in_other_threads() -> None:
    source = Source()

    async def run() -> list[int]:
        return [item async for item in stepping(source.items(3))]

    assert anyio.run(run) == [0, 1, 2]
    assert threading.get_ident() not in source.threads
    assert source.closed == 1


def test_errors_pass_through() -> None:
    async def run() -> None:
        async for _ in stepping(Source().items(2)):
            pass

    with pytest.raises(ValueError, match="two is too few"):
        anyio.run(run)


def test_leaving_early_closes_before_going_on() -> None:
    source = Source()

    async def run() -> int:
        async with aclosing(stepping(source.items(1000))) as items:
            async for item in items:
                if item == 1:
                    break
        return source.closed

    assert anyio.run(run) == 1


def test_cancelling_closes_even_in_the_middle_of_a_step() -> None:
    source = Source(pace_s=0.05)

    async def run() -> int:
        with anyio.move_on_after(0.12):
            async with aclosing(stepping(source.items(1000))) as items:
                async for _ in items:
                    pass
        return source.closed

    assert anyio.run(run) == 1
