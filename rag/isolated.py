"""Call a function in a process of its own: a damaged index can end the process that opens it, or never answer."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection

from rag.errors import StoreError


def in_own_process(function: Callable[..., str], *arguments: object, limit_s: float) -> str:
    """What `function(*arguments)` returns; function and arguments must be picklable.

    Raises `StoreError` when it raised, when its process ended without an answer (a segfault has no exception), or when
    there was no answer within `limit_s` seconds. The process is gone afterwards in any case.
    """
    context = multiprocessing.get_context("spawn")  # a fork would carry over locks and half of the threads
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(there, function, arguments), daemon=True)
    process.start()
    there.close()
    try:
        if not here.poll(limit_s):
            raise StoreError(f"no answer within {limit_s:g} s")
        failed, text = here.recv()
    except EOFError:
        process.join()
        raise StoreError(f"its process ended with code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
        here.close()
    if failed:
        raise StoreError(text)
    return str(text)


def _call(there: Connection, function: Callable[..., str], arguments: tuple[object, ...]) -> None:
    try:
        answer = (False, function(*arguments))
    except BaseException as error:  # the calling process raises it; libraries in Rust panic outside of Exception
        answer = (True, " ".join(str(error).split()) or type(error).__name__)
    there.send(answer)
