"""A running page with a scripted engine, and a real browser to look at it."""

from __future__ import annotations

import shutil
import socket
import threading
import time
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from rag.engine import Engine
from rag.settings import Settings
from rag.web.connections import server_config
from rag.web.jobs import Jobs
from rag.web.page import create_app
from tests.web.browsing import SENTENCES
from tests.web.fake_engine import FakeEngine, quoting, talk_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_OFFLINE = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run --disable-quic --autoplay-policy=user-gesture-required"
).split()
READY_MS = 20_000


def as_engine(fake: FakeEngine | Engine) -> Engine:
    """The fake where an engine is wanted: page and API use nothing that it lacks."""
    stand_in: Any = fake
    engine: Engine = stand_in
    return engine


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium of the system; tests that need it are skipped where it or playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the PATH")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=_OFFLINE)
        yield launched
        launched.close()


class Server:
    """The page on a free loopback port, in a thread of this process."""

    def __init__(
        self,
        engine: FakeEngine | Engine,
        port: int = 0,
        jobs: Jobs | None = None,
        is_owners: bool = False,
        **settings: Any,
    ) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        app = create_app(as_engine(engine), Settings(**settings), jobs=jobs, is_owners=is_owners)
        self._server = uvicorn.Server(server_config(app, log_level="critical", timeout_graceful_shutdown=0))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.port}/"

    def stop(self) -> None:
        """End the server; open streams are cut."""
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers: `serve(engine, port=0, **settings)`; they end with the test."""
    servers: list[Server] = []

    def start(engine: FakeEngine, port: int = 0, **settings: Any) -> Server:
        servers.append(Server(engine, port, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


class Watch:
    """What a browser page did behind the screen: requests to other hosts, and errors."""

    def __init__(self, page: Page, home: str) -> None:
        self.outside: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self._request(request.url, home))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._console(message.type, message.text))

    def _request(self, url: str, home: str) -> None:
        if not url.startswith((home, "data:", "blob:", "about:")):
            self.outside.append(url)

    def _console(self, kind: str, text: str) -> None:
        # A cut connection is something that some tests bring about; everything else on the console is a defect.
        if kind == "error" and "Failed to load resource" not in text and "net::ERR" not in text:
            self.errors.append(text)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., tuple[Page, Watch]]]:
    """Opens pages, each as a user of its own: `open_page(url, **context options)`; errors on them fail the test."""
    contexts = []
    watches: list[Watch] = []

    def visit(url: str, before: Callable[[Page], None] | None = None, **options: Any) -> tuple[Page, Watch]:
        options.setdefault("viewport", {"width": 1300, "height": 850})
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        watches.append(Watch(page, url.split("?")[0].split("#")[0]))
        if before:
            before(page)
        page.goto(url)
        page.wait_for_selector(".desk[data-ready]", timeout=READY_MS)
        return page, watches[-1]

    yield visit
    for context in contexts:
        context.close()
    for watch in watches:
        assert watch.errors == []


@pytest.fixture
def tone(tmp_path: Path) -> Path:
    """A minute of silence as a WAV file."""
    path = tmp_path / "tone.wav"
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(1)
        out.setframerate(8000)
        out.writeframes(b"\x80" * 8000 * 60)
    return path


@pytest.fixture
def engine(tone: Path) -> FakeEngine:
    first = talk_of(
        *SENTENCES, talk_id="one", title="First talk", speakers=["Ada", "Ben"], event="E1", date="2024", media=str(tone)
    )
    second = talk_of(
        *SENTENCES, talk_id="two", title="Second talk", speakers=["Cy"], event="E2", date="2025", media=str(tone)
    )
    return FakeEngine([first, second], script=[quoting(first, 3, 9, 20)])
