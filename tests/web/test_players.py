"""Players in a real browser: video files, and the embedded players of two sites, stood in for by their protocol."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, quoting, talk_of

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page, Route

pytestmark = pytest.mark.browser

TALK = talk_of(*[f"Sentence {n}." for n in range(1, 31)], talk_id="one", title="First talk", each_ms=2500)

# What YouTube's embedded player says and understands, as far as the page uses it.
YOUTUBE = """<!doctype html><script>
const start = Number(new URLSearchParams(location.search).get("start"));
let time = start, heard = [];
const tell = (event, info) => parent.postMessage(JSON.stringify({ event, info, id: 1 }), "*");
addEventListener("message", ({ data }) => {
  const message = JSON.parse(data);
  if (message.event === "listening") {
    if (!heard.length) { tell("initialDelivery", { currentTime: time, playerState: 1 }); tell("onReady"); }
    heard.push("listening");
    return;
  }
  heard.push(message.func + (message.args.length ? " " + message.args[0] : ""));
  if (message.func === "seekTo") time = message.args[0];
  tell("infoDelivery", { currentTime: time, playerState: message.func === "pauseVideo" ? 2 : 1 });
});
</script>"""

VIMEO = """<!doctype html><script>
let time = Number(/t=(\\d+)s/.exec(location.hash)?.[1] ?? 0), heard = [];
const tell = (event, data) => parent.postMessage(JSON.stringify({ event, data }), "*");
addEventListener("message", ({ data }) => {
  const { method, value } = JSON.parse(data);
  heard.push(value === undefined ? method : `${method} ${value}`);
  if (method === "setCurrentTime") time = value;
  tell("timeupdate", { seconds: time });
});
addEventListener("load", () => tell("ready"));
</script>"""


def stub(host: str, body: str) -> tuple[Callable[[Page], None], list[str]]:
    """Answers every request to `host` with `body`; the list fills with what was asked for and from where."""
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(f"{route.request.url} from {route.request.headers.get('referer')}")
        route.fulfill(body=body, content_type="text/html")

    def prepare(page: Page) -> None:
        page.route(f"https://{host}/**", answer)

    return prepare, asked


def open_and_ask(serve: Callable[..., Server], open_page: Callable[..., Any], media: str, **options: Any) -> Any:
    talk = replace(TALK, media=media)
    page, watch = open_page(serve(FakeEngine([talk], script=[quoting(talk, 3, 9)])).url, **options)
    page.fill("textarea", "What?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn[aria-busy=false]")
    return page, watch


def embedded(page: Page, address: str) -> Frame:
    """The player's frame, once it is there; it must have been given this address."""
    element = page.wait_for_selector("iframe")
    assert element is not None
    assert element.get_attribute("src") == address
    frame = element.content_frame()
    assert frame is not None
    frame.wait_for_function("typeof heard !== 'undefined'")
    return frame


def wait_active(page: Page, cue: int) -> None:
    page.wait_for_function(f"document.querySelector('.cue.active')?.dataset.index === '{cue}'", timeout=5000)


def test_youtube_is_loaded_on_demand_and_seeks_without_reloading(
    serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    prepare, asked = stub("www.youtube-nocookie.com", YOUTUBE)
    page, watch = open_and_ask(serve, open_page, "https://www.youtube.com/watch?v=abcdefghijk&t=5s", before=prepare)
    page.click(".talks button")
    page.wait_for_selector(".load")
    assert asked == watch.outside == []  # opening a talk alone connects to nobody
    page.click(".chip >> nth=0")  # starts at 7.5 s: the address says 7, the exact time follows
    page.wait_for_selector("iframe")
    wait_active(page, 3)
    origin = page.url.split("/?")[0]
    address = (
        "https://www.youtube-nocookie.com/embed/abcdefghijk?enablejsapi=1&playsinline=1&autoplay=1&rel=0&origin="
        f"{origin.replace(':', '%3A').replace('/', '%2F')}&start=7"
    )
    frame = embedded(page, address)
    frame.wait_for_function("heard.includes('seekTo 7.5')")
    page.click(".chip >> nth=1")
    wait_active(page, 9)
    frame.wait_for_function("heard.at(-1) === 'playVideo' && heard.at(-2) === 'seekTo 22.5'")
    frame.evaluate("tell('infoDelivery', { currentTime: 50.2 })")  # it plays on
    wait_active(page, 20)
    assert asked == [f"{address} from {origin}/"]
    # A message that only claims to come from the player is ignored.
    page.evaluate(
        "window.postMessage(JSON.stringify({event: 'infoDelivery', info: {currentTime: 1}}), '*')",
    )
    page.wait_for_timeout(100)
    wait_active(page, 20)


def test_vimeo_seeks_too(serve: Callable[..., Server], open_page: Callable[..., Any]) -> None:
    prepare, asked = stub("player.vimeo.com", VIMEO)
    page, watch = open_and_ask(serve, open_page, "https://vimeo.com/12345", before=prepare)
    assert watch.outside == []
    page.click(".chip >> nth=0")
    frame = embedded(page, "https://player.vimeo.com/video/12345?autoplay=1&dnt=1#t=7s")
    frame.wait_for_function("heard.includes('setCurrentTime 7.5')")
    page.click(".chip >> nth=1")
    frame.wait_for_function("heard.at(-1) === 'play' && heard.at(-2) === 'setCurrentTime 22.5'")
    frame.evaluate("tell('timeupdate', { seconds: 50.2 })")
    wait_active(page, 20)
    assert len(asked) == 1


def test_video_files_play(serve: Callable[..., Server], open_page: Callable[..., Any], tmp_path: Path) -> None:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        pytest.skip("no ffmpeg to make a video with")
    video = tmp_path / "talk with blank & sign.webm"
    made = f"{ffmpeg} -v error -f lavfi -i color=c=black:s=64x36:r=5 -t 60 -c:v libvpx -g 5 -deadline realtime"
    subprocess.run([*made.split(), str(video)], check=True, timeout=60)
    page, _ = open_and_ask(serve, open_page, str(video))
    page.click(".chip >> nth=1")
    page.wait_for_selector("video")
    page.wait_for_function(
        "!document.querySelector('video').paused && document.querySelector('video').currentTime >= 22.5"
    )
    assert page.evaluate("document.querySelector('video').currentTime") < 27
    wait_active(page, 9)


@pytest.mark.parametrize(
    ("media", "line"),
    [
        ("", "This talk has no recording; the transcript follows."),
        ("/nowhere/gone.mp3", "The recording is not on this machine any more; the transcript follows."),
        (
            "https://example.org/episode/7",
            "The recording is on another site and can't be played here. Open example.org",
        ),
    ],
)
def test_without_a_player_the_transcript_still_opens(
    serve: Callable[..., Server], open_page: Callable[..., Any], media: str, line: str
) -> None:
    page, watch = open_and_ask(serve, open_page, media)
    page.click(".chip >> nth=1")
    wait_active(page, 9)
    assert page.locator(".no-recording").inner_text() == line
    assert watch.outside == []
