"""The page that asks for name and password, and the way out. Works without scripts; wrong guesses are slowed down."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from rag.errors import StartError
from rag.users import Users, plain_name
from rag.web.paths import SIGN_IN, SIGN_OUT
from rag.web.rate import Buckets, address_of
from rag.web.sessions import LIFETIME_S, Sessions

_log = logging.getLogger(__name__)

_PAGE = (Path(__file__).with_name("static") / "sign-in.html").read_text(encoding="utf-8")
_NO_STORE = {"Cache-Control": "no-store"}

# Wrong guesses that one address, and that all who try one name, have free; then one in so many seconds.
_BY_ADDRESS, _BY_NAME, _THEN_S = 10, 30, 20
# Guesses that are looked at together: each costs a quarter of a second of one core, and 16 MB.
_TOGETHER = 2


def sign_in_routes(users: Users, sessions: Sessions, *, secure: bool) -> APIRouter:
    """`GET` and `POST /sign-in`, `POST /sign-out`. With `secure` the cookie is sent over https alone."""
    router = APIRouter()
    by_address = Buckets(_BY_ADDRESS, 1 / _THEN_S)
    by_name = Buckets(_BY_NAME, 1 / _THEN_S)
    threads = CapacityLimiter(_TOGETHER)

    @router.get(SIGN_IN)
    def page() -> Response:
        return _page("")

    @router.post(SIGN_IN)
    async def sign_in(request: Request) -> Response:
        async with request.form(max_files=0, max_fields=4) as form:
            name, password = (str(form.get(field, "")) for field in ("name", "password"))
        address, tried = address_of(request.scope), plain_name(name)
        wait_s = max(by_address.take(address), by_name.take(tried))
        if wait_s:
            return _page("often", 429, {"Retry-After": str(math.ceil(wait_s))})
        try:
            user = await to_thread.run_sync(users.with_password, name, password, limiter=threads)
        except StartError as error:
            _log.error("%s", error)
            return _page("unread", 503)
        if user is None:
            return _page("wrong", 403)
        by_address.give_back(address)
        by_name.give_back(tried)
        root = request.scope.get("root_path", "")
        response = RedirectResponse(root + own_path(request.query_params.get("next", "")), 303, _NO_STORE)
        response.set_cookie(
            sessions.cookie,
            sessions.open(user),
            max_age=LIFETIME_S,
            path=f"{root}/",
            secure=secure,
            httponly=True,
            samesite="lax",
        )
        return response

    @router.post(SIGN_OUT)
    def sign_out(request: Request) -> Response:
        root = request.scope.get("root_path", "")
        response = RedirectResponse(root + SIGN_IN, 303, _NO_STORE)
        response.delete_cookie(sessions.cookie, path=f"{root}/", secure=secure, httponly=True, samesite="lax")
        return response

    return router


def own_path(address: str) -> str:
    """`address` when it is a path on this server and nothing else, else the front page."""
    plain = address.isascii() and address.isprintable() and "\\" not in address and " " not in address
    if not plain or not address.startswith("/") or address.startswith("//"):
        return "/"
    parts = urlsplit(address)
    return "/" if parts.scheme or parts.netloc else address


def _page(shown: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """The page, with one of the messages that it holds; nothing that anybody sent is ever put into it."""
    html = _PAGE.replace(f'id="{shown}" hidden', f'id="{shown}"') if shown else _PAGE
    return HTMLResponse(html, status, {**_NO_STORE, **(headers or {})})
