"""Reading and listening in a real browser: moments, addresses, the talk list, keyboard, narrow screens."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rag.types import Chapter
from tests.timing import slowness
from tests.web.browsing import SENTENCES, active, ask
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, quoting, talk_of

pytestmark = pytest.mark.browser


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


def test_on_a_phone_a_link_to_a_moment_opens_the_transcript_there(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    url = serve(engine).url
    page, _ = open_page(f"{url}?talk=two&t=18#s10", **phone)
    assert page.locator(".cue.active").is_visible()
    assert page.locator("audio").is_visible()
    page.tap("[data-show=ask]")
    ask(page, "Topic 3?")
    assert page.locator(".claim").first.is_visible()
    page.reload()
    page.wait_for_selector(".desk[data-ready]")
    assert page.locator(".claim").first.is_visible()


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
    assert elapsed < 1000 * slowness()
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
        # Scrolling stays smooth because the browser lays out what is near the visible part only.
        drawn = page.locator(".transcript .block > :first-child").evaluate_all(
            "cues => cues.filter((cue) => cue.checkVisibility({ contentVisibilityAuto: true })).length"
        )
        assert 1 <= drawn <= 6
    assert page.locator(".transcript .block").count() == 100


def test_the_talk_list_tells_what_a_talk_is_and_finds_it(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(engine).url)
    assert page.locator(".talks button").all_inner_texts() == [
        "Second talk\nCy\nE2 · 2025 · 1 min", "First talk\nAda, Ben\nE1 · 2024 · 1 min",
    ]  # fmt: skip
    for query, found in (
        ("first", ["First talk"]),
        ("CY 2025", ["Second talk"]),
        ("talk e", ["Second talk", "First talk"]),
    ):
        page.fill(".library input", query)
        assert page.locator(".talks b").all_inner_texts() == found
    page.fill(".library input", "nothing like it")
    assert page.locator(".nothing").inner_text() == "No talk matches."


def test_a_date_in_the_talk_list_stays_on_one_line(serve: Callable[..., Server], open_page: Callable[..., Any]) -> None:
    talks = [
        talk_of("Hello.", talk_id=f"t{n}", title=f"Talk {n}", event="e" * n, date="2025-06-14") for n in range(1, 70)
    ]
    page, _ = open_page(serve(FakeEngine(talks)).url)
    dates = page.locator(".talks time").evaluate_all("times => times.map(time => time.getClientRects().length)")
    assert dates == [1] * len(talks)
