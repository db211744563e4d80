"""The tools for assistants at `/mcp`, on the app's own server, where the package `mcp` is installed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from fastapi import HTTPException
from starlette.applications import Starlette
from starlette.routing import Route

from rag.engine import Engine
from rag.errors import TalkciteError
from rag.types import Answer, Filters, Turn
from rag.web.answering import Answering
from rag.web.problem import ProblemResponse, problem, without_home

_MISSING = problem(501, "mcp: the package 'mcp' is not installed; pip install '.[mcp]'")


def create_tools(engine: Engine, answering: Answering) -> Starlette:
    """An app whose routes and lifespan the page's takes over; without the package it says what is missing (501)."""
    try:
        from rag.mcp_server import create_server, over_http
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        return Starlette(routes=[Route("/mcp", lambda _: ProblemResponse(_MISSING), methods=["GET", "POST", "DELETE"])])

    async def asking(question: str, filters: Filters, turns: Sequence[Turn]) -> AsyncGenerator[Answer]:
        try:
            async with aclosing(answering.answers(question, filters, turns, "mcp")) as answers:
                async for answer in answers:
                    yield answer
        except HTTPException as refused:
            raise TalkciteError(refused.detail) from refused

    def said(error: TalkciteError) -> str:
        return without_home(str(error), engine.settings.home)

    return over_http(create_server(engine, asking, said))
