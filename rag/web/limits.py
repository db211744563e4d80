"""How much a request may bring and how long that may take, and the middleware that stops reading there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.web.paths import route_path
from rag.web.problem import ProblemResponse, problem

MAX_QUESTION = 2_000  # characters
MAX_NAME = 300  # characters of a filter
MAX_TURNS = 16
MAX_TURN = 8_000  # characters
MAX_BODY = 1_000_000  # bytes; the longest history fits, whatever its script
MAX_FORM = 10_000  # bytes of a name and a password
MAX_FILES = 20
MAX_UPLOAD = 500_000_000  # bytes, all files together: captions of many talks, or one talk with its recording
MAX_FILE_NAME = 200  # bytes
MAX_WAITING = 8  # uploads that are not done
MAX_ANSWERS = 20  # written at the same time
# A body may take so long to come, and a second more for each so many bytes of it that have come.
BODY_S = 30.0
BYTES_A_SECOND = 50_000
# Nobody reads the rest of a body that is refused, so nothing more can come over its connection.
_CLOSE = {"Connection": "close"}


class BodyLimit:
    """ASGI middleware: answers 413 to a body beyond `limit` bytes; `others` maps paths to limits of their own.

    Paths that it `leaves` are limited further in. `refused` makes the response of a status, a line of text and headers.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int,
        others: Mapping[str, int] | None = None,
        leaves: Callable[[str], bool] = lambda _: False,
        refused: Callable[[int, str, Mapping[str, str]], ASGIApp] = lambda status, detail, headers: ProblemResponse(
            problem(status, detail), headers
        ),
    ) -> None:
        self._app = app
        self._limit = limit
        self._others = others or {}
        self._leaves = leaves
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, up to its limit."""
        if scope["type"] != "http" or self._leaves(route_path(scope)):
            await self._app(scope, receive, send)
            return
        limit = self._others.get(route_path(scope), self._limit)
        detail = f"The body is too large, the limit is {limit:,} bytes."
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > limit:
            await self._refused(413, detail, _CLOSE)(scope, receive, send)
            return
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:  # a body without an announced length
                raise HTTPException(413, detail, _CLOSE)
            return message

        await self._app(scope, receive_within_limit, send)


class BodyPace:
    """ASGI middleware: answers 408 to a body that comes too slowly. Only the waiting for the client counts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, while its body comes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        left_s = BODY_S
        is_over = False

        async def receive_in_time() -> Message:
            nonlocal left_s, is_over
            if is_over:  # what still comes is that the client goes, whenever that is
                return await receive()
            before = time.monotonic()
            try:
                async with asyncio.timeout(left_s):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(
                    408, "The body came too slowly; send it again over a faster line.", _CLOSE
                ) from None
            left_s += len(message.get("body", b"")) / BYTES_A_SECOND - (time.monotonic() - before)
            is_over = not message.get("more_body", False)
            return message

        await self._app(scope, receive_in_time, send)
