"""Adding talks in a real browser: from files that are picked or dropped to an answer that is heard."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ingest.upload import ingest_uploads
from rag.engine import Engine
from rag.errors import StoreError
from rag.settings import load_settings
from rag.web import page as page_module
from rag.web.jobs import Jobs, Progress
from tests.conftest import ROOT
from tests.fakes import WordEmbedder
from tests.web.browsing import ask
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, talk_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

TALKS = ROOT / "eval" / "data" / "talks"
PAGER = "the-pager-and-the-agent"
HOSTILE = "<img src=x onerror=window.pwned=1>${window.pwned=1}"


def entry(name: str, **more: Any) -> dict[str, Any]:
    """What a report says of one talk."""
    talk = {"path": f"{name}.vtt", "talk_id": name, "title": name, "status": "added", "language": "en", "cues": 1}
    return talk | {"minutes": 0.1, "repaired": [], "skipped": [], "warnings": []} | more


class Ingest:
    """Stands in for the real one: adds talks to the engine's library once it may, and reports them."""

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine
        self.seen: list[dict[str, bytes]] = []
        self.may_go_on = threading.Semaphore(0)
        self.entries: list[dict[str, Any]] | None = None
        self.failure: Exception | None = None

    def __call__(self, files: Any, progress: Progress) -> Any:
        self.seen.append({file.name: file.read_bytes() for file in files})
        progress.start(2)
        assert self.may_go_on.acquire(timeout=20)
        progress.finish(None)
        assert self.may_go_on.acquire(timeout=20)
        if self.failure:
            raise self.failure
        stems = [file.stem for file in files]
        self.engine.library = [*self.engine.library, *(talk_of("Hi.", talk_id=stem, title=stem) for stem in stems)]
        ignored = [{"path": "x.mp3", "why": "no captions of its name"}]
        return {"files": self.entries or [entry(stem) for stem in stems], "ignored": ignored, "removed": []}


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine([])


@pytest.fixture
def ingest(engine: FakeEngine) -> Ingest:
    return Ingest(engine)


@pytest.fixture
def jobs(ingest: Ingest) -> Iterator[Jobs]:
    with Jobs(ingest) as jobs:
        yield jobs
        ingest.may_go_on.release(100)


def files(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "mimeType": "text/vtt", "buffer": f"of {name}".encode()} for name in names]


def pick(page: Page, chosen: Any, button: str = ".find [data-add]") -> None:
    with page.expect_file_chooser() as chooser:
        page.click(button)
    chooser.value.set_files(chosen)


def drop(page: Page, name: str, content: bytes) -> None:
    page.evaluate(
        """([name, content]) => {
          const dataTransfer = new DataTransfer();
          const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
          dataTransfer.items.add(new File([bytes], name));
          const event = (type) => new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
          document.body.dispatchEvent(event("dragover"));
          window.covered = !document.querySelector(".dropping").hidden;
          document.body.dispatchEvent(event("drop"));
        }""",
        [name, base64.b64encode(content).decode()],
    )


@pytest.mark.slow
def test_from_an_empty_library_to_an_answer_that_is_heard(open_page: Callable[..., Any], tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path, llm="off")
    with Engine(settings, WordEmbedder()) as engine:
        with Jobs(partial(ingest_uploads, settings=settings, embedder=engine.embedder)) as jobs:
            server = Server(engine, jobs=jobs, home=tmp_path, llm="off")
            page, watch = open_page(server.url)
            assert page.locator(".empty h1").inner_text() == "No talks yet"
            pick(page, [TALKS / f"{PAGER}.vtt", TALKS / f"{PAGER}.mp3"], ".empty .drop")
            page.wait_for_selector(".report", timeout=60_000)
            assert page.locator(".state").inner_text() == "1 talk added."
            assert page.locator(".report p").inner_text() == "51 sentences · 5 min · with its recording"
            assert page.locator("[data-part=live]").inner_text() == "1 talk added."
            page.click("[data-part=close-uploads]")
            assert page.locator(".uploads").is_hidden()
            ask(page, "How many GPUs does Devraj Pellini carry the pager for?")
            assert page.locator(".claim .text").first.inner_text().count("512 GPUs") == 1
            page.click(".chip >> nth=0")
            page.wait_for_function("document.querySelector('audio')?.currentTime > 0")
            assert page.locator(".cue.active .words").inner_text().count("512 GPUs") == 1
            assert watch.outside == []
            server.stop()


def test_progress_is_shown_and_the_talk_can_be_opened(
    engine: FakeEngine, ingest: Ingest, jobs: Jobs, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine, jobs=jobs).url)
    pick(page, files("one.vtt", "two.vtt"), ".empty .drop")
    page.wait_for_function("document.querySelector('.state').textContent === 'Reading 1 of 2'")
    ingest.may_go_on.release()
    page.wait_for_function("document.querySelector('.state').textContent === 'Reading 2 of 2'")
    assert page.evaluate("document.querySelector('.upload progress').value") == 0.5
    ingest.may_go_on.release()
    page.wait_for_selector(".report")
    assert ingest.seen == [{"one.vtt": b"of one.vtt", "two.vtt": b"of two.vtt"}]
    assert page.locator(".state").inner_text() == "2 talks added."
    assert page.locator(".left-out").inner_text() == "x.mp3\n\nLeft out: no captions of its name."
    assert page.locator(".talks b").all_inner_texts() == ["one", "two"]
    assert page.locator(".composer").is_visible()
    page.click(".report button >> nth=1")
    page.wait_for_selector(".cue")
    assert page.locator(".title").inner_text() == "two"


def test_files_are_dropped_anywhere(
    engine: FakeEngine, ingest: Ingest, jobs: Jobs, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    engine.library = [talk_of("Hi.", talk_id="here")]
    page, _ = open_page(serve(engine, jobs=jobs).url)
    ingest.may_go_on.release(2)
    drop(page, "dropped.vtt", b"WEBVTT\xff")
    page.wait_for_selector(".report")
    assert page.evaluate("window.covered") is True
    assert page.locator(".dropping").is_hidden()
    assert ingest.seen == [{"dropped.vtt": b"WEBVTT\xff"}]


def test_a_report_tells_what_was_noticed_and_hostile_names_are_text(
    engine: FakeEngine, ingest: Ingest, jobs: Jobs, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    noticed = {"skipped": [f"a.vtt:3: {HOSTILE}"], "warnings": ["a.vtt: no end"], "repaired": ["2 sentences rebuilt"]}
    failed = entry("b", status="failed", error=f"b.vtt: {HOSTILE}")
    ingest.entries = [entry("a", title=HOSTILE, status="replaced", **noticed), entry("c", status="unchanged"), failed]
    ingest.may_go_on.release(2)
    page, watch = open_page(serve(engine, jobs=jobs).url)
    pick(page, files("a.vtt", "c.vtt"))
    page.wait_for_selector(".report")
    state = "1 talk updated, 1 talk was here already, 1 file could not be read."
    assert page.locator(".state").inner_text() == state
    assert page.locator(".stored b >> nth=0").inner_text() == HOSTILE
    assert page.locator(".failed").inner_text() == f"b.vtt: {HOSTILE}"
    page.click("text=2 things to look at")
    lines = [f"a.vtt:3: {HOSTILE}", "a.vtt: no end", "2 sentences rebuilt"]
    assert page.locator(".report details li").all_inner_texts() == lines
    assert page.evaluate("window.pwned") is None
    assert watch.outside == []


def test_a_reload_does_not_lose_sight_of_an_upload(
    engine: FakeEngine, ingest: Ingest, jobs: Jobs, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine, jobs=jobs).url)
    pick(page, files("one.vtt"))
    page.wait_for_function("document.querySelector('.state').textContent === 'Reading 1 of 2'")
    page.reload()
    page.wait_for_function("document.querySelector('.state')?.textContent === 'Reading 1 of 2'")
    ingest.may_go_on.release(2)
    page.wait_for_selector(".report")
    assert page.locator(".talks b").all_inner_texts() == ["one"]
    page.reload()
    page.wait_for_selector(".find [data-add]:visible")
    assert page.locator(".uploads").is_hidden()


def test_a_failed_job_and_a_restarted_server_are_told(
    engine: FakeEngine, ingest: Ingest, jobs: Jobs, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    server = serve(engine, jobs=jobs)
    page, _ = open_page(server.url)
    ingest.failure = StoreError("talks/one.json: can't be written (no space); free space")
    ingest.may_go_on.release(2)
    pick(page, files("one.vtt"))
    page.wait_for_function("document.querySelector('.state').textContent.endsWith('free space')")
    pick(page, files("two.vtt"))
    page.wait_for_function("document.querySelectorAll('.state')[1]?.textContent === 'Reading 1 of 2'")
    server.stop()
    with Jobs(ingest) as others:
        serve(engine, server.port, jobs=others)
        page.wait_for_function(
            "document.querySelectorAll('.state')[1].textContent.startsWith('The server was started again meanwhile')"
        )
        ingest.may_go_on.release(100)


def test_many_files_go_in_several_uploads_and_too_large_ones_not_at_all(
    engine: FakeEngine,
    ingest: Ingest,
    jobs: Jobs,
    serve: Callable[..., Server],
    open_page: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_module, "MAX_FILES", 3)
    monkeypatch.setattr(page_module, "MAX_UPLOAD", 2_000_000)
    page, _ = open_page(serve(engine, jobs=jobs).url)
    ingest.may_go_on.release(100)
    large = {"name": "large.mp4", "mimeType": "video/mp4", "buffer": bytes(2_000_001)}
    pick(page, [*files("a.vtt", "b.en.vtt", "c.vtt", "b.mp3", "b.info.json", "d.vtt"), large])
    page.wait_for_selector(".report >> nth=2")
    assert [sorted(upload) for upload in ingest.seen] == [
        ["a.vtt", "c.vtt", "d.vtt"],
        ["b.en.vtt", "b.info.json", "b.mp3"],
    ]
    line = "large.mp4: 3 MB; one upload takes 2 MB and 3 files of one talk."
    assert page.locator(".failed").all_inner_texts() == [line]


def test_a_refused_upload_can_be_tried_again(
    engine: FakeEngine, ingest: Ingest, jobs: Jobs, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine, jobs=jobs).url)
    full = '{"detail": "8 uploads are waiting already; try again later."}'
    page.route("**/api/ingest", lambda r: r.fulfill(status=503, content_type="application/problem+json", body=full))
    pick(page, files("one.vtt"))
    page.wait_for_selector("text=8 uploads are waiting already; try again later.")
    page.unroute("**/api/ingest")
    ingest.may_go_on.release(2)
    page.click(".upload button")
    page.wait_for_selector(".report")
    assert page.locator(".upload").count() == 1


def test_a_server_without_uploads_offers_none(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine).url)
    page.wait_for_selector("[data-part=model] span:not(:empty)")
    assert page.locator("[data-add]:visible").count() == 0
    assert page.locator(".empty pre").is_visible()
    drop(page, "dropped.vtt", b"x")
    assert page.evaluate("window.covered") is False
    assert page.locator(".uploads").is_hidden()
