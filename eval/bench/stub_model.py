"""A server on loopback that stands in for a fast language model: it repeats lines of the prompt and cites them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

_CUE = re.compile(r"^(s\d+)\| (?:[^:.]{1,40}: )?(.+)$", re.MULTILINE)
_CLAIMS = 3
_PACE_S = 0.01  # between two claims


class StubModel:
    """The server; it can go and come back at the same address, as in an outage."""

    def __init__(self) -> None:
        self.replies = 0
        self._port = 0
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Its address, as a setting takes it."""
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> None:
        """Listen, at the address of before if there was one."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for chunk in _reply(body):
                    self.wfile.write(f"data: {chunk}\n\n".encode())
                    self.wfile.flush()
                model.replies += 1

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is said."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that hangs up, which it may."""

        self._server = Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_port
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextmanager
def stub_model() -> Iterator[StubModel]:
    """A model that has started; it ends with the block."""
    model = StubModel()
    model.start()
    try:
        yield model
    finally:
        model.stop()


def _reply(body: dict[str, Any]) -> Iterator[str]:
    """The chunks of the streamed reply."""
    lines = _CUE.findall(body["messages"][-1]["content"])[:_CLAIMS]
    if "response_format" not in body:  # it was asked for a word
        yield _chunk("yes")
    else:
        yield _chunk('{"covered": true, "claims": [')
        for number, (cue_id, text) in enumerate(lines):
            time.sleep(_PACE_S)
            yield _chunk((", " if number else "") + json.dumps({"cues": [cue_id], "text": text}))
        yield _chunk('], "missing": ""}')
    usage = {"prompt_tokens": 1000, "completion_tokens": 60, "total_tokens": 1060}
    yield json.dumps({**json.loads(_chunk("", "stop")), "usage": usage})
    yield "[DONE]"


def _chunk(text: str, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return json.dumps(
        {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": [choice]}
    )
