"""Errors as problem+json (RFC 9457): one line for people, nothing of the program's inside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.responses import Response
from typing_extensions import TypedDict

from rag.errors import TalkciteError, UsageError

UNEXPECTED = "Something went wrong here; the log of the server says what."
_SHOWN_MISTAKES = 3


class Problem(TypedDict):
    """What went wrong with a request."""

    type: str
    title: str
    status: int
    detail: str


def problem(status: int, detail: str) -> Problem:
    """The document for an HTTP status; `detail` becomes one line."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": " ".join(detail.split()),
    }


def problem_of(error: TalkciteError, home: Path) -> Problem:
    """The document for one of our errors: 404 where the request names what is not there, 503 for the server's own."""
    return problem(404 if isinstance(error, UsageError) else 503, without_home(str(error), home))


def without_home(message: str, home: Path) -> str:
    """`message` without the place of the library, which errors name for those who run it, not for those who ask."""
    return message.replace(str(home), "RAG_HOME") if home.is_absolute() else message


def mistakes(found: Sequence[Mapping[str, Any]]) -> str:
    """What pydantic found wrong with a request, in one line: `question: String should have at least 1 character`."""
    named = [f"{'.'.join(str(part) for part in one['loc'][1:]) or one['loc'][0]}: {one['msg']}" for one in found]
    more = f"; and {len(found) - _SHOWN_MISTAKES} more" if len(found) > _SHOWN_MISTAKES else ""
    return "; ".join(named[:_SHOWN_MISTAKES]) + more


class ProblemResponse(Response):
    """A response that says what went wrong."""

    media_type = "application/problem+json"

    def __init__(self, document: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(document, document["status"], headers)

    def render(self, content: Any) -> bytes:
        """ASCII only: what a request held may be no valid Unicode."""
        return json.dumps(content).encode()
