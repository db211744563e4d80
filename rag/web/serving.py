"""uvicorn, with streams that end by themselves when it is stopped: with an event that says so, not in the middle."""

from __future__ import annotations

import socket
import threading

import uvicorn
from fastapi import FastAPI


class Server(uvicorn.Server):
    """Serves an app of `create_app`, unless `is_stopped` is set before it listens to signals itself."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, is_stopped: threading.Event) -> None:
        super().__init__(config)
        self._app = app
        self._is_stopped = is_stopped

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        self.should_exit = self.should_exit or self._is_stopped.is_set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let answers end, then wait for their connections as long as the configuration says."""
        self._app.state.stop_answers()
        await super().shutdown(sockets)
