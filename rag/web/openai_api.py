"""The talks as a model behind OpenAI's chat API, so that existing chat clients can ask them. Mounted at `/v1`.

The last user message is the question, those before it the conversation; system messages and all options but `stream`
are ignored, since who answers here is not a model that could be told to be another. Errors have OpenAI's form.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as AnyHTTPException

from rag.errors import TalkciteError
from rag.settings import Settings
from rag.types import Answer, Filters, Turn
from rag.web.answering import Answering, EventStream, events, finished
from rag.web.completion import CompletionText, plain
from rag.web.limits import MAX_BODY, MAX_QUESTION, MAX_TURN, MAX_TURNS, BodyLimit
from rag.web.problem import UNEXPECTED, Problem, mistakes, problem_of
from rag.wire import Wire

MODEL = "talkcite"


class _Part(BaseModel):
    type: Literal["text"]
    text: str


class _Message(BaseModel):
    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: str | list[Any] | None = None

    @property
    def text(self) -> str:
        """What the message says. Raises `HTTPException` (400) for parts that are no text, and half characters."""
        try:
            parts = self.content if isinstance(self.content, list) else [{"type": "text", "text": self.content or ""}]
            text = "\n".join(_Part.model_validate(part).text for part in parts)
            text.encode()
        except UnicodeEncodeError:
            raise HTTPException(400, "messages: found half of a surrogate pair, expected Unicode text") from None
        except ValueError:
            raise HTTPException(
                400, "messages: found a part that is no text, expected only parts of type text"
            ) from None
        return text


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _ChatRequest(BaseModel):
    model: str
    messages: Annotated[list[_Message], Field(min_length=1)]
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    n: Literal[1] | None = 1

    def question_and_turns(self) -> tuple[str, list[Turn]]:
        """The question and what was said before it, the latest turns, cut to length. Raises `HTTPException` (400)."""
        said = [
            Turn(message.role, message.text)
            for message in self.messages
            if message.role == "user" or message.role == "assistant"
        ]
        last = max((at for at, turn in enumerate(said) if turn.role == "user"), default=None)
        if last is None or not (question := said[last].content.strip()):
            raise HTTPException(400, "messages: found no question, expected a message of role user with text")
        if len(question) > MAX_QUESTION:
            raise HTTPException(
                400, f"messages: found a question of {len(question):,} characters, expected at most {MAX_QUESTION:,}"
            )
        return question, [_shortened(turn) for turn in said[:last][-MAX_TURNS:]]


def create_openai_api(answering: Answering, settings: Settings) -> FastAPI:
    """`/models` and `/chat/completions`, answered through `answering`."""
    api = FastAPI(title="talkcite", docs_url=None, redoc_url=None, openapi_url=None)
    api.add_middleware(BodyLimit, limit=MAX_BODY, refused=_refusal)
    _answer_errors(api, settings.home)
    started = int(time.time())
    model = {"id": MODEL, "object": "model", "created": started, "owned_by": "talkcite"}

    @api.get("/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [model]}

    @api.get("/models/{name:path}")
    def one_model(name: str) -> dict[str, Any]:
        _check_model(name)
        return model

    @api.post("/chat/completions")
    async def complete(asked: _ChatRequest, request: Request) -> Response:
        _check_model(asked.model)
        question, turns = asked.question_and_turns()
        # A chat client has no page that a link could be relative to.
        here = settings.public_url or f"{request.url.scheme}://{request.url.netloc}"
        completion = _Completion(Wire(settings.model_copy(update={"public_url": here})))
        answers = answering.answers(question, Filters(), turns, "v1")
        if asked.stream:
            first = await anext(answers)
            completion.states_usage = asked.stream_options is not None and asked.stream_options.include_usage
            told = events(first, answers, completion.chunks, _error_event, settings.home)
            return EventStream(told, headers={"Cache-Control": "no-cache"})
        answer = await finished(answers, request)
        return JSONResponse(completion.whole(answer)) if answer else Response(status_code=499)  # nobody reads it

    return api


class _Completion:
    """One answer in the chat API's form, whole or in chunks."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._text = CompletionText(wire)
        self._known = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": MODEL}
        self._has_begun = False
        self.states_usage = False

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The completion; `talkcite` is the answer as the API gives it."""
        text = self._text.grow(answer)
        message = {"role": "assistant", "content": text, "refusal": None, "annotations": self._text.annotations}
        return {
            **self._known,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": _usage(answer),
            "talkcite": self._wire.answer(answer),
        }

    def chunks(self, answer: Answer) -> bytes:
        """The chunks that a snapshot adds; the last has the annotations and the whole answer."""
        chunks = []
        if not self._has_begun:
            self._has_begun = True
            chunks.append(self._chunk({"role": "assistant", "content": ""}))
        if text := self._text.grow(answer):
            chunks.append(self._chunk({"content": text}))
        if not answer.done:
            return b"".join(map(_event, chunks))
        last = self._chunk({"annotations": self._text.annotations}, finish_reason="stop")
        chunks.append({**last, "talkcite": self._wire.answer(answer)})
        if self.states_usage:
            chunks.append({**self._chunk({}), "choices": [], "usage": _usage(answer)})
        return b"".join(map(_event, chunks)) + b"data: [DONE]\n\n"

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self.states_usage else {}
        return {**self._known, "object": "chat.completion.chunk", "choices": [choice], **usage}


def _shortened(turn: Turn) -> Turn:
    """An earlier turn as its speaker said it, at most as long as the API takes one."""
    return Turn(turn.role, (plain(turn.content) if turn.role == "assistant" else turn.content)[:MAX_TURN])


def _check_model(name: str) -> None:
    if name != MODEL:
        raise HTTPException(404, f"model {name[:100]!r}: there is none of that name, expected {MODEL!r}")


def _usage(answer: Answer) -> dict[str, int]:
    """What the language model's server counted; nothing for quotes."""
    prompt, completion = (answer.usage.get(f"{part}_tokens", 0) for part in ("prompt", "completion"))
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _error(status: int, detail: str) -> dict[str, Any]:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    code = {404: "model_not_found" if detail.startswith("model ") else "not_found", 429: "rate_limit_exceeded"}.get(
        status
    )
    return {"error": {"message": " ".join(detail.split()), "type": kind, "param": None, "code": code}}


def _event(document: object) -> bytes:
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n".encode()


def _error_event(found: Problem) -> bytes:
    return _event(_error(found["status"], found["detail"]))


def _refusal(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    # ASCII only: what a request held may be no valid Unicode.
    return Response(json.dumps(_error(status, detail)), status, headers, "application/json")


def _answer_errors(api: FastAPI, home: Path) -> None:
    """Every error of `api` in OpenAI's form."""

    @api.exception_handler(AnyHTTPException)
    def refused(_: Request, error: AnyHTTPException) -> Response:
        return _refusal(error.status_code, error.detail, error.headers)

    @api.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        return _refusal(400, mistakes(error.errors()))

    @api.exception_handler(TalkciteError)
    def failed(_: Request, error: TalkciteError) -> Response:
        found = problem_of(error, home)
        return _refusal(found["status"], found["detail"])

    @api.exception_handler(Exception)
    def unexpected(_: Request, __: Exception) -> Response:
        return _refusal(500, UNEXPECTED)  # the web server logs it, with its traceback
