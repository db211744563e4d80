"""Asking in a real browser: answers that grow, stop, refuse, follow up, and what can be done with them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rag.types import Cue, Hit, Span
from tests.web.browsing import SENTENCES, active, ask, human_click
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, growing, quoting, refusing

pytestmark = pytest.mark.browser


def test_chips_work_at_human_speed_while_the_answer_streams(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    engine.script = growing(quoting(engine.library[0], *range(2, 26)))
    engine.pace_s = 0.5
    page, _ = open_page(serve(engine).url)
    ask(page, "Tell me everything", wait=False)
    page.wait_for_selector(".chip >> nth=3")
    for chip, cue in ((0, 2), (1, 3), (2, 4), (3, 5)):
        human_click(page, f".chip >> nth={chip}")
        page.wait_for_function(f"document.querySelector('.cue.active')?.dataset.index === '{cue}'")
        assert page.evaluate("document.activeElement.className") == "chip"
    assert page.locator(".turn[aria-busy=true]").count() == 1  # it was still streaming
    page.wait_for_selector(".turn[aria-busy=false]")
    assert page.locator(".claim").count() == 24
    assert page.evaluate("document.activeElement.className") == "chip"


def test_stop_keeps_what_is_there_and_ends_the_work(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    engine.script = growing(quoting(engine.library[0], *range(20)))
    engine.pace_s = 0.5
    page, _ = open_page(serve(engine).url)
    ask(page, "Everything?", wait=False)
    page.wait_for_selector(".claim >> nth=2")
    page.click("[data-part=stop]")
    page.wait_for_selector(".turn[aria-busy=false]")
    shown = page.locator(".claim").count()
    page.wait_for_timeout(1200)
    assert page.locator(".claim").count() == shown < 20
    assert page.locator(".turn .problem").inner_text() == "Stopped."
    assert engine.closed == 1
    engine.pace_s = 0
    page.click("text=Retry")
    page.wait_for_selector(".turn[aria-busy=false]")
    assert page.locator(".claim").count() == 20
    assert page.locator(".turn").count() == 1


def test_refusal_shows_nearest_moments_and_no_citation(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    engine.script = [refusing((engine.library[0], 4), (engine.library[1], 7))]
    page, _ = open_page(serve(engine).url)
    ask(page, "Best pizza?")
    assert page.locator(".refusal p").all_inner_texts() == [
        "The talks don’t cover this.",
        "3 talks searched. The nearest moments, which may not answer it:",
    ]
    assert page.locator(".chip").count() == 0
    assert page.locator(".card blockquote").all_inner_texts()[0].count(SENTENCES[4]) == 1
    page.click(".card .play >> nth=1")
    page.wait_for_selector(".cue.active")
    assert (page.locator(".title").inner_text(), active(page)) == ("Second talk", 7)


def test_follow_up_shows_what_was_searched_and_undoes_it(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine).url)
    ask(page, "Who is Ada?")
    assert page.locator(".searched:visible").count() == 0
    engine.script = [replace(engine.script[0], searched="When did Ada start?")]
    ask(page, "When did she start?")
    assert [turn.content for turn in engine.asked[1][2]] == ["Who is Ada?", " ".join(SENTENCES[n] for n in (3, 9, 20))]
    assert page.locator(".searched:visible").inner_text().startswith("Searched for When did Ada start?")
    engine.script = [quoting(engine.library[0], 5)]
    page.click("text=Search my words instead")
    page.wait_for_selector(".turn:last-child[aria-busy=false]")
    assert engine.asked[2][0] == "When did she start?"
    assert engine.asked[2][2] == ()
    assert page.locator(".turn").count() == 2


def test_edit_replaces_the_question_and_what_followed(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine).url)
    ask(page, "First?")
    ask(page, "Second?")
    page.click("text=Edit >> nth=0")
    assert page.input_value("textarea") == "First?"
    ask(page, "First, but better?")
    assert page.locator(".question").all_inner_texts() == ["First, but better?"]
    assert engine.asked[-1][2] == ()


def test_filters_count_talks_and_restrict_the_search(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine).url)
    options = page.locator("select[name=speaker] option").all_inner_texts()
    assert options == ["Speaker", "Ada (1)", "Ben (1)", "Cy (1)"]
    page.select_option("select[name=year]", "2025")
    assert page.locator("select[name=speaker] option").all_inner_texts() == ["Speaker", "Cy (1)"]
    page.select_option("select[name=talk]", "two")
    ask(page, "Topic?")
    filters = engine.asked[0][1]
    assert (filters.talk, filters.speaker, filters.event, filters.year) == ("two", "", "", "2025")
    assert page.locator(".within").inner_text() == "Only in: Second talk, 2025"


def test_two_users_share_nothing(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    engine.pace_s = 0.3
    server = serve(engine)
    ada, _ = open_page(server.url)
    ben, _ = open_page(server.url)
    ask(ada, "Ada's question?", wait=False)
    ask(ben, "Ben's question?", wait=False)
    for page, own in ((ada, "Ada's question?"), (ben, "Ben's question?")):
        page.wait_for_selector(".turn[aria-busy=false]")
        assert page.locator(".question").all_inner_texts() == [own]


def test_uncited_finds_are_folded_and_many_citations_stay_readable(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    cues = tuple(Cue(f"s{n + 1}", n * 1000, n * 1000 + 900, f"Sentence {n + 1}.") for n in range(40))
    talk = engine.library[0] = replace(engine.library[0], cues=cues)
    many = quoting(talk, *range(40))
    one = replace(many.claims[0], citations=tuple(range(1, 41)))
    hits = (Hit(talk, 0, 1, 0.5, Span(0, 1)), Hit(engine.library[1], 2, 3, 0.4, Span(2, 3)))
    engine.script = [replace(many, claims=(one,), hits=hits)]
    page, _ = open_page(serve(engine).url)
    ask(page, "All?")
    assert page.locator(".chip").count() == 6
    assert page.locator(".sources .card:visible").count() == 5
    page.click("text=+34")
    page.click("text=Show all 40 sources")
    assert page.locator(".chip").count() == 40
    assert page.locator(".sources .card:visible").count() == 40
    assert page.locator(".more summary").inner_text() == "1 more moment found"
    assert page.locator(".more .card").is_hidden()


def test_moments_found_are_there_before_the_first_sentence(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    talk = engine.library[0]
    hits = (Hit(talk, 3, 3, 0.5, Span(3, 3)), Hit(talk, 15, 16, 0.4, Span(15, 16)))
    engine.script = [replace(snapshot, hits=hits) for snapshot in growing(quoting(talk, 3))]
    engine.pace_s = 1.0
    page, _ = open_page(serve(engine).url)
    ask(page, "All?", wait=False)
    page.wait_for_selector(".more .card >> nth=1")
    assert page.locator(".claim").count() == 0
    assert page.locator(".more summary").inner_text() == "2 moments found"
    page.wait_for_selector(".claim")
    assert page.locator(".more .card").is_hidden()


def test_strips_show_where_it_is_said_and_jump_there(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    first, second = engine.library
    answer = quoting(first, 3, 15)
    engine.script = [replace(answer, hits=(Hit(second, 9, 10, 0.5, Span(9, 10)),))]
    page, _ = open_page(serve(engine).url)
    ask(page, "Where?")
    legend = "Where it is said: 1 cited  also about it. Click to listen from there."
    assert page.locator(".legend").inner_text() == legend
    assert page.locator(".strip .name").all_inner_texts() == ["First talk", "Second talk"]
    assert page.locator(".rows .pin").evaluate_all("pins => pins.map(pin => pin.style.left)") == ["10%", "50%"]
    heat = page.locator(".rows .heat").evaluate("heat => [heat.style.left, heat.style.width]")
    assert heat == ["30%", "6.67%"]
    page.click(".rows .pin >> nth=1")
    page.wait_for_selector(".cue.active")
    assert active(page) == 15
    track = page.locator(".track >> nth=1").bounding_box()
    assert track is not None
    page.mouse.click(track["x"] + track["width"] * 0.81, track["y"] + track["height"] / 2)
    page.wait_for_function("document.querySelector('.title').textContent === 'Second talk'")
    assert active(page) == 24


def test_written_claims_are_marked_in_words_and_quotes_not_at_all(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    answer = quoting(engine.library[0], 3, 9, 20)
    page, _ = open_page(serve(engine).url)
    engine.script = [answer]
    ask(page, "Quotes?")
    assert page.locator(".support").count() == 0
    assert page.locator(".by").inner_text() == "Quoted word for word"
    backed, weak, lone = answer.claims
    claims = (backed, replace(weak, support="weak"), replace(lone, support="unsupported"))
    engine.script = [replace(answer, claims=claims, answered_by="a model")]
    ask(page, "Written?")
    assert page.locator(".support > [aria-hidden]").all_inner_texts() == [
        "✓", "≈ weakly backed", "? not backed by the talks",
    ]  # fmt: skip
    assert page.locator(".support .sr-only").all_text_contents() == [
        "Backed by the cited words", "The cited words back this only in part", "No cited words back this",
    ]  # fmt: skip
    by_line = "Written by a model. ✓ means: backed by the cited words"
    assert page.locator(".turn:last-child .by").inner_text() == by_line


def test_copying(engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]) -> None:
    server = serve(engine)
    page, _ = open_page(server.url, permissions=["clipboard-read", "clipboard-write"])
    ask(page, "Topic 3?")
    page.click("text=Copy as Markdown")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"**Topic 3?**\n\n{SENTENCES[3]} [0:06]({server.url}?talk=one&t=6#s4)\n")
    page.click("text=Copy as JSON")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert (copied["question"], copied["claims"][0]["text"]) == ("Topic 3?", SENTENCES[3])
    cited = copied["citations"][0]
    assert (cited["title"], cited["quote"], cited["start_ms"]) == ("First talk", SENTENCES[3], 6000)
    assert cited["url"] == f"{server.url}?talk=one&t=6#s4"
    page.click(".actions >> text=Copy link")
    assert page.evaluate("navigator.clipboard.readText()") == f"{server.url}?talk=one&t=6&q=Topic+3%3F#s4"
    page.click(".chip >> nth=1")
    page.wait_for_selector(".cue.active")
    page.click("[data-part=copy-moment]")
    assert re.search(r"\?talk=one&t=18#s10$", page.evaluate("navigator.clipboard.readText()"))
