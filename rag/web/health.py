"""Does the process live, and can it answer? For whoever starts, watches and balances servers."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from rag.engine import Engine
from rag.web.problem import ProblemResponse, problem


def health_routes(engine: Engine) -> APIRouter:
    """`GET /healthz`: 200 while the process lives. `GET /readyz`: 200 when a search succeeds, else 503 and why not."""
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> dict[str, bool]:
        return {"alive": True}

    @router.get("/readyz")
    def readyz() -> Response:
        why = engine.unready()
        return ProblemResponse(problem(503, why)) if why else JSONResponse({"ready": True})

    return router
