"""The web app: Gradio carries the questions and the streaming answers, plain routes carry everything else.

The conversation is not a `gr.Chatbot`: that one parses text as Markdown and HTML, rebuilds a message's DOM on every
streamed step (clicks and focus get lost) and strips `aria-*`. The page is one `gr.HTML` component with a fixed
template; ES modules under static/ fill it with `textContent`. Gradio gives it the queue, streaming and cancelling.

No state is kept on the server: a browser tab holds its own conversation and sends the turns that matter with each
question. So users can't meet each other's data, and a restart loses nothing.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Annotated, Any

import gradio as gr
from fastapi import APIRouter, FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StringConstraints, ValidationError
from starlette.staticfiles import StaticFiles

from rag.engine import Engine
from rag.errors import TalkciteError, UsageError
from rag.settings import Settings
from rag.types import Filters, Turn
from rag.users import Users
from rag.web.answering import Answering
from rag.web.api import create_api
from rag.web.chat import answer_view
from rag.web.examples import example_questions
from rag.web.front import Front
from rag.web.gate import Gate
from rag.web.gradio_routes import UsedRoutes
from rag.web.head import OwnHead
from rag.web.health import health_routes
from rag.web.jobs import Jobs
from rag.web.limits import (
    MAX_BODY,
    MAX_FILES,
    MAX_FORM,
    MAX_NAME,
    MAX_QUESTION,
    MAX_TURN,
    MAX_UPLOAD,
    BodyLimit,
    BodyPace,
)
from rag.web.markdown import answer_markdown
from rag.web.media import media_routes
from rag.web.metrics import Metrics, metrics_routes
from rag.web.model import model_routes
from rag.web.observe import REQUEST_ID, Observer, Requests
from rag.web.openai_api import create_openai_api
from rag.web.pane import list_view, talk_view
from rag.web.paths import SIGN_IN, is_for_programs
from rag.web.problem import UNEXPECTED, without_home
from rag.web.rate import AskedBy, Asking, too_many
from rag.web.security import Guard
from rag.web.sessions import Sessions, session_key
from rag.web.sign_in import sign_in_routes
from rag.web.tools import create_tools
from rag.wire import Wire

log = logging.getLogger(__name__)

_STATIC = Path(__file__).with_name("static")

# Answers written at the same time, over all users; more wait in the queue.
_CONCURRENT_ANSWERS = 20
_QUEUE_LENGTH = 64

_ON_LOAD = """
import(new URL('desk/static/desk.js', document.baseURI)).then(({ mount }) => mount({
  element,
  ask: (request) => trigger('ask', request),
  stop: () => trigger('stop'),
  onAnswer: (show) => watch('value', () => show(props.value)),
}));
"""

_STYLES = ("base", "ask", "sources", "listen", "upload", "model", "narrow")
_HEAD = "\n".join(
    (
        '<meta name="color-scheme" content="light dark">',
        *(f'<link rel="stylesheet" href="desk/static/{name}.css">' for name in _STYLES),
        '<link rel="modulepreload" href="desk/static/desk.js">',
    )
)

Short = Annotated[str, StringConstraints(max_length=MAX_NAME)]


class Exchange(BaseModel):
    """An earlier question and its answer in plain words, as the browser kept them."""

    question: Annotated[str, StringConstraints(max_length=MAX_QUESTION)]
    answer: Annotated[str, StringConstraints(max_length=MAX_TURN)]


class AskRequest(BaseModel):
    """What the page sends to ask; anything else is refused."""

    run: int
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION)]
    talk: Short = ""
    speaker: Short = ""
    event: Short = ""
    year: Short = ""
    history: Annotated[list[Exchange], Field(max_length=8)] = []

    @property
    def filters(self) -> Filters:
        """The restrictions of the search."""
        return Filters(talk=self.talk, speaker=self.speaker, event=self.event, year=self.year)

    @property
    def turns(self) -> list[Turn]:
        """The earlier turns, oldest first."""
        return [turn for past in self.history for turn in (Turn("user", past.question), Turn("assistant", past.answer))]


def create_app(
    engine: Engine,
    settings: Settings,
    *,
    names: Iterable[str] = (),
    jobs: Jobs | None = None,
    is_owners: bool = False,
) -> FastAPI:
    """The app that serves page and API for `engine`; uploads go to `jobs`, without which they are refused.

    Its `state.stop_answers` is to be called when the server begins to stop.

    `names` are host names that the app may be reached by (see `Guard`). `is_owners` says that only who started the app
    reaches it, and so may choose the language model.
    """
    users = Users(settings.auth) if settings.auth else None
    sessions = Sessions(session_key(settings.home), users) if users else None
    asking = Asking(settings.asks_per_minute, spares_this_machine=not settings.public_url)
    metrics = Metrics()
    observer = Observer(metrics, tells_questions=settings.log_questions)
    answering = Answering(engine, observer, asking)
    tools = create_tools(engine, answering)
    app = FastAPI(
        title="talkcite", docs_url=None, redoc_url=None, openapi_url=None, lifespan=tools.router.lifespan_context
    )
    app.include_router(_data_routes(engine, settings, takes_uploads=jobs is not None))
    app.include_router(model_routes(engine, settings, may_choose=_may_choose_model(settings, is_owners)))
    app.include_router(media_routes(engine.talk, settings.home))
    app.include_router(health_routes(engine, settings.home))
    app.include_router(metrics_routes(metrics, engine, jobs))
    if users and sessions:
        app.include_router(sign_in_routes(users, sessions, secure=settings.public_url.startswith("https:")))
    app.mount("/api", create_api(engine, settings, jobs, answering))
    app.mount("/v1", create_openai_api(answering, settings))
    app.router.routes.extend(tools.routes)
    app.mount("/desk/static", _Static(directory=_STATIC))
    gr.mount_gradio_app(
        app,
        _blocks(engine, settings, observer, asking),
        path="/",
        head=_HEAD,
        footer_links=[],
        run_history=False,
        show_error=False,
        max_file_size=1,  # Gradio takes uploads from anyone who finds the route; the page has no use for them
    )
    gradio: Any = app.routes[-1]
    gradio.app = UsedRoutes(gradio.app)
    # The last is the first to see a request.
    app.add_middleware(OwnHead)
    app.add_middleware(AskedBy)
    if users and sessions:
        app.add_middleware(Gate, users=users, sessions=sessions)
    app.add_middleware(BodyLimit, limit=MAX_BODY, others={SIGN_IN: MAX_FORM}, leaves=is_for_programs)
    app.add_middleware(BodyPace)
    app.add_middleware(Guard, names=tuple(names), public_url=settings.public_url)
    app.add_middleware(Requests, observer=observer)
    app.add_middleware(Front, public_url=settings.public_url)
    app.state.stop_answers = observer.stop
    return app


def _may_choose_model(settings: Settings, is_owners: bool) -> Callable[[Request], bool]:
    """Who may choose the language model: with users the admins among them, else only who started the app."""

    def may_choose(request: Request) -> bool:
        user = request.scope.get("user")
        return user.is_admin if user is not None else is_owners and settings.auth is None

    return may_choose


def _blocks(engine: Engine, settings: Settings, observer: Observer, asking: Asking) -> gr.Blocks:
    lead_in_ms = round(settings.lead_in_s * 1000)

    def ask(event: gr.EventData, request: gr.Request) -> Generator[dict[str, Any]]:
        """Answer one question; every snapshot carries the number of the run that it belongs to."""
        try:
            asked = AskRequest.model_validate(event._data)
        except ValidationError as error:
            log.info("refused a question: %s", error.errors(include_input=False, include_url=False))
            yield {"run": _run_of(event._data), "error": "This question can't be asked: it is empty or too long."}
            return
        assert request.request is not None, "every question comes over HTTP"
        if wait_s := asking.wait_s(request.request.scope):
            yield {"run": asked.run, "error": too_many(wait_s)}
            return
        page_url = settings.public_url or request.headers.get("origin", "")
        answering = engine.ask(asked.question, asked.filters, asked.turns)
        # Gradio answers outside of the request that asked.
        answers = observer.answers(answering, asked.question, "page", request.headers.get(REQUEST_ID, ""))
        try:
            for answer in answers:
                view = {"run": asked.run, **answer_view(answer, lead_in_ms=lead_in_ms)}
                if answer.done:
                    view["markdown"] = answer_markdown(answer, public_url=page_url, lead_in_ms=lead_in_ms)
                    wire = Wire(settings.model_copy(update={"public_url": page_url}))
                    view["json"] = json.dumps(wire.answer(answer), ensure_ascii=False, indent=2)
                yield view
        except TalkciteError as error:
            yield {"run": asked.run, "error": without_home(str(error), settings.home)}
        except Exception:
            log.exception("answering failed")
            yield {"run": asked.run, "error": UNEXPECTED}

    with gr.Blocks(title="talkcite", analytics_enabled=False, fill_width=True) as blocks:
        # No subclass of gr.HTML: Gradio would write a page.pyi beside this file on every import. The template holds no
        # data: Gradio evaluates what it inserts there as code.
        desk = gr.HTML(
            html_template=(_STATIC / "desk.html").read_text(encoding="utf-8"),
            js_on_load=_ON_LOAD,
            apply_default_css=False,
            elem_id="desk",
        )
        answering = desk.ask(
            ask,
            outputs=desk,
            show_progress="hidden",
            concurrency_limit=_CONCURRENT_ANSWERS,
            api_visibility="private",
        )
        # A question that never got into the queue: the queue is full, or the session has ended.
        answering.failure(None, outputs=desk, js="() => ({ refused: Date.now() })", api_visibility="private")
        desk.stop(None, cancels=[answering], queue=False, api_visibility="private")
    blocks.queue(max_size=_QUEUE_LENGTH)
    return blocks  # type: ignore[no-any-return]


def _run_of(data: object) -> int:
    """The run number of a request that could not be read, 0 when it has none."""
    run = data.get("run") if isinstance(data, dict) else None
    return run if isinstance(run, int) else 0


def _data_routes(engine: Engine, settings: Settings, *, takes_uploads: bool) -> APIRouter:
    """What the page reads by itself: what this server does, the talk list, a talk, example questions."""
    router = APIRouter(prefix="/desk")
    # Tells the page that the server is another one than before: an answer that was being written is lost.
    started = secrets.token_hex(8)

    @router.get("/about")
    def about(request: Request) -> dict[str, Any]:
        """How much an upload may bring (null: none are taken), and who has signed in (null: nobody needs to)."""
        user = request.scope.get("user")
        return {
            "uploads": {"files": MAX_FILES, "bytes": MAX_UPLOAD} if takes_uploads else None,
            "user": user.name if user is not None else None,
        }

    @router.get("/talks")
    def talks(if_none_match: Annotated[str, Header()] = "") -> Response:
        """The talk list. The page asks again now and then: 304 while nothing has changed."""
        body = json.dumps(list_view(engine.talks()), ensure_ascii=False).encode()
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {"ETag": etag, "Cache-Control": "no-cache", "X-Started": started}
        if if_none_match == etag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    @router.get("/talks/{talk_id}")
    def talk(talk_id: str) -> Response:
        try:
            return JSONResponse(talk_view(engine.talk(talk_id), settings.home), headers={"Cache-Control": "no-cache"})
        except UsageError as error:
            raise HTTPException(404, "There is no such talk.") from error

    @router.get("/examples")
    def examples() -> list[str]:
        return example_questions(engine.talks(), engine.talk)

    return router


class _Static(StaticFiles):
    """Static files that the browser checks on every load, so that an update shows at once."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response
