"""Text from captions, titles, questions and models is shown as it is: nothing runs, nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.pipeline import ingest
from rag.errors import LLMError
from rag.types import CheckedClaim
from tests.ingest.fake_writer import FakeWriter
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, growing, quoting, refusing, talk_of

pytestmark = pytest.mark.browser

HOSTILE = [
    "Use <script>window.pwned = 1</script> here",
    "Type <img src=x onerror=window.pwned=1> to see",
    "&lt;img src=x onerror=window.pwned=1&gt;",
    "[16:23](javascript:window.pwned=1) and [x](data:text/html,<script>window.pwned=1</script>)",
    "![p](https://example.org/p.png?q=secret) and $x$ and $$y$$ and `code`",
    "${window.pwned = 1} and ` and ${",
    "{{window.pwned}} {{{value}}} {{#each value}}x{{/each}}",
    "<form action=https://example.org><input name=password><button>Sign in</button></form>",
    "<div style='position:fixed;inset:0;background:red'>overlay</div>",
    "<iframe src=https://example.org></iframe><link rel=stylesheet href=https://example.org/x.css>",
    "https://example.org/auto-link www.example.org me@example.org",
    "<svg onload=window.pwned=1> </textarea><script>window.pwned=1</script>",
    "right-to-left \u202egnirts\u202c and null-ish \ufffd and emoji 🎤",
]

# Elements that text would have made, had it been read as markup.
FOREIGN = ".desk :is(script, img, form:not(.composer, .account, .choose-model form), iframe, svg, style)"


@pytest.fixture
def engine(tone: Path) -> FakeEngine:
    talk = talk_of(
        *HOSTILE,
        talk_id="hostile",
        title=HOSTILE[0],
        speakers=[HOSTILE[1], HOSTILE[3]],
        event=HOSTILE[5],
        date="2024",
        media=str(tone),
    )
    return FakeEngine([talk, talk_of("Fine.", talk_id="fine", speakers=["Ada"], event="E")])


def texts(page: Any, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).all_text_contents()
    return found


def test_transcript_quotes_and_model_text(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    talk = engine.library[0]
    answer = quoting(talk, *range(len(HOSTILE)))
    model = tuple(CheckedClaim(text, (n,), "weak") for n, text in enumerate(HOSTILE, 1))
    engine.script = [
        replace(
            answer, claims=model, answered_by=HOSTILE[1], notice=HOSTILE[7], missing=HOSTILE[6], searched=HOSTILE[8]
        )
    ]
    page, watch = open_page(serve(engine).url)
    page.fill("textarea", HOSTILE[9])
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn[aria-busy=false]")
    page.click(".chip >> nth=0")
    page.wait_for_selector(".cue.active")
    page.fill(".read input", "window.pwned")
    assert texts(page, ".claim .text") == HOSTILE
    assert texts(page, ".words") == HOSTILE
    assert texts(page, ".question") == [HOSTILE[9]]
    assert texts(page, ".notice") == [HOSTILE[7]]
    assert texts(page, ".missing") == [f"Not covered: {HOSTILE[6]}"]
    assert texts(page, ".by") == [f"Written by {HOSTILE[1]}"]
    assert texts(page, ".title") == [HOSTILE[0]]
    assert HOSTILE[0] in texts(page, ".talks b")
    assert page.evaluate("window.pwned") is None
    assert page.locator(FOREIGN).count() == 0
    assert watch.outside == []
    page.reload()
    page.wait_for_selector(".desk[data-ready]")
    assert texts(page, ".claim .text") == HOSTILE
    assert page.evaluate("window.pwned") is None
    assert watch.outside == []


def test_hostile_caption_files(
    shared: Path, tmp_path: Path, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    writer = FakeWriter(tmp_path)
    ingest(sorted((shared / "cases" / "ingest").glob("hostile-*.vtt")), writer)
    talks = [writer.library.get(talk_id) for talk_id in writer.library.ids()]
    assert len(talks) == 2
    page, watch = open_page(serve(FakeEngine(talks, script=[quoting(talks[0], 0)])).url)
    for number, talk in enumerate(talks):
        page.goto(f"{page.url.split('?')[0]}?talk={talk.id}")
        page.wait_for_selector(".desk[data-ready] .cue")
        assert texts(page, ".words") == [cue.text for cue in talk.cues]
        assert texts(page, ".title") == [talk.title]
        assert page.locator(FOREIGN).count() == 0, number
    assert page.evaluate("window.pwned") is None
    assert watch.outside == []


def test_refusals_and_failures(engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]) -> None:
    engine.script = [refusing((engine.library[0], 1))]
    page, watch = open_page(serve(engine).url)

    def ask() -> None:
        page.fill("textarea", "Well?")
        page.keyboard.press("Enter")
        page.wait_for_selector(".turn:last-child[aria-busy=false]")

    ask()
    assert HOSTILE[1] in texts(page, ".card blockquote")[0]

    engine.script = growing(quoting(engine.library[0], 2))[1:]
    engine.failure = LLMError(HOSTILE[1])
    ask()
    assert texts(page, ".turn:last-child .problem") == [HOSTILE[1]]
    assert texts(page, ".turn:last-child .claim .text") == [HOSTILE[2]]
    engine.failure = RuntimeError("secret detail")
    ask()
    assert texts(page, ".turn:last-child .problem") == ["Something went wrong here; the log of the server says what."]
    assert "secret detail" not in page.content()
    assert page.evaluate("window.pwned") is None
    assert watch.outside == []
