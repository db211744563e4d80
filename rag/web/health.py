"""Does the process live, and can it answer? For whoever starts, watches and balances servers."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from rag.engine import Engine
from rag.web.problem import ProblemResponse, problem, without_home

# Everybody may ask whether the server is ready, and each answer costs a search: one a second is enough.
_FRESH_S = 1.0


def health_routes(engine: Engine, home: Path) -> APIRouter:
    """`GET /healthz`: 200 while the process lives. `GET /readyz`: 200 when a search succeeds, else 503 and why not.

    `home`, the folder of the library, is left out of the reasons.
    """
    router = APIRouter()
    looking = threading.Lock()
    why = ""
    looked = float("-inf")

    @router.get("/healthz")
    async def healthz() -> dict[str, bool]:
        return {"alive": True}

    @router.get("/readyz")
    def readyz() -> Response:
        nonlocal why, looked
        with looking:
            if time.monotonic() - looked >= _FRESH_S:
                why = without_home(engine.unready(), home)
                looked = time.monotonic()
        return ProblemResponse(problem(503, why)) if why else JSONResponse({"ready": True})

    return router
