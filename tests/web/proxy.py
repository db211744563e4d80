"""A small reverse proxy on loopback, as people put one in front of the page."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade"}


class Proxy:
    """Passes what comes below `path` on to the port `upstream`, in pieces as it arrives.

    `strips`: without `path`; `keeps_host`: with the name that the client used, else with the app's own address.
    """

    def __init__(self, path: str = "", *, strips: bool = True, keeps_host: bool = True) -> None:
        proxy = self
        self.upstream = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self) -> None:
                if not self.path.startswith(f"{path}/"):
                    self.send_error(404)
                    return
                target = self.path.removeprefix(path) if strips else self.path
                headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
                client = str(self.client_address[0])
                before = self.headers.get("X-Forwarded-For")
                headers["X-Forwarded-For"] = f"{before}, {client}" if before else client
                if not keeps_host:
                    headers["Host"] = f"127.0.0.1:{proxy.upstream}"
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
                connection = http.client.HTTPConnection("127.0.0.1", proxy.upstream, timeout=30)
                try:
                    connection.request(self.command, target, body, headers)
                    answer = connection.getresponse()
                    self.send_response_only(answer.status)
                    for name, value in answer.getheaders():
                        if name.lower() not in _HOP:
                            self.send_header(name, value)
                    self.send_header("Connection", "close")
                    self.end_headers()
                    while piece := answer.read1(65_536):
                        self.wfile.write(piece)
                        self.wfile.flush()
                except OSError:  # a browser that leaves, or a server that stops
                    pass
                finally:
                    self.close_connection = True
                    connection.close()

            do_GET = do_HEAD = do_POST = pass_on

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
