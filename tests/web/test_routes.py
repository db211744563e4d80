"""The app over HTTP: data routes, the asking event as Gradio's clients call it, many users at once."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag.errors import StoreError
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, growing, quoting, talk_of

TALK = talk_of(
    *[f"Sentence {n}." for n in range(10)], talk_id="a b/c", title="T", speakers=["Ada"], source="/home/x.vtt"
)
USERS = 20


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine([TALK])


@pytest.fixture
def server(engine: FakeEngine, serve: Callable[..., Server]) -> Server:
    return serve(engine)


def ask(server: Server, session: str, **request: Any) -> list[dict[str, Any]]:
    """Asks as the page does; returns the snapshots in order (Gradio sends the later ones as changes)."""
    with httpx.Client(base_url=server.url, timeout=60) as client:
        joined = client.post(
            "gradio_api/queue/join",
            json={"data": [], "event_data": request, "fn_index": 0, "trigger_id": 1, "session_hash": session},
        )
        joined.raise_for_status()
        snapshots: list[dict[str, Any]] = []
        with client.stream("GET", "gradio_api/queue/data", params={"session_hash": session}) as stream:
            for line in stream.iter_lines():
                message = json.loads(line.removeprefix("data: ")) if line else {}
                if message.get("msg") == "process_generating" and not snapshots:
                    snapshots.append(message["output"]["data"][0])
                if message.get("msg") == "process_completed":
                    snapshots.extend(message["output"]["data"])
                    return snapshots
    raise AssertionError("the stream ended early")


def test_talk_list_changes_only_with_the_library(engine: FakeEngine, server: Server) -> None:
    first = httpx.get(f"{server.url}desk/talks")
    assert [talk["id"] for talk in first.json()] == ["a b/c"]
    assert "/home/x.vtt" not in first.text
    again = {"If-None-Match": first.headers["etag"]}
    assert httpx.get(f"{server.url}desk/talks", headers=again).status_code == 304
    engine.library = [TALK, talk_of("New.", talk_id="new")]
    assert httpx.get(f"{server.url}desk/talks", headers=again).status_code == 200


def test_a_talk_by_id(server: Server) -> None:
    assert httpx.get(f"{server.url}desk/talks/nobody").status_code == 404
    assert httpx.get(f"{server.url}desk/talks/..%2f..%2fetc").status_code == 404


def test_the_page_names_no_outside_host_and_holds_no_data(server: Server) -> None:
    home = httpx.get(server.url)
    assert "/desk/static/" not in home.headers.get("location", "")
    assert "Sentence 1." not in home.text
    assert home.headers["content-security-policy"].startswith("default-src 'self'")
    loaded = re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(https?:)?//", home.text)
    assert loaded == []


def test_the_page_has_a_title_and_description_of_its_own(server: Server) -> None:
    home = httpx.get(server.url)
    assert int(home.headers["content-length"]) == len(home.content)
    head = home.text[: home.text.index("<script")]
    assert re.findall(r"<title>(.*?)</title>", head) == ["talkcite"]
    described = "Ask recorded talks a question: every sentence of the answer links to the moment it was said."
    assert re.findall(r'<meta (?:name|property)="(description|og:\w+|twitter:\w+)" content="(.*?)"', home.text) == [
        ("description", described), ("og:title", "talkcite"), ("og:type", "website"), ("og:description", described),
    ]  # fmt: skip
    assert "gradio.app" not in home.text
    assert "githubusercontent" not in home.text
    icon = httpx.get(f"{server.url}desk/static/icon.svg")
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")


def test_the_template_has_no_place_where_gradio_would_run_data() -> None:
    template = Path("rag/web/static/desk.html")
    text = (Path(__file__).parents[2] / template).read_text(encoding="utf-8")
    assert not re.search(r"\$\{|\{\{|`|@children|<script", text)


def test_scripts_put_text_on_the_page_as_text_only() -> None:
    for script in (Path(__file__).parents[2] / "rag/web/static").glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://(?!www\.youtube-nocookie"
            r"\.com|player\.vimeo\.com)\w",
            script.read_text(encoding="utf-8"),
        ), script.name


def test_static_files_are_checked_on_every_load_and_nothing_else_is_served(server: Server) -> None:
    script = httpx.get(f"{server.url}desk/static/desk.js")
    assert script.headers["cache-control"] == "no-cache"
    assert "javascript" in script.headers["content-type"]
    assert httpx.get(f"{server.url}desk/static/..%2fpage.py").status_code == 404


UNUSED = [
    ("POST", "gradio_api/upload"),
    ("GET", "gradio_api/file=/etc/passwd"),
    ("GET", "gradio_api/file/etc/passwd"),
    ("GET", "gradio_api/proxy=http://127.0.0.1:1/"),
    ("GET", "proxy=http://127.0.0.1:1/"),
    ("POST", "gradio_api/run/ask"),  # would pass the queue by
    ("POST", "gradio_api/call/ask"),
    ("POST", "gradio_api/api/ask"),
    ("POST", "gradio_api/process_recording"),
    ("POST", "gradio_api/stream/x"),
    ("GET", "gradio_api/component_server"),
    ("GET", "gradio_api/openapi.json"),
    ("GET", "gradio_api/vibe-code"),
    ("GET", "monitoring"),
    ("GET", "monitoring/summary"),
    ("GET", "gradio_api/custom_component/x/client/component/x.js"),
    ("GET", "pwa_icon"),
    ("GET", "manifest.json"),
    ("POST", "login"),
    ("GET", "logout"),
    ("GET", "config/../monitoring"),
    ("GET", "assets/..%2f..%2f..%2fapp.py"),
    ("GET", "static/%2e%2e/%2e%2e/routes.py"),
]


def test_what_the_page_does_not_use_of_gradio_is_closed(server: Server) -> None:
    for method, path in UNUSED:
        assert httpx.request(method, f"{server.url}{path}", json={"data": []}).status_code == 404, path


def test_asking(engine: FakeEngine, server: Server) -> None:
    engine.script = growing(quoting(TALK, 1, 2))
    past = [{"question": "Before?", "answer": "Yes."}]
    snapshots = ask(server, "s1", run=7, question="  What? ", talk="a b/c", year="2024", history=past)
    assert {snapshot["run"] for snapshot in snapshots} == {7}
    assert snapshots[-1]["done"]
    assert [claim["text"] for claim in snapshots[-1]["claims"]] == ["Sentence 1.", "Sentence 2."]
    question, filters, history = engine.asked[0]
    assert question == "What?"
    assert (filters.talk, filters.speaker, filters.event, filters.year) == ("a b/c", "", "", "2024")
    assert [(turn.role, turn.content) for turn in history] == [("user", "Before?"), ("assistant", "Yes.")]


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"question": ""},
        {"question": "   "},
        {"question": "x" * 2001},
        {"question": ["x"]},
        {"question": "ok", "talk": "x" * 301},
        {"question": "ok", "history": [{"question": "x"}]},
        {"question": "ok", "history": [{"question": "x", "answer": "y" * 8001}]},
        {"question": "ok", "history": [{"question": "x", "answer": "y"}] * 9},
    ],
)
def test_malformed_requests_are_refused_in_words(engine: FakeEngine, server: Server, request_: dict[str, Any]) -> None:
    assert ask(server, "s2", run=3, **request_)[-1] == {
        "run": 3,
        "error": "This question can't be asked: it is empty or too long.",
    }
    assert engine.asked == []


def test_errors_for_users_are_shown_and_others_only_logged(engine: FakeEngine, server: Server) -> None:
    engine.failure = StoreError("data: no talks yet")
    assert ask(server, "s3", run=1, question="x")[-1] == {"run": 1, "error": "data: no talks yet"}
    engine.failure = ZeroDivisionError("secret")
    assert ask(server, "s4", run=1, question="x")[-1] == {
        "run": 1,
        "error": "Something went wrong here; the log of the server says what.",
    }


def test_twenty_users_at_once_wait_for_nobody(engine: FakeEngine, server: Server) -> None:
    engine.script = growing(quoting(TALK, *range(4)))
    engine.pace_s = 0.25
    alone_s = engine.pace_s * len(engine.script)
    answers: dict[int, list[dict[str, Any]]] = {}

    def one(user: int) -> None:
        answers[user] = ask(server, f"user{user}", run=user, question=f"Question {user}?")

    threads = [threading.Thread(target=one, args=(user,)) for user in range(USERS)]
    before = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed_s = time.monotonic() - before
    assert len(answers) == USERS
    for user, snapshots in answers.items():
        assert {snapshot["run"] for snapshot in snapshots} == {user}
        assert snapshots[-1]["searched"] == f"Question {user}?"
    # One after the other it would take twenty times as long as alone.
    assert elapsed_s < USERS * alone_s / 2


def test_links_for_the_clipboard_start_with_the_public_address(serve: Callable[..., Server]) -> None:
    talk = replace(TALK, media="/x/y.mp3")
    server = serve(FakeEngine([talk]), public_url="https://talks.example.org")
    assert (
        "](https://talks.example.org/?talk=a%20b%2Fc&t=0#s1)" in ask(server, "s5", run=1, question="x")[-1]["markdown"]
    )
