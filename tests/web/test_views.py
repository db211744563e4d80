"""Records -> what the page shows: answers, moments, talks, Markdown, example questions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rag.types import Answer, Chapter, CheckedClaim, Citation, Cue, Hit, Span, Talk
from rag.web.chat import answer_view, spoken_by
from rag.web.examples import example_questions
from rag.web.markdown import answer_markdown, escape
from rag.web.pane import list_view, media_view, talk_view
from tests.web.fake_engine import info_of, quoting, refusing, talk_of

WORDS = ("Zero.", "One.", "Two.", "Three.", "Four.")
TALK = talk_of(*WORDS, talk_id="a b", title="A talk", speakers=["Ada", "Ben"], event="E", date="2025-06")


def test_a_cited_moment() -> None:
    answer = replace(quoting(TALK, 2), citations=(Citation(1, TALK, 2, 3),))
    assert answer_view(answer)["citations"] == [
        {
            "n": 1,
            "talk": "a b",
            "title": "A talk",
            "event": "E",
            "date": "2025-06",
            "speakers": ["Ada", "Ben"],
            "cue": "s3",
            "last_cue": "s4",
            "play_ms": 4000,
            "end_ms": 8000,
            "duration_ms": 10000,
            "time": "0:04",
            "quote": "Two. Three.",
            "before": "One.",
            "after": "Four.",
            "href": "?talk=a%20b&t=4#s3",
            "url": "",
        }
    ]


def test_first_and_last_cue_have_no_neighbour_and_long_neighbours_are_cut_at_words() -> None:
    talk = talk_of("word " * 60 + "end.", "Middle.", "Start " + "word " * 60, talk_id="t")
    whole, middle = (answer_view(replace(quoting(talk, 1), citations=(c,)))["citations"][0] for c in (
        Citation(1, talk, 0, 2), Citation(1, talk, 1, 1)
    ))  # fmt: skip
    assert (whole["before"], whole["after"]) == ("", "")
    assert re.fullmatch(r"…(word )+end\.", middle["before"])
    assert re.fullmatch(r"Start( word)+…", middle["after"])
    assert max(len(middle["before"]), len(middle["after"])) <= 141


def test_lead_in_moves_where_it_plays_but_not_the_time_shown() -> None:
    talk = replace(TALK, media="https://youtu.be/abcdefghijk")
    first, later = answer_view(quoting(talk, 0, 2), lead_in_ms=1500)["citations"]
    assert (first["play_ms"], first["time"]) == (0, "0:00")
    assert (later["play_ms"], later["time"]) == (2500, "0:04")
    assert later["href"] == "?talk=a%20b&t=2#s3"
    assert later["url"] == "https://youtu.be/abcdefghijk?t=2s"


def test_hits_that_share_a_cue_with_a_citation_are_not_found_again() -> None:
    other = talk_of(*["X."] * 5, talk_id="other")
    hits = tuple(Hit(t, a, b, 1.0, Span(a, b)) for t, a, b in ((TALK, 0, 1), (TALK, 1, 2), (TALK, 3, 4), (other, 2, 2)))
    answer = replace(quoting(TALK, 2), hits=hits)
    assert [(m["talk"], m["cue"]) for m in answer_view(answer)["more"]] == [
        ("a b", "s1"),
        ("a b", "s4"),
        ("other", "s3"),
    ]
    assert answer_view(replace(refusing(), hits=hits))["more"] == []


def test_an_unfinished_answer_is_json_too() -> None:
    answer = Answer("q", "q", claims=(CheckedClaim("Half", (), None),))
    view = json.loads(json.dumps(answer_view(answer)))
    assert view["claims"] == [{"text": "Half", "support": None, "citations": []}]
    assert view["done"] is False


def test_spoken_by() -> None:
    assert spoken_by(TALK, TALK.cues[:1]) == ["Ada"]
    silent = (Cue("s1", 0, 1, "x"),)
    assert spoken_by(Talk("t", "t", silent, ("Ada",)), silent) == ["Ada"]
    assert spoken_by(Talk("t", "t", silent, ("Ada", "Ben")), silent) == []


def test_talk_list_newest_first_then_by_title() -> None:
    talks = [
        talk_of("x", talk_id=n, title=n, date=d) for n, d in (("b", ""), ("A", ""), ("old", "2023"), ("new", "2025"))
    ]
    assert [talk["id"] for talk in list_view([info_of(talk) for talk in talks])] == ["new", "old", "A", "b"]


def test_talk_view_is_compact_and_tells_no_path(tmp_path: Path) -> None:
    recording = tmp_path / "x.mp3"
    recording.write_bytes(b"")
    talk = replace(TALK, media=str(recording), source=str(tmp_path / "x.vtt"), chapters=(Chapter(2000, "Two"),))
    view = talk_view(talk, tmp_path)
    assert view["media"] == {"kind": "audio", "src": "desk/media/a%20b"}
    assert view["cues"][1] == ["s2", 2000, 4000, "One.", "Ben"]
    assert view["chapters"] == [[2000, "Two"]]
    assert str(tmp_path) not in json.dumps(view)


@pytest.mark.parametrize(
    ("media", "view"),
    [
        ("", {"kind": "none"}),
        ("https://www.youtube.com/watch?v=abcdefghijk", {"kind": "youtube", "id": "abcdefghijk"}),
        ("https://vimeo.com/123", {"kind": "vimeo", "id": "123"}),
        ("https://example.org/e/1", {"kind": "link", "host": "example.org"}),
        ("gone.mp3", {"kind": "missing"}),
        ("javascript:alert(1)", {"kind": "missing"}),
    ],
)
def test_media_kinds(media: str, view: dict[str, str]) -> None:
    shown = media_view(replace(TALK, media=media), Path("/nowhere"))
    assert {key: value for key, value in shown.items() if key != "url"} == view
    assert shown.get("url", "") == (media if media.startswith("https:") else "")


def test_markdown_of_an_answer() -> None:
    talk = replace(TALK, media="/x/y.mp3", title="[a] & *b*")
    answer = replace(
        quoting(talk, 1, 3),
        question="What *is* it?",
        claims=(CheckedClaim("It is _one_.", (1, 2), "weak"), CheckedClaim("No one knows.", (), "unsupported")),
        missing="the price",
    )
    assert answer_markdown(answer, public_url="http://127.0.0.1:7860") == (
        "**What \\*is\\* it?**\n\n"
        "It is \\_one\\_. [0:02](http://127.0.0.1:7860/?talk=a%20b&t=2#s2) [0:06](http://127.0.0.1:7860/?talk=a%20b&t=6#s4)"
        " *(weak support)*\n\n"
        "No one knows. *(not backed by the talks)*\n\n"
        "Not covered: the price\n\n"
        "1. [\\[a\\] \\& \\*b\\*, 0:02](http://127.0.0.1:7860/?talk=a%20b&t=2#s2) (Ben, E, 2025-06): “One.”\n"
        "2. [\\[a\\] \\& \\*b\\*, 0:06](http://127.0.0.1:7860/?talk=a%20b&t=6#s4) (Ben, E, 2025-06): “Three.”\n"
    )
    assert answer_markdown(replace(refusing(), question="Pizza?"), public_url="") == (
        "**Pizza?**\n\nThe talks don't cover this.\n"
    )


@given(st.text(alphabet=st.sampled_from("ab1 .)(#+-=>*_`~[]<>!|&\\$\n\t:/;"), max_size=40))
def test_escaped_text_reads_the_same_after_rendering(text: str) -> None:
    rendered = MarkdownIt("commonmark").render(escape(text)).strip()
    plain = " ".join(text.split())
    assert rendered == (f"<p>{_html(plain)}</p>" if plain else "")


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def examples(*talks: Talk) -> list[str]:
    return example_questions([info_of(talk) for talk in talks], {talk.id: talk for talk in talks}.__getitem__)


def test_examples_prefer_questions_that_stand_alone_and_fall_back_to_subjects() -> None:
    asked = talk_of(
        "What do you think about that thing?",
        "How does a pager survive the month of September?",
        "It does not.",
        talk_id="asked",
        title="Asked?",
        date="2025",
    )
    told = talk_of(
        *["Ask about batching."] * 2, "Batching, always.", "Nothing.",
        talk_id="told", title="Told: More", speakers=["Ada"], date="2024",
    )  # fmt: skip
    panel = talk_of(
        "The Block Template is old.", "A block template, tokens.", "Our block template.", "Whose tokens?", "Tokens.",
        talk_id="panel", speakers=["Cy", "Ben"], date="2023",
    )  # fmt: skip
    empty = talk_of(talk_id="empty", date="2026")
    assert examples(asked, told, panel, empty) == [
        "How does a pager survive the month of September?",
        "What does Ada say about batching?",
        "What does Cy say about the block template?",
        "What are the main points of Told?",
    ]
    assert examples() == []


def test_subjects_of_examples_are_things_not_small_words_and_many_rather_than_one() -> None:
    talk = talk_of(
        *["That's really something we don't know."] * 9,
        *["Each token, always."] * 3,
        "We count tokens.",
        "Tokens.",
        talk_id="t",
        title="?",
    )
    assert examples(talk) == ["What is said about tokens?"]
    assert examples(talk_of("Hi.", talk_id="t", title="x" * 81)) == []
