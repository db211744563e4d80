"""Signing in and out in a real browser; what becomes of the page when a session ends; a full queue; a proxy's path."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag.users import User, hash_password, write_users
from rag.web import page as page_module
from tests.web.browsing import active, ask
from tests.web.conftest import READY_MS, Server
from tests.web.fake_engine import FakeEngine, growing
from tests.web.proxy import Proxy

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

USERS = {name: User(name, hash_password(f"{name}'s horse", cost=2)) for name in ("ada", "bob")}


@pytest.fixture
def users_file(tmp_path: Path) -> Path:
    write_users(tmp_path / "users", USERS)
    return tmp_path / "users"


@pytest.fixture
def server(engine: FakeEngine, serve: Callable[..., Server], users_file: Path) -> Server:
    return serve(engine, home=users_file.parent, auth=users_file)


@pytest.fixture
def visit(browser: Browser) -> Any:
    """Opens an address as a new visitor; errors in the page's scripts fail the test."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_(url: str, **options: Any) -> Page:
        contexts.append(browser.new_context(**{"viewport": {"width": 1300, "height": 850}, **options}))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert errors == []


def sign_in(page: Page, name: str = "ada", password: str = "") -> None:
    page.wait_for_selector("[name=name]:focus")  # without a click
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(password or f"{name}'s horse")
    page.keyboard.press("Enter")


def wait_until_ready(page: Page) -> None:
    page.wait_for_selector(".desk[data-ready]", timeout=READY_MS)


def test_by_keyboard_to_where_one_was_going(server: Server, visit: Callable[..., Page]) -> None:
    page = visit(f"{server.url}?talk=two&t=8#s5")
    assert page.title() == "Sign in to talkcite"
    sign_in(page, password="wrong horse")
    page.wait_for_selector("#wrong:visible")
    assert page.inner_text("#wrong") == "No user has this name and password."
    sign_in(page)
    wait_until_ready(page)
    assert page.url == f"{server.url}?talk=two&t=8#s5"
    assert page.inner_text(".listen .title") == "Second talk"
    assert active(page) == 4
    assert page.inner_text(".account span") == "ada"
    ask(page, "What about topic 3?")
    assert page.locator(".chip").count() == 3


def test_without_scripts(server: Server, visit: Callable[..., Page]) -> None:
    page = visit(f"{server.url}?talk=one", java_script_enabled=False)
    sign_in(page)
    page.wait_for_url(f"{server.url}?talk=one")
    assert [cookie["httpOnly"] for cookie in page.context.cookies()] == [True]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_on_a_phone(server: Server, visit: Callable[..., Page], scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit(server.url, viewport={"width": 390, "height": 780}, color_scheme=scheme)
    sign_in(page, password="wrong horse")
    page.wait_for_selector("#wrong:visible")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert min(page.evaluate("[...document.querySelectorAll('input, button')].map((e) => e.offsetHeight)")) >= 44
    assert axe.run(page).response["violations"] == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 22, 20)"
    assert dark == (scheme == "dark")
    sign_in(page)
    wait_until_ready(page)
    assert page.is_visible("text=Sign out")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_signing_out_leaves_nothing_for_the_next(server: Server, visit: Callable[..., Page]) -> None:
    page = visit(server.url)
    sign_in(page)
    wait_until_ready(page)
    ask(page, "A private question?")
    page.click("text=Sign out")
    page.wait_for_selector("[name=password]")
    assert page.context.cookies() == []
    page.go_back()  # not from the browser's cache either
    page.wait_for_selector("#wrong", state="attached")
    page.goto(server.url)
    sign_in(page, "bob")
    wait_until_ready(page)
    assert page.inner_text(".account span") == "bob"
    assert page.locator(".turn").count() == 0


def test_a_session_that_ends_while_the_page_is_open(
    engine: FakeEngine, server: Server, visit: Callable[..., Page], users_file: Path
) -> None:
    page = visit(server.url)
    sign_in(page)
    wait_until_ready(page)
    ask(page, "What about topic 3?")
    write_users(users_file, {})
    ask(page, "And topic 4?")
    assert page.inner_text(".turn:last-child .problem") == "You are signed out. Sign in, then retry."
    assert page.inner_text(".banner").startswith("You are signed out.")
    assert page.locator("body", has_text="Not signed in").count() == 0
    write_users(users_file, USERS)
    page.click(".banner a")
    page.wait_for_selector("[name=password]")
    sign_in(page)
    wait_until_ready(page)
    assert page.locator(".question").all_inner_texts() == ["What about topic 3?", "And topic 4?"]
    assert page.locator(".turn:first-child .chip").count() == 3
    page.click(".turn:last-child button:text-is('Retry')")
    page.wait_for_selector(".turn:last-child[aria-busy=false] .chip")
    assert [asked for asked, *_ in engine.asked] == ["What about topic 3?", "And topic 4?"]


def test_a_session_that_ends_while_nothing_is_asked(
    server: Server, visit: Callable[..., Page], users_file: Path
) -> None:
    page = visit(server.url)
    sign_in(page)
    wait_until_ready(page)
    write_users(users_file, {})
    page.click(".talks button >> nth=0")  # its transcript has to be asked for
    page.wait_for_selector(".banner:visible")
    assert page.inner_text(".banner") == "You are signed out.Sign in"
    write_users(users_file, USERS)
    other = page.context.new_page()
    other.goto(server.url)  # the session is good again, as after signing in at another tab
    wait_until_ready(other)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_selector(".banner", state="hidden")


def test_another_user_in_the_same_tab_does_not_see_what_the_first_asked(
    server: Server, visit: Callable[..., Page], users_file: Path
) -> None:
    page = visit(server.url)
    sign_in(page)
    wait_until_ready(page)
    ask(page, "A private question?")
    write_users(users_file, {"bob": USERS["bob"]})
    page.reload()
    sign_in(page, "bob")
    wait_until_ready(page)
    assert page.inner_text(".account span") == "bob"
    assert page.locator(".turn").count() == 0
    assert "private" not in page.evaluate("JSON.stringify(sessionStorage)")


def test_a_page_that_needs_no_user_shows_none(
    engine: FakeEngine, serve: Callable[..., Server], visit: Callable[..., Page]
) -> None:
    page = visit(serve(engine).url)
    wait_until_ready(page)
    assert not page.is_visible("text=Sign out")


def test_a_full_queue_and_too_many_questions_are_said_where_they_were_asked(
    engine: FakeEngine, serve: Callable[..., Server], visit: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "_CONCURRENT_ANSWERS", 1)
    monkeypatch.setattr(page_module, "_QUEUE_LENGTH", 1)
    engine.script = growing(engine.script[0])
    engine.pace_s = 0.5
    server = serve(engine)
    pages = [visit(server.url) for _ in range(3)]
    for page in pages:
        wait_until_ready(page)
    for n, page in enumerate(pages):
        ask(page, f"Question {n}?", wait=False)
        deadline = time.monotonic() + 10
        while n == 0 and not engine.asked and time.monotonic() < deadline:
            page.wait_for_timeout(20)
    full = pages[2]
    full.wait_for_selector(".turn[aria-busy=false]")
    assert full.inner_text(".turn .problem") == "The server takes no more questions just now. Retry in a minute."
    assert not full.is_visible("text=This application is currently busy")
    for page in pages[:2]:
        page.wait_for_selector(".turn[aria-busy=false] .chip")
    full.click("button:text-is('Retry')")
    full.wait_for_selector(".turn[aria-busy=false] .chip")


def test_too_many_questions_of_one_client(
    engine: FakeEngine, serve: Callable[..., Server], visit: Callable[..., Page], users_file: Path
) -> None:
    server = serve(engine, home=users_file.parent, auth=users_file, asks_per_minute=1)
    page = visit(server.url)
    sign_in(page)
    wait_until_ready(page)
    ask(page, "One?")
    ask(page, "Two?")
    said = page.inner_text(".turn:last-child .problem")
    assert said.startswith("That were many questions in a short time; please ask again in ")
    assert [asked for asked, *_ in engine.asked] == ["One?"]


@pytest.mark.parametrize("strips", [True, False])
@pytest.mark.parametrize("keeps_host", [True, False])
def test_below_a_path_behind_a_proxy(
    engine: FakeEngine,
    serve: Callable[..., Server],
    visit: Callable[..., Page],
    users_file: Path,
    strips: bool,
    keeps_host: bool,
) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("no chromium on the PATH")
    with Proxy("/talks", strips=strips, keeps_host=keeps_host) as proxy:
        server = serve(engine, home=users_file.parent, auth=users_file, public_url=proxy.url)
        proxy.upstream = server.port
        outside: list[str] = []
        page = visit(f"{proxy.url}/?talk=two&t=8#s5")
        page.on("request", lambda request: outside.append(request.url))
        sign_in(page)
        wait_until_ready(page)
        assert page.url == f"{proxy.url}/?talk=two&t=8#s5"
        assert page.inner_text(".listen .title") == "Second talk"
        ask(page, "What about topic 3?")
        assert page.locator(".chip").count() == 3
        assert page.evaluate("document.querySelector('video, audio').duration > 59")
        page.click("text=Sign out")
        page.wait_for_selector("[name=password]")
        assert [url for url in outside if not url.startswith((f"{proxy.url}/", "blob:", "data:"))] == []
