"""Which language model writes the answers: tell the page, and let its owner choose another one.

Choosing is for who sits at the machine, and for admins among the users: an address that a stranger gives would be a way
into the network, a key that one gives could be spent by all, and one choice changes the answers of everybody. What is
chosen lasts until the app ends and is written nowhere; keys are never shown again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, SecretStr, StringConstraints

from rag.engine import Engine
from rag.errors import TalkciteError, UsageError
from rag.llm import LLM
from rag.llms import load_llm, try_out
from rag.settings import HttpAddress, Settings
from rag.web.limits import MAX_NAME
from rag.web.problem import ProblemResponse, problem
from rag.weights import DEFAULT, fetched

Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_NAME)]


class Choice(BaseModel):
    """What shall write the answers: nothing, the local model, or `model` at the server `base_url`."""

    kind: Literal["off", "local", "server"]
    base_url: Annotated[HttpAddress, StringConstraints(strip_whitespace=True, max_length=MAX_NAME)] = ""
    model: Name = ""
    key: SecretStr = SecretStr("")


def model_routes(engine: Engine, settings: Settings, *, may_choose: Callable[[Request], bool]) -> APIRouter:
    """`GET /desk/model`: which model there is and how far it is; `POST` chooses another one, where that is allowed."""
    router = APIRouter(prefix="/desk")

    @router.get("/model")
    def model(request: Request) -> dict[str, Any]:
        """With `state` "off" there is none and answers are quotes; `local` tells of the model that could be fetched."""
        offer = {"name": DEFAULT.name, "bytes": DEFAULT.size, "fetched": fetched(DEFAULT) is not None}
        about = {"local": offer if may_choose(request) else None}
        if engine.llm is None:
            return {"name": "", "state": "off", "done": 0, "total": 0, "detail": "", **about}
        return {"name": engine.llm.name, **asdict(engine.llm.status), **about}

    @router.post("/model")
    def choose(choice: Choice, request: Request) -> Response:
        if not may_choose(request):
            return ProblemResponse(problem(403, "The model is chosen where the app was started."))
        try:
            engine.use(_chosen(choice, settings))
        except TalkciteError as error:
            return ProblemResponse(problem(422, f"{error}."))
        return JSONResponse(model(request))

    return router


def _chosen(choice: Choice, settings: Settings) -> LLM | None:
    """The chosen model, tried out unless it has to be fetched and loaded first. Raises `TalkciteError`."""
    if choice.kind == "off":
        return None
    if choice.kind == "local":
        return load_llm(settings.model_copy(update={"llm": "local"}), in_background=True)
    if not choice.model:
        raise UsageError("model: found nothing, expected its name at the server")
    from rag.openai_chat import OpenAIChat  # here, as in `rag.llms`

    llm = OpenAIChat(choice.model, choice.base_url, choice.key.get_secret_value(), settings.llm_timeout_s)
    try:
        try_out(llm)
    except BaseException:
        llm.close()
        raise
    return llm
