"""The address that others reach the page by (`RAG_PUBLIC_URL`), behind a proxy and below a path too. Pure ASGI.

What a client says of itself in forwarded headers is told to nobody: Gradio would build the page's addresses from it.
Whose request it is, the web server has settled before (`trusted_proxies`).
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rag.web.security import host_name, is_address

_FORWARDED = (b"x-forwarded-", b"forwarded", b"x-real-ip", b"x-gradio-server", b"x-direct-url", b"x-original-")


class Front:
    """ASGI middleware: gives requests the scheme, host and path of `public_url` where they came by it.

    The proxy may strip the path of `public_url` or leave it, and pass on the name in `Host` or put the app's own
    address there. Whoever asks the app itself, at its own address, is served as well.
    """

    def __init__(self, app: ASGIApp, public_url: str = "") -> None:
        self._app = app
        parts = urlsplit(public_url)
        self._scheme = parts.scheme
        self._host = parts.netloc.lower()
        self._root = parts.path.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request."""
        app: ASGIApp = self._app
        if scope["type"] in ("http", "websocket"):
            if self._root and scope["path"] == self._root:  # the page's own addresses start from the slash
                app = RedirectResponse(f"{self._root}/", 307)
            scope = self._seen_from_outside(scope)
        await app(scope, receive, send)

    def _seen_from_outside(self, scope: Scope) -> Scope:
        given = Headers(scope=scope)
        host = given.get("host", "").lower()
        by_proxy = host == self._host or ("x-forwarded-for" in given and _is_own_address(host))
        headers = [(name, value) for name, value in scope["headers"] if not name.startswith(_FORWARDED)]
        seen = {**scope, "headers": headers, "root_path": self._root}
        if self._host and by_proxy:
            seen["headers"] = [(b"host", self._host.encode()), *(pair for pair in headers if pair[0] != b"host")]
            secure = self._scheme == "https"
            seen["scheme"] = {"http": ("http", "https"), "websocket": ("ws", "wss")}[scope["type"]][secure]
        path = scope["path"]
        if not path.startswith(f"{self._root}/"):
            seen["path"] = f"{self._root}{path}"
            seen["raw_path"] = self._root.encode() + (scope.get("raw_path") or path.encode())
        return seen


def _is_own_address(host: str) -> bool:
    """True for what a proxy puts in `Host` for an app that it calls by address; a stranger's name stays what it is."""
    name = host_name(host)
    return name == "localhost" or is_address(name)
