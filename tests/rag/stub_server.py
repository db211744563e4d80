"""A server on loopback that speaks as much of the chat API as a test scripts, well or badly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Exchange"], None]


class Exchange:
    """One request, `body` being its parsed JSON, and the ways to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        self._handler = handler
        self.body = body

    def send(self, status: int, payload: str, kind: str = "application/json", **headers: str) -> None:
        """A whole response; `retry_after="1"` becomes the header Retry-After."""
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", kind)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.write(payload.encode())

    def error(self, status: int, message: str, **fields: str) -> None:
        self.send(status, json.dumps({"error": {"message": message, **fields}}))

    def stream(self, *chunks: dict[str, Any] | str, done: bool = True) -> None:
        """Server-sent events: dicts as chunks of a completion, strings as they are."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "text/event-stream")
        self._handler.end_headers()
        for chunk in chunks:
            self.event(chunk if isinstance(chunk, str) else json.dumps(chunk))
        if done:
            self.event("[DONE]")

    def keep_alive(self) -> None:
        """A comment, which means nothing; fails once the other side has hung up."""
        self._handler.wfile.write(b": still here\n\n")
        self._handler.wfile.flush()

    def event(self, data: str) -> None:
        self._handler.wfile.write(f"data: {data}\n\n".encode())
        self._handler.wfile.flush()


def said(text: str | None, **fields: Any) -> dict[str, Any]:
    """A chunk of a streamed completion that says `text`."""
    finish = fields.pop("finish_reason", None)
    delta = {"content": text, **fields}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "stub",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}  # fmt: skip


class Stub:
    """What the server was asked, and how many of its connections the other side closed while it stalled."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.hung_up = threading.Event()

    def stall(self, exchange: Exchange) -> None:
        """Say nothing until the test ends or the client hangs up."""
        while not self.released.wait(0.05):
            try:
                exchange.keep_alive()
            except OSError:
                self.hung_up.set()
                return


@contextmanager
def serving(*behaviours: Callable[[Stub, Exchange], None]) -> Iterator[Stub]:
    """A server whose n-th request meets the n-th behaviour, and later ones the last."""
    stub = Stub()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stub.requests.append(body)
            stub.headers.append(dict(self.headers))
            behaviour = behaviours[min(len(stub.requests), len(behaviours)) - 1]
            behaviour(stub, Exchange(self, body))

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield stub
    finally:
        stub.released.set()
        time.sleep(0.06)
        server.shutdown()
        server.server_close()
        thread.join()
