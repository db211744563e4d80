"""Who gets in when there are users (`RAG_AUTH`): browsers by session, programs by bearer token. Pure ASGI."""

from __future__ import annotations

import logging
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.errors import StartError
from rag.users import User, Users
from rag.web.paths import SIGN_IN, Access, access_to, is_for_programs, route_path
from rag.web.problem import ProblemResponse, problem
from rag.web.sessions import Sessions

_log = logging.getLogger(__name__)

_NO_USERS = "Nobody can be let in: the users file can't be read. The log of the server says why."


class Gate:
    """ASGI middleware: lets requests of users through, with the user in `scope["user"]`, and refuses the others.

    A browser that is on its way to a page is sent to sign in (303); everybody else gets 401 as problem+json.
    """

    def __init__(self, app: ASGIApp, users: Users, sessions: Sessions) -> None:
        self._app = app
        self._users = users
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request, or refuse it before its body is read."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        access = access_to(route_path(scope))
        try:
            user = self._user(scope, access)
        except StartError as error:
            _log.error("%s", error)
            await ProblemResponse(problem(503, _NO_USERS), {"Connection": "close"})(scope, receive, send)
            return
        if user is None and access is not Access.OPEN:
            await _refusal(scope)(scope, receive, send)
            return
        if user is None:
            await self._app(scope, receive, send)
            return
        scope["user"] = user

        async def send_for_this_user(message: Message) -> None:
            if message["type"] == "http.response.start":
                # No proxy, and no back button after signing out, may show it to somebody else.
                MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_for_this_user)

    def _user(self, scope: Scope, access: Access) -> User | None:
        if access is Access.OPEN:
            return None
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        if access is not Access.SESSION and scheme.lower() == "bearer":
            return self._users.with_token(token.strip())
        if access is not Access.TOKEN:
            return self._sessions.user(HTTPConnection(scope).cookies.get(self._sessions.cookie, ""))
        return None


def _refusal(scope: Scope) -> ASGIApp:
    path = route_path(scope)
    if _is_a_page_opened(scope, path):
        asked = quote(path) + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
        return RedirectResponse(
            f"{scope.get('root_path', '')}{SIGN_IN}?{urlencode({'next': asked})}", 303, {"Cache-Control": "no-store"}
        )
    if is_for_programs(path):
        why = "Not signed in: send Authorization: Bearer with a token that 'python -m rag user NAME --token' makes."
    else:
        why = "You are signed out. Sign in to go on."
    # The body of a refused request is not read, so nothing more can come over this connection.
    return ProblemResponse(problem(401, why), {"WWW-Authenticate": 'Bearer realm="talkcite"', "Connection": "close"})


def _is_a_page_opened(scope: Scope, path: str) -> bool:
    """True when a browser's window is on its way here, as opposed to a script on a page, or a program."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or is_for_programs(path):
        return False
    headers = Headers(scope=scope)
    return headers.get("sec-fetch-mode", "navigate") == "navigate" and "text/html" in headers.get("accept", "")
