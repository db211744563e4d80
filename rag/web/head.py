"""The page's own title and description in place of those that Gradio writes into it. Pure ASGI.

Gradio's template names itself, its site and a picture on another host in tags that link previews, search engines and
readers of the source get to see.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.web.paths import route_path

_DESCRIPTION = "Ask recorded talks a question: every sentence of the answer links to the moment it was said."
_OURS = f"""<title>talkcite</title>
		<meta name="description" content="{_DESCRIPTION}" />
		<meta property="og:title" content="talkcite" />
		<meta property="og:type" content="website" />
		<meta property="og:description" content="{_DESCRIPTION}" />
		<link rel="icon" href="desk/static/icon.svg" />
""".encode()
_THEIRS = re.compile(rb'\s*<(?:meta\s+(?:property="og:|name="twitter:)|link\s+rel="manifest")[^>]*>')
_HEAD = re.compile(rb'<meta charset="utf-8" />\s*')


class OwnHead:
    """ASGI middleware: puts our tags into the page at `/`, and leaves every other response as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or route_path(scope) != "/":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        parts: list[bytes] = []

        async def send_with_own_head(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_plain_html(message):
                start = message
            elif start is None:
                await send(message)
            else:
                parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    body = with_own_head(b"".join(parts))
                    MutableHeaders(scope=start)["content-length"] = str(len(body))
                    await send(start)
                    await send({"type": "http.response.body", "body": body})

        await self._app(scope, receive, send_with_own_head)


def with_own_head(html: bytes) -> bytes:
    """The page with our tags instead of Gradio's."""
    return _HEAD.sub(lambda found: found[0] + _OURS, _THEIRS.sub(b"", html), count=1)


def _is_plain_html(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers
