"""What every response says to the browser, and which requests are answered at all. Pure ASGI.

A page on this machine is open to every web site that its user visits: a site may point a name of its own at
127.0.0.1 and read the answers (DNS rebinding), or post to it from another origin. So a request is answered only when
its Host is an address, localhost or a name that the owner gave, and its Origin, if any, is the page itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.web.paths import is_for_programs, route_path
from rag.web.problem import ProblemResponse, problem

PLAYERS = ("https://www.youtube-nocookie.com", "https://player.vimeo.com")

# Gradio compiles its templates in the browser ('unsafe-eval') and starts from inline scripts ('unsafe-inline'). The
# rest makes up for it: nothing can be loaded from, sent to or posted to another host.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        f"frame-src {' '.join(PLAYERS)}",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    # YouTube refuses to play without a referrer; other sites learn the origin, never the question in the address.
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """ASGI middleware: refuses strange hosts and origins (403) and adds the security headers to every response.

    `names` are host names under which the page may be reached beside localhost and plain addresses; `public_url` is
    its address behind a proxy, if any.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str] = (), public_url: str = "") -> None:
        self._app = app
        self._public = _netloc(public_url)
        self._names = {"localhost", *(name.lower() for name in names)}
        if self._public:
            self._names.add(host_name(self._public))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        app = _refuse(route_path(scope), refusal) if refusal else self._app
        await app(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers) -> str:
        host = headers.get("host", "").lower()
        if not self._is_ours(host_name(host)):
            return f"Host {host!r} is not known here: set RAG_PUBLIC_URL to the address that others reach the page by."
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) not in {host, self._public} - {""}:
            return f"Origin {origin!r} may not use this page."
        return ""

    def _is_ours(self, name: str) -> bool:
        return name in self._names or is_address(name)


def _refuse(path: str, why: str) -> ASGIApp:
    """The refusal, as people read it or, where programs ask, as they do."""
    return ProblemResponse(problem(403, why)) if is_for_programs(path) else PlainTextResponse(why, status_code=403)


def _netloc(address: str) -> str:
    """Host and port of an address in lower case; "" when it has none or is malformed."""
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return ""


def host_name(host: str) -> str:
    """The name of a Host header without its port; "" when it is not one."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_address(name: str) -> bool:
    """True for IPv4 and IPv6 addresses: a stranger's name can be pointed here, an address can't."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
