"""Answers for programs: so many at the same time, whole or as events, and none that nobody waits for.

Every door for programs (API, OpenAI endpoint, MCP) asks through `Answering`: what limits asking belongs here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, Semaphore, WouldBlock
from fastapi import HTTPException, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from rag.engine import Engine
from rag.errors import TalkciteError
from rag.stepping import stepping
from rag.types import Answer, Filters, Turn
from rag.web.limits import MAX_ANSWERS
from rag.web.observe import Door, Observer
from rag.web.problem import UNEXPECTED, Problem, problem, problem_of
from rag.web.rate import Asking

_log = logging.getLogger(__name__)

# A stream in which nothing happens says so, before a proxy takes it for dead; in seconds.
_SILENCE_S = 15.0


class Answering:
    """Answers under way, at most `MAX_ANSWERS`, in threads of their own: the page's routes don't wait for them."""

    def __init__(self, engine: Engine, observer: Observer, asking: Asking | None = None) -> None:
        self._engine = engine
        self._asking = asking
        self._observer = observer
        self._free = Semaphore(MAX_ANSWERS, max_value=MAX_ANSWERS)
        self._threads = CapacityLimiter(MAX_ANSWERS)

    async def answers(
        self, question: str, filters: Filters, turns: Sequence[Turn], door: Door
    ) -> AsyncGenerator[Answer]:
        """Growing snapshots of one answer; use it in `aclosing`.

        Raises `HTTPException` when too many run (503) or its client asks too often (429).
        """
        if self._asking:
            self._asking.check()
        try:
            self._free.acquire_nowait()
        except WouldBlock:
            full = f"{MAX_ANSWERS} questions are being answered; try again in a moment."
            raise HTTPException(503, full, headers={"Retry-After": "5"}) from None
        try:
            asking = self._observer.answers(self._engine.ask(question, filters, turns), question, door)
            async with aclosing(stepping(asking, self._threads)) as answers:
                async for answer in answers:
                    yield answer
        finally:
            self._free.release()


async def finished(answers: AsyncGenerator[Answer], request: Request) -> Answer | None:
    """The complete answer; None when the client of `request` left before, which ends the writing."""
    async with aclosing(answers):
        async for answer in answers:
            if answer.done:
                return answer
            if await request.is_disconnected():
                break
    return None


async def events(
    first: Answer,
    later: AsyncGenerator[Answer],
    told: Callable[[Answer], bytes],
    failed: Callable[[Problem], bytes],
    home: Path,
) -> AsyncGenerator[bytes]:
    """An answer as server-sent events: what `told` makes of each snapshot (b"" for nothing new), or `failed` at last.

    The first snapshot is there already, so that what goes wrong before it is still an HTTP status.
    """
    answer, last_sent = first, time.monotonic()
    async with aclosing(later):
        try:
            while True:
                if event := told(answer):
                    yield event
                    last_sent = time.monotonic()
                elif time.monotonic() - last_sent > _SILENCE_S:
                    yield b": still writing\n\n"
                    last_sent = time.monotonic()
                if answer.done:
                    return
                answer = await anext(later)
        except TalkciteError as error:
            yield failed(problem_of(error, home))
        except Exception:
            _log.exception("answering failed")
            yield failed(problem(500, UNEXPECTED))


class EventStream(StreamingResponse):
    """Server-sent events whose source is closed as soon as the client is gone."""

    media_type = "text/event-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        source: Any = self.body_iterator
        async with aclosing(source):
            await super().__call__(scope, receive, send)
