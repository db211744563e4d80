"""The web app: `python app.py [--host 127.0.0.1] [--port 7860]`."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

from rag.errors import StartError, TalkciteError
from rag.files import ensure_folder
from rag.settings import Settings, load_settings
from rag.users import read_users

# Open streams get this long to end when the app is stopped, in seconds.
_GRACE_S = 2


def main(argv: Sequence[str] | None = None, prog: str = "app.py") -> int:
    """Serve the page until stopped; returns the exit code (3 when it can't start). `prog` is its name in messages."""
    parser = argparse.ArgumentParser(prog=prog, description="Ask recorded talks in the browser.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument(
        "--port", type=_port, default=7860, help="port to listen on, 0 for any free one (default: 7860)"
    )
    parser.add_argument("--insecure", action="store_true", help="let others in without users (RAG_AUTH)")
    args = parser.parse_args(argv)
    try:
        settings = load_settings()
        ensure_folder(settings.home)
        with _listen(args.host, args.port) as listener:
            _check_users(settings, listener, args.insecure)
            _serve(settings, listener, args.host)
    except TalkciteError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 0
    return 0


def _port(text: str) -> int:
    """A port number; others would be taken modulo 65536 by the system."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number from 0 to 65535")
    return int(text)


def _listen(host: str, port: int) -> socket.socket:
    """A socket bound to host and port, before anything slow is loaded. Raises `StartError`."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StartError(f"{host}:{port}: {reason}; choose another with --host and --port") from None
    return listener


def _check_users(settings: Settings, listener: socket.socket, insecure: bool) -> None:
    """Raises `StartError` when anybody could come in who was not meant to, or nobody could."""
    if settings.auth:
        if not read_users(settings.auth):
            raise StartError(f"RAG_AUTH {settings.auth}: holds no users; add one with 'python -m rag user NAME'")
    elif not (insecure or _is_loopback(listener)):
        raise StartError(
            f"--host {listener.getsockname()[0]}: others could come in without signing in; name a users file with "
            "RAG_AUTH, or listen on 127.0.0.1 behind a proxy that knows your users, or give --insecure"
        )


def _is_loopback(listener: socket.socket) -> bool:
    """True when only this machine reaches the socket."""
    return ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def _is_owners(settings: Settings, listener: socket.socket) -> bool:
    """True when nobody but the users of this machine reaches the page: no proxy brings others to it."""
    return _is_loopback(listener) and not settings.public_url and not settings.read_only


def _serve(settings: Settings, listener: socket.socket, host: str) -> None:
    # By default SIGTERM ends a process at once, and uvicorn, having stopped, sends it again; but uploads and the local
    # model have yet to be put in order then. While things load it waits: an interrupted import may keep its lock.
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())

    # Loading takes seconds: after everything that can fail fast.
    from ingest.upload import ingest_uploads
    from rag.engine import Engine
    from rag.llms import load_llm
    from rag.schema import IngestReport
    from rag.web.connections import server_config
    from rag.web.jobs import Jobs, Progress
    from rag.web.log import set_up_log
    from rag.web.page import create_app
    from rag.web.serving import Server

    def ingest(files: Sequence[Path], progress: Progress) -> IngestReport:
        return ingest_uploads(files, progress, settings=settings, embedder=engine.embedder)

    set_up_log(settings.log)
    with Engine(settings, llm=load_llm(settings, in_background=True)) as engine, Jobs(ingest) as jobs:
        app = create_app(
            engine,
            settings,
            names=[host],
            jobs=None if settings.read_only else jobs,
            is_owners=_is_owners(settings, listener),
        )
        config = server_config(
            app,
            settings.trusted_proxies,
            log_config=None,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        shown = f"[{host}]" if ":" in host else host
        # The socket has been listening for the browser's first request since `listen`; nothing is refused from here on.
        listener.listen()
        address = f"http://{shown}:{listener.getsockname()[1]}/"
        print(f"talkcite is at {address} (library: {settings.home}; stop it with Ctrl+C)", flush=True)
        Server(config, app, stopped).run(sockets=[listener])


if __name__ == "__main__":
    sys.exit(main())
