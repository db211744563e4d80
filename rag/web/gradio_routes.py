"""Of Gradio's routes those that the page uses. Pure ASGI.

Gradio brings dozens more: they take files, fetch addresses, call functions past the queue, tell about its internals.
The page has no use for them, so nobody gets to them.
"""

from __future__ import annotations

import re

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rag.web.paths import route_path

_USED = re.compile(
    r"(?!.*\.\.)"
    r"(/"
    r"|/(config|theme\.css|favicon\.ico|robots\.txt)"
    r"|/(assets|static)/[\w./@+-]+"
    r"|/gradio_api/(queue/(join|data)|cancel|reset|heartbeat/\w+|startup-events|info|app_id)/?)",
    re.ASCII,
)


class UsedRoutes:
    """Answers 404 for every path of Gradio's that the page does not use."""

    def __init__(self, gradio: ASGIApp) -> None:
        self._gradio = gradio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] in ("http", "websocket") and not _USED.fullmatch(route_path(scope) or "/"):
            await PlainTextResponse("Not found", status_code=404)(scope, receive, send)
            return
        await self._gradio(scope, receive, send)
