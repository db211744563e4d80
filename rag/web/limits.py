"""How much a request to the API may bring, and the middleware that stops reading there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.web.problem import ProblemResponse, problem

MAX_QUESTION = 2_000  # characters
MAX_NAME = 300  # characters of a filter
MAX_TURNS = 16
MAX_TURN = 8_000  # characters
MAX_BODY = 1_000_000  # bytes; the longest history fits, whatever its script
MAX_FILES = 20
MAX_UPLOAD = 500_000_000  # bytes, all files together: captions of many talks, or one talk with its recording
MAX_FILE_NAME = 200  # bytes
MAX_WAITING = 8  # uploads that are not done
MAX_ANSWERS = 20  # written at the same time


class BodyLimit:
    """ASGI middleware: answers 413 to a body beyond `limit` bytes; `larger` maps paths to limits of their own.

    `refused` makes the response from a status and a line of text.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int,
        larger: Mapping[str, int] | None = None,
        refused: Callable[[int, str], ASGIApp] = lambda status, detail: ProblemResponse(problem(status, detail)),
    ) -> None:
        self._app = app
        self._limit = limit
        self._larger = larger or {}
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, up to its limit."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        limit = self._larger.get(path, self._limit)
        detail = f"The body is too large, the limit is {limit:,} bytes."
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > limit:
            await self._refused(413, detail)(scope, receive, send)
            return
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:  # a body without an announced length
                raise HTTPException(413, detail)
            return message

        await self._app(scope, receive_within_limit, send)
