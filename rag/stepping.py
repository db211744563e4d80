"""Take a blocking generator's items from async code, and close it for certain."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from functools import partial
from typing import Any, TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread

T = TypeVar("T")


async def stepping(items: Generator[T], threads: CapacityLimiter | None = None) -> AsyncGenerator[T]:
    """The items of `items`, each made in a worker thread (of `threads`, else of those that all share).

    When this generator ends, is closed or cancelled, `items` is closed before anything else happens, so that what it
    holds, such as a language model's request, is given back. Use it in `contextlib.aclosing`.
    """
    end: Any = object()
    try:
        while (item := await to_thread.run_sync(partial(next, items, end), limiter=threads)) is not end:
            yield item
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(items.close, limiter=threads)
