"""axe-core finds no serious violation, in any state of the page, light or dark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rag.types import Chapter, Hit, Span
from rag.web.jobs import Jobs
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, quoting, refusing, talk_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def violations(page: Page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation_while_talks_are_added(
    serve: Callable[..., Server], open_page: Callable[..., Any], scheme: str
) -> None:
    stored = {"path": "a.vtt", "talk_id": "a", "title": "A", "status": "added", "language": "en", "cues": 1}
    stored |= {"minutes": 1.0, "repaired": ["1 sentence rebuilt"], "skipped": [], "warnings": ["no end"]}
    failed = stored | {"status": "failed", "error": "b.vtt: no captions"}
    report: Any = {"files": [stored, failed], "ignored": [{"path": "c.mp3", "why": "no captions"}], "removed": []}
    engine = FakeEngine([])

    def ingest(files: Any, progress: Any) -> Any:
        engine.library = [talk_of("Hi.", talk_id="a", title="A")]
        return report

    with Jobs(ingest) as jobs:
        page, _ = open_page(serve(engine, jobs=jobs).url, color_scheme=scheme, bypass_csp=True)
        page.wait_for_selector(".empty .drop:visible")
        assert violations(page) == []
        with page.expect_file_chooser() as chooser:
            page.click(".empty .drop")
        chooser.value.set_files([{"name": "a.vtt", "mimeType": "text/vtt", "buffer": b"WEBVTT"}])
        page.wait_for_selector(".report")
        page.click(".report summary")
        assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation(
    serve: Callable[..., Server], open_page: Callable[..., Any], tone: Any, scheme: str
) -> None:
    talk = talk_of(
        *[f"Sentence {n}." for n in range(9)], talk_id="one", title="First", speakers=["Ada", "Ben"], date="2024",
        media=str(tone), chapters=(Chapter(0, "Opening"),),
    )  # fmt: skip
    other = talk_of("X.", talk_id="two", title="Second", date="2025")
    answer = replace(
        quoting(talk, 1, 2, 3), answered_by="a model", notice="A notice.", missing="a part", searched="Else?"
    )
    first, weak, lone = answer.claims
    claims = (first, replace(weak, support="weak"), replace(lone, support="unsupported"))
    engine = FakeEngine([talk, other], script=[replace(answer, claims=claims, hits=(Hit(other, 0, 0, 1, Span(0, 0)),))])
    page, _ = open_page(serve(engine).url, color_scheme=scheme, bypass_csp=True)
    assert violations(page) == []
    for question in ("What?", "Pizza?"):
        page.fill("textarea", question)
        page.keyboard.press("Enter")
        page.wait_for_selector(".turn:last-child[aria-busy=false]")
        if question == "What?":
            page.click(".chip >> nth=0")
            page.wait_for_selector(".cue.active")
            page.click(".more summary")
        assert violations(page) == []
        engine.script = [refusing((talk, 4))]
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("[data-show=read]")
    assert violations(page) == []
