import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.links import embed_address, link, start_within, timecode, vimeo_id, youtube_id
from tests.rag.talks import numbered_talk, talk_of

WATCH = "https://www.youtube.com/watch?v=VIDEOID11ch"


def at(media: str, start_ms: int, **options: object) -> str:
    """The link into a talk of 2,000 seconds."""
    talk = numbered_talk(1000)
    return link(talk_of(*(cue.text for cue in talk.cues), media=media), "s199", start_ms, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (0, "0:00"),
        (999, "0:00"),
        (59_999, "0:59"),
        (60_000, "1:00"),
        (983_000, "16:23"),
        (3_599_999, "59:59"),
        (3_600_000, "1:00:00"),
        (3_723_456, "1:02:03"),
        (360_000_000, "100:00:00"),
    ],
)
def test_timecode(ms: int, expected: str) -> None:
    assert timecode(ms) == expected


@pytest.mark.parametrize(
    ("media", "expected"),
    [
        (WATCH, f"{WATCH}&t=983s"),
        (f"{WATCH}&t=5s", f"{WATCH}&t=983s"),
        (f"{WATCH}&list=PL1&t=5#x", f"{WATCH}&list=PL1&t=983s"),
        ("https://youtu.be/VIDEOID11ch", "https://youtu.be/VIDEOID11ch?t=983s"),
        ("https://www.youtube.com/embed/VIDEOID11ch", "https://www.youtube.com/embed/VIDEOID11ch?start=983"),
        ("https://vimeo.com/76979871", "https://vimeo.com/76979871#t=983s"),
        ("https://pod.example/episode/7", "/?talk=talk-a&t=983#s199"),
        ("talk.mp3", "/?talk=talk-a&t=983#s199"),
        ("", "/?talk=talk-a#s199"),
        ("javascript:alert(1)", "/?talk=talk-a&t=983#s199"),
    ],
)
def test_link_forms(media: str, expected: str) -> None:
    assert at(media, 983_900) == expected


def test_link_starts_earlier_with_a_lead_in_but_never_below_zero() -> None:
    assert at(WATCH, 983_000, lead_in_ms=2500).endswith("&t=980s")
    assert at(WATCH, 1_000, lead_in_ms=2500).endswith("&t=0s")


def test_our_own_page_is_linked_with_its_public_address() -> None:
    assert at("", 983_000, public_url="https://talks.example") == "https://talks.example/?talk=talk-a#s199"


@given(start=st.integers(0, 10**8), lead=st.integers(0, 60_000))
def test_playback_never_starts_outside_the_talk(start: int, lead: int) -> None:
    talk = numbered_talk(10)
    assert 0 <= start_within(talk, start, lead) <= talk.duration_ms


@pytest.mark.parametrize(
    ("media", "video"),
    [
        (WATCH, "VIDEOID11ch"),
        ("https://m.youtube.com/watch?app=m&v=VIDEOID11ch", "VIDEOID11ch"),
        ("https://www.youtube.com/live/VIDEOID11ch?si=x", "VIDEOID11ch"),
        ("https://www.youtube.com/watch?v=short", ""),
        ("https://www.youtube.com/watch", ""),
        ("https://www.youtube.com.evil.example/watch?v=VIDEOID11ch", ""),
        ("https://evil.example/watch?v=VIDEOID11ch", ""),
        ("http://[bad", ""),
        ("VIDEOID11ch", ""),
    ],
)
def test_youtube_id(media: str, video: str) -> None:
    assert youtube_id(media) == video


def test_vimeo_id() -> None:
    assert vimeo_id("https://player.vimeo.com/video/76979871?h=1") == "76979871"
    assert vimeo_id("https://vimeo.com/channels/staff") == ""


def test_embed_address() -> None:
    assert embed_address(WATCH, 5) == "https://www.youtube-nocookie.com/embed/VIDEOID11ch?start=5"
    assert embed_address("https://vimeo.com/76979871", 5) == "https://player.vimeo.com/video/76979871#t=5s"
    assert embed_address("talk.mp3") == ""
