"""What is told of each request and each answer, whichever door it came through: route, times, outcome; never a text.

Routes are told as their templates (`/api/talks/{talk_id}`) and without their query: addresses hold ids and questions.
"""

from __future__ import annotations

import logging
import re
import secrets
import threading
import time
from collections.abc import Generator
from typing import Any, Literal

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.errors import TalkciteError, UsageError
from rag.types import Answer
from rag.web.log import request_id, told
from rag.web.metrics import Metrics

_log = logging.getLogger(__name__)

Door = Literal["page", "api", "v1", "mcp"]

REQUEST_ID = "X-Request-ID"
# An id that a proxy or client may bring: enough for any UUID, nothing that could be read as something else.
_TAKEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
OTHER_ROUTE = "other"
# Served by an app of another package, which names no routes.
_UNNAMED = ("/mcp",)


class Stopping(TalkciteError):
    """The server is being stopped."""


class Observer:
    """What every answer passes: it is counted, logged, and ended early when the server stops.

    With `tells_questions` the log holds what was asked.
    """

    def __init__(self, metrics: Metrics, *, tells_questions: bool = False) -> None:
        self._metrics = metrics
        self._tells_questions = tells_questions
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Let each answer under way end at its next snapshot: a silent model's come several times a second."""
        self._stopping.set()

    def request(self, method: str, route: str, status: int, sent: int, seconds: float, *, is_whole: bool) -> None:
        """A response of `sent` bytes has ended, by itself or, unless `is_whole`, because somebody hung up."""
        self._metrics.count_request(method, route, status, seconds)
        cut = {} if is_whole else {"cut": True}
        ms = round(seconds * 1000, 1)
        told(_log, "request", {"method": method, "route": route, "status": status, "ms": ms, "bytes": sent, **cut})

    def answers(self, answers: Generator[Answer], question: str, door: Door, asked_in: str = "") -> Generator[Answer]:
        """The same snapshots; once they end, or are closed, a line says how it went. Raises `Stopping`.

        `asked_in` is the id of the request, by default that of the running one.
        """
        asked_in = asked_in or request_id.get()
        started = time.perf_counter()
        outcome, error, last = "left", "", None
        self._metrics.running.inc()
        try:
            for last in answers:
                if last.done:
                    outcome = _outcome(last)
                elif self._stopping.is_set():
                    raise Stopping("the server is being stopped; ask again in a moment")
                yield last
        except Stopping:
            outcome = "stopped"
            raise
        except Exception as failure:
            outcome, error = "failed", _cause(failure)
            raise
        finally:
            answers.close()
            self._metrics.running.dec()
            self._metrics.count_answer(door, outcome, last)
            fields: dict[str, Any] = {"door": door, "outcome": outcome}
            if error:
                fields["error"] = error
            if last is not None:
                fields |= {f"{step}_ms": ms for step, ms in last.timings_ms.items()}
                fields |= {"claims": len(last.claims), "talks": last.talks_searched, **last.usage}
            fields["ms"] = round((time.perf_counter() - started) * 1000, 1)
            if self._tells_questions:
                fields["question"] = question
            told(_log, "answer", {**fields, "request_id": asked_in})


def _outcome(answer: Answer) -> str:
    if answer.abstained:
        return "refused"
    return "quotes" if answer.answered_by == "quotes" else "written"


def _cause(failure: Exception) -> str:
    """Why an answer failed; of a wrong request only the kind, since the message names what was asked for."""
    if isinstance(failure, TalkciteError) and not isinstance(failure, UsageError):
        return str(failure)
    return type(failure).__name__


class Requests:
    """ASGI middleware, the outermost: gives each request an id, and tells of it when its response has ended.

    A short, plain `X-Request-ID` of the client is taken over, any other replaced; the response and everything further
    in have the one that counts.
    """

    def __init__(self, app: ASGIApp, observer: Observer) -> None:
        self._app = app
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = MutableHeaders(scope=scope)
        brought = headers.get(REQUEST_ID, "")
        known = brought if _TAKEN_ID.fullmatch(brought) else secrets.token_hex(8)
        headers[REQUEST_ID] = known
        outside = scope.get("root_path", "")
        status, sent, is_whole = 500, 0, False

        async def send_with_id(message: Message) -> None:
            nonlocal status, sent, is_whole
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = known
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
            await send(message)

        started = time.perf_counter()
        token = request_id.set(known)
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            seconds = time.perf_counter() - started
            route = route_of(scope, outside)
            self._observer.request(scope["method"], route, status, sent, seconds, is_whole=is_whole)
            request_id.reset(token)


def route_of(scope: Scope, outside: str = "") -> str:
    """The template of the route that answered; `outside` is the part of the path that a proxy takes off."""
    mounted = scope.get("root_path", "").removeprefix(outside)
    route = scope.get("route")
    if route is not None:
        return f"{mounted}{route.path}"
    if mounted:
        return f"{mounted}/*"
    path = scope["path"].removeprefix(outside)
    return path if path in _UNNAMED else OTHER_ROUTE
