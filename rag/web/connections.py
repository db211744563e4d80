"""How the web server listens: whom it believes, and how long it waits.

uvicorn by itself waits for ever for the end of a request's head. Proxies on this machine, and those that are
configured, are believed who their client is; nobody else can choose an address.
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_S = 20.0
MAX_HEAD = 64_000  # bytes that are read while no request has begun; what comes in one piece is read whole
_THIS_MACHINE = "127.0.0.1,::1"


def server_config(app: ASGIApp, trusted_proxies: str = "", **others: Any) -> uvicorn.Config:
    """The configuration to serve `app` with; `others` are uvicorn's own."""
    trusted = ",".join(filter(None, (_THIS_MACHINE, trusted_proxies)))
    return uvicorn.Config(
        app, http=Connection, proxy_headers=True, forwarded_allow_ips=trusted, server_header=False, **others
    )


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """One connection. Within `HEAD_S` after it opened, and after each answer, the head of a request must have come."""

    _waiting: asyncio.TimerHandle | None = None
    _unasked = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Something has come: a part of a head, of a body, or of one that nobody reads any more."""
        last = self.cycle
        super().data_received(data)
        if self.cycle is not last:
            self._unasked = 0
        elif self.cycle is None or self.cycle.response_complete:
            self._unasked += len(data)
            if self._unasked > MAX_HEAD:
                self.transport.close()

    def on_response_complete(self) -> None:
        """An answer is sent; what is left of its request's body, should any come, is no new request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, *args: Any) -> None:
        """From now on the connection is another protocol's."""
        self._stop_waiting()
        super().handle_websocket_upgrade(*args)

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_S, self._close_unless_asked, self.cycle)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()

    def _close_unless_asked(self, last: object) -> None:
        if self.cycle is last:
            self.transport.close()
