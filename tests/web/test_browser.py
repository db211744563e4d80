"""The page in a real browser: asking, playing, following, addresses, keyboard, narrow screens."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag.types import Chapter, Hit, Span
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, growing, quoting, refusing, talk_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SENTENCES = [f"Sentence number {n} says something about topic {n % 7}." for n in range(1, 31)]
# A finger or a mouse button stays down about this long.
HUMAN_CLICK_MS = 110


def ask(page: Page, question: str, *, wait: bool = True) -> None:
    page.fill("textarea", question)
    page.keyboard.press("Enter")
    if wait:
        page.wait_for_selector(".turn:last-child[aria-busy=false]")


def human_click(page: Page, selector: str) -> None:
    box = page.locator(selector).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.wait_for_timeout(HUMAN_CLICK_MS)
    page.mouse.up()


def active(page: Page) -> int:
    """The position of the marked cue, -1 when none is."""
    return int(page.evaluate("Number(document.querySelector('.cue.active')?.dataset.index ?? -1)"))


@pytest.fixture
def engine(tone: Path) -> FakeEngine:
    first = talk_of(
        *SENTENCES, talk_id="one", title="First talk", speakers=["Ada", "Ben"], event="E1", date="2024", media=str(tone)
    )
    second = talk_of(
        *SENTENCES, talk_id="two", title="Second talk", speakers=["Cy"], event="E2", date="2025", media=str(tone)
    )
    return FakeEngine([first, second], script=[quoting(first, 3, 9, 20)])


def test_answer_then_chip_plays_the_moment_and_marks_its_cue(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, watch = open_page(serve(engine).url)
    ask(page, "What about topic 3?")
    assert page.locator(".claim .text").all_inner_texts() == [SENTENCES[3], SENTENCES[9], SENTENCES[20]]
    assert page.locator(".chip").all_inner_texts() == ["1\n0:06", "2\n0:18", "3\n0:40"]
    assert page.locator(".chip").nth(1).get_attribute("href") == "?talk=one&t=18#s10"
    page.click(".chip >> nth=0")  # loads the talk
    page.wait_for_selector(".cue.active")
    measured = page.evaluate(
        """async () => {
          const audio = document.querySelector("audio");
          if (audio.readyState < 1) await new Promise((r) => audio.addEventListener("loadedmetadata", r));
          const results = [];
          for (const [chip, cue, seconds] of [[1, 9, 18], [2, 20, 40], [0, 3, 6]]) {
            const seeked = new Promise((r) => audio.addEventListener("seeked", r, { once: true }));
            const before = performance.now();
            document.querySelectorAll(".chip")[chip].click();
            const marked = () => document.querySelector(".cue.active")?.dataset.index === String(cue);
            while (!marked()) await new Promise(requestAnimationFrame);
            const highlight = performance.now() - before;
            await seeked;
            results.push({ highlight, off: Math.abs(audio.currentTime - seconds), playing: !audio.paused });
          }
          return results;
        }"""
    )
    assert all(result["off"] <= 0.1 and result["playing"] for result in measured)
    assert statistics.median(result["highlight"] for result in measured) <= 100
    assert watch.outside == []
    # The marked cue is in view and the transcript alone was scrolled for it.
    assert page.evaluate("scrollY") == 0
    assert page.evaluate(
        """() => {
          const cue = document.querySelector(".cue.active").getBoundingClientRect();
          const list = document.querySelector(".transcript").getBoundingClientRect();
          return cue.top >= list.top && cue.bottom <= list.bottom;
        }"""
    )


def test_chips_work_at_human_speed_while_the_answer_streams(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    engine.script = growing(quoting(engine.library[0], *range(2, 26)))
    engine.pace_s = 0.3
    page, _ = open_page(serve(engine).url)
    ask(page, "Tell me everything", wait=False)
    page.wait_for_selector(".chip >> nth=3")
    for chip, cue in ((0, 2), (1, 3), (2, 4), (3, 5)):
        human_click(page, f".chip >> nth={chip}")
        page.wait_for_function(f"document.querySelector('.cue.active')?.dataset.index === '{cue}'", timeout=1000)
        assert page.evaluate("document.activeElement.className") == "chip"
    assert page.locator(".turn[aria-busy=true]").count() == 1  # it was still streaming
    page.wait_for_selector(".turn[aria-busy=false]")
    assert page.locator(".claim").count() == 24
    assert page.evaluate("document.activeElement.className") == "chip"


def test_stop_keeps_what_is_there_and_ends_the_work(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    engine.script = growing(quoting(engine.library[0], *range(20)))
    engine.pace_s = 0.1
    page, _ = open_page(serve(engine).url)
    ask(page, "Everything?", wait=False)
    page.wait_for_selector(".claim >> nth=2")
    page.click("[data-part=stop]")
    page.wait_for_selector(".turn[aria-busy=false]")
    shown = page.locator(".claim").count()
    page.wait_for_timeout(600)
    assert page.locator(".claim").count() == shown < 20
    assert page.locator(".problem").inner_text() == "Stopped."
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


def test_reload_keeps_the_conversation_and_back_returns(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine).url)
    ask(page, "Topic 3?")
    page.click(".chip >> nth=0")
    page.wait_for_selector(".cue.active")
    page.click(".chip >> nth=1")
    page.wait_for_function("location.hash === '#s10'")
    assert page.evaluate("location.search") == "?talk=one&t=18&q=Topic+3%3F"
    page.reload()
    page.wait_for_selector(".desk[data-ready]")
    assert page.locator(".question").all_inner_texts() == ["Topic 3?"]
    assert page.locator(".claim").count() == 3
    assert page.input_value("textarea") == ""
    assert active(page) == 9
    assert len(engine.asked) == 1
    page.go_back()
    page.wait_for_function("document.querySelector('.cue.active').dataset.index === '3'")
    assert page.evaluate("location.hash") == "#s4"


@pytest.mark.parametrize(
    ("address", "title", "cue", "question"),
    [
        ("?talk=two&t=18&q=What+is+it%3F#s10", "Second talk", 9, "What is it?"),
        ("?talk=two&t=19", "Second talk", 9, ""),
        ("?talk=two#s3", "Second talk", 2, ""),
        ("?talk=two&t=99999", "Second talk", 29, ""),
        ("?talk=two&t=NaN#s99999", "Second talk", -1, ""),
        ("?talk=two&t=-5&q=%00", "Second talk", -1, "\0"),
        ("?talk=%3Cscript%3Ealert(1)%3C/script%3E&t=1#s1", "", -1, ""),
        ("?talk=../../etc/passwd", "", -1, ""),
        ("#s10", "", -1, ""),
        ("?t=1e9&q=#%", "", -1, ""),
    ],
)
def test_addresses_restore_what_they_name_and_rubbish_does_nothing(
    engine: FakeEngine,
    serve: Callable[..., Server],
    open_page: Callable[..., Any],
    address: str,
    title: str,
    cue: int,
    question: str,
) -> None:
    page, watch = open_page(serve(engine).url + address)
    assert page.locator(".title").inner_text() == title
    assert active(page) == cue
    assert page.input_value("textarea") == question
    assert engine.asked == []
    assert page.locator(".turn").count() == 0
    assert page.locator(".banner:visible").all_inner_texts() == (
        ["This talk is not in the library."] if "talk=" in address and not title else []
    )
    assert watch.outside == []


def test_keyboard_alone(engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]) -> None:
    page, _ = open_page(serve(engine).url)
    page.keyboard.press("/")
    page.keyboard.type("Topic 3?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn[aria-busy=false]")
    assert page.locator("[data-part=live]").inner_text() == "Answer ready, 3 sources."
    page.evaluate("document.activeElement.blur()")
    seen = []
    for key in ("]", "]", "]", "]", "[", "["):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        seen.append(active(page))
    assert seen == [3, 9, 20, 3, 20, 9]
    page.keyboard.press(" ")
    assert page.evaluate("document.querySelector('audio').paused")
    page.keyboard.press(" ")
    assert not page.evaluate("document.querySelector('audio').paused")
    # A chip takes the focus with Tab and plays with Enter; so does a cue, which the arrow keys reach.
    page.focus(".chip >> nth=2")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.cue.active').dataset.index === '20'")
    page.focus(".cue .time[tabindex='0']")
    before = int(page.evaluate("document.activeElement.closest('.cue').dataset.index"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function(f"document.querySelector('.cue.active').dataset.index === '{before + 1}'")


def test_a_phone_shows_everything_without_overflow(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    long = "Supercalifragilistic" * 12
    engine.library[0] = replace(engine.library[0], title=f"First talk {long}")
    engine.script = [quoting(engine.library[0], 3, 9)]
    page, _ = open_page(
        serve(engine).url, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, device_scale_factor=2
    )
    ask(page, f"What about {long}?")
    page.tap(".chip >> nth=1")
    page.wait_for_selector(".cue.active", state="attached")
    player = page.locator("audio").bounding_box()
    answer = page.locator(".answer").bounding_box()
    assert player is not None
    assert answer is not None
    assert player["y"] < answer["y"]
    for view in ("ask", "read"):
        page.tap(f"[data-show={view}]")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        too_wide = page.evaluate(
            """() => [...document.querySelectorAll(".desk *")]
              .filter((e) => e.checkVisibility() && !e.closest(".filters, .sr-only"))
              .filter((e) => e.getBoundingClientRect().right > 391)
              .map((e) => e.className)"""
        )
        assert too_wide == []
    assert page.locator(".cue.active").is_visible()
    page.tap("[data-show=ask]")
    chip = page.locator(".chip >> nth=0").bounding_box()
    assert chip is not None
    assert chip["height"] >= 24


def test_transcript_search_chapters_and_follow(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    engine.library[0] = replace(engine.library[0], chapters=(Chapter(0, "Opening"), Chapter(30_000, "Middle")))
    page, _ = open_page(serve(engine).url + "?talk=one")
    page.fill(".read input", "TOPIC 6")
    assert page.locator(".count").inner_text() == "1 of 4"
    assert page.locator(".words mark").all_inner_texts() == ["topic 6"] * 4
    page.fill(".read input", "")
    assert page.locator("mark").count() == 0
    assert page.locator(".words").all_text_contents() == SENTENCES
    page.select_option(".chapters", "30000")
    page.wait_for_function("document.querySelector('.cue.active').dataset.index === '15'")
    assert page.locator(".follow").is_hidden()
    page.hover(".transcript")
    page.mouse.wheel(0, 400)
    page.wait_for_selector(".follow:visible")
    page.click(".follow")
    assert page.locator(".follow").is_hidden()


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


def test_new_talks_show_up_and_a_restart_is_told_and_survived(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    library, engine.library = engine.library, []
    server = serve(engine)
    page, _ = open_page(server.url)
    assert page.locator(".empty h1").inner_text() == "No talks yet"
    assert page.locator(".composer").is_hidden()
    engine.library = library
    look = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(look)
    page.wait_for_selector(".talks li")
    assert page.locator(".talks b").all_inner_texts() == ["Second talk", "First talk"]
    ask(page, "Topic?")
    server.stop()
    page.evaluate(look)
    page.wait_for_selector(".banner:visible")
    assert page.locator(".banner").inner_text() == "The server does not answer. Trying again…"
    serve(engine, server.port)
    page.evaluate(look)
    page.wait_for_selector(".banner", state="hidden")
    page.wait_for_selector(".desk[data-ready]")
    ask(page, "Again?")
    assert page.locator(".question").all_inner_texts() == ["Topic?", "Again?"]
    assert page.locator(".claim").count() == 6


def test_a_talk_that_was_removed_is_told(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine).url)
    ask(page, "Topic?")
    engine.library = engine.library[1:]
    page.click(".chip >> nth=0")
    page.wait_for_selector(".banner:visible")
    assert page.locator(".banner").inner_text() == "This talk is not in the library."
    page.wait_for_selector(".banner", state="hidden", timeout=10_000)


def test_a_long_talk_opens_at_once(serve: Callable[..., Server], open_page: Callable[..., Any]) -> None:
    texts = [f"Sentence {n}. " + "word " * (5 + n % 23) for n in range(4000)]
    long = talk_of(*texts, talk_id="long", each_ms=2700, title="Three hours")
    page, _ = open_page(serve(FakeEngine([long])).url)
    elapsed = page.evaluate(
        """async () => {
          const before = performance.now();
          document.querySelector(".talks button").click();
          while (document.querySelectorAll(".cue").length < 4000) await new Promise(requestAnimationFrame);
          document.querySelector(".transcript").getBoundingClientRect();
          return performance.now() - before;
        }"""
    )
    assert elapsed < 1000
    for cue in (3999, 17, 2500):
        page.evaluate(f"document.querySelector('.cue[data-index=\"{cue}\"]').click()")
        page.wait_for_timeout(200)
        place = page.evaluate(
            """() => {
              const list = document.querySelector(".transcript").getBoundingClientRect();
              return (document.querySelector(".cue.active").getBoundingClientRect().top - list.top) / list.height;
            }"""
        )
        assert active(page) == cue
        assert 0.2 < place < 0.6


def test_uncited_finds_are_folded_and_many_citations_stay_readable(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    talk = engine.library[0]
    many = quoting(talk, *range(30))
    one = replace(many.claims[0], citations=tuple(range(1, 31)))
    hits = (Hit(talk, 0, 1, 0.5, Span(0, 1)), Hit(engine.library[1], 2, 3, 0.4, Span(2, 3)))
    engine.script = [replace(many, claims=(one,), hits=hits)]
    page, _ = open_page(serve(engine).url)
    ask(page, "All?")
    assert page.locator(".chip").count() == 6
    assert page.locator(".sources .card:visible").count() == 5
    page.click("text=+24")
    page.click("text=Show all 30 sources")
    assert page.locator(".chip").count() == 30
    assert page.locator(".sources .card:visible").count() == 30
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
    assert page.locator(".strip .name").all_inner_texts() == ["First talk", "Second talk"]
    assert page.locator(".pin").evaluate_all("pins => pins.map(pin => pin.style.left)") == ["10%", "50%"]
    heat = page.locator(".heat").evaluate("heat => [heat.style.left, heat.style.width]")
    assert heat == ["30%", "6.67%"]
    page.click(".pin >> nth=1")
    page.wait_for_selector(".cue.active")
    assert active(page) == 15
    track = page.locator(".track >> nth=1").bounding_box()
    assert track is not None
    page.mouse.click(track["x"] + track["width"] * 0.81, track["y"] + track["height"] / 2)
    page.wait_for_function("document.querySelector('.title').textContent === 'Second talk'")
    assert active(page) == 24


def test_copying(engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]) -> None:
    server = serve(engine)
    page, _ = open_page(server.url, permissions=["clipboard-read", "clipboard-write"])
    ask(page, "Topic 3?")
    page.click("text=Copy as Markdown")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"**Topic 3?**\n\n{SENTENCES[3]} [0:06]({server.url}?talk=one&t=6#s4)\n")
    page.click(".actions >> text=Copy link")
    assert page.evaluate("navigator.clipboard.readText()") == f"{server.url}?talk=one&t=6&q=Topic+3%3F#s4"
    page.click(".chip >> nth=1")
    page.wait_for_selector(".cue.active")
    page.click("[data-part=copy-moment]")
    assert re.search(r"\?talk=one&t=18#s10$", page.evaluate("navigator.clipboard.readText()"))
