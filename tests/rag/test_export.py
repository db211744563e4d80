"""What is exported ingests to the same talks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ingest.pipeline import Options, ingest
from ingest.read import read_bytes
from ingest.sentences import to_cues
from ingest.text import one_line
from rag.export import corpus_lines, talk_vtt
from rag.types import Chapter, Cue, Talk
from tests.ingest.fake_writer import FakeWriter

TALK = Talk(
    id="a-talk",
    title="A --> B & <C>: a talk",
    cues=(
        Cue("s1", 1_500, 4_000, "Ada: AT&T says 3 < 4 --> true.", "Ada <Quist>"),
        Cue("s3", 4_000, 4_000, "NOTE >> [music] and"),
        Cue("s7", 360_000_001, 360_000_900, "so on"),
    ),
    speakers=("Ada <Quist>", "Bo; Li"[:2]),
    event="Conf",
    date="2025-06",
    language="en",
    media="https://youtu.be/abcdefghijk",
    chapters=(Chapter(0, "Start"), Chapter(61_250, "Middle --> end")),
)


def test_a_talk_as_webvtt() -> None:
    assert talk_vtt(TALK).split("\n")[:20] == [
        "WEBVTT",
        "",
        "NOTE",
        "talk_id: a-talk",
        "title: A --&gt; B &amp; <C>: a talk",
        "speakers: Ada <Quist>; Bo",
        "event: Conf",
        "date: 2025-06",
        "language: en",
        "media: https://youtu.be/abcdefghijk",
        "cutting: keep",
        "chapter: 00:00:00.000 Start",
        "chapter: 00:01:01.250 Middle --&gt; end",
        "",
        "s1",
        "00:00:01.500 --> 00:00:04.000",
        "<v Ada &lt;Quist&gt;>Ada: AT&amp;T says 3 &lt; 4 --&gt; true.",
        "",
        "s3",
        "00:00:04.000 --> 00:00:04.000",
    ]


def test_webvtt_and_corpus_ingest_to_the_same_talk(tmp_path: Path) -> None:
    (tmp_path / "x.vtt").write_text(talk_vtt(TALK))
    (tmp_path / "x.jsonl").write_text("\n".join(corpus_lines([TALK, replace(TALK, id="other", title="Other")])) + "\n")
    for name, ids in (("x.vtt", ["a-talk"]), ("x.jsonl", ["a-talk", "other"])):
        writer = FakeWriter(tmp_path / f"home-{name}")
        report = ingest([tmp_path / name], writer)
        assert [entry.status for entry in report.files] == ["added"] * len(ids)
        assert writer.library.ids() == ids
        assert replace(writer.library.get("a-talk"), source="") == TALK


def test_a_corpus_of_one_talk_is_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("".join(corpus_lines([TALK])))
    writer = FakeWriter(tmp_path / "home")
    ingest([tmp_path / "x.jsonl"], writer, Options())
    assert replace(writer.library.get("a-talk"), source="") == TALK


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60).map(one_line).filter(bool)
TIMES = st.integers(0, 10**9)


@st.composite
def cues(draw: st.DrawFn) -> tuple[Cue, ...]:
    starts = sorted(draw(st.lists(TIMES, min_size=1, max_size=6)))
    speakers = st.one_of(st.just(""), TEXTS)
    return tuple(
        Cue(f"s{number}", start, start + draw(st.integers(0, 10**6)), draw(TEXTS), draw(speakers))
        for number, start in enumerate(starts, start=1)
    )


@given(cues())
def test_any_cues_survive(cues: tuple[Cue, ...]) -> None:
    talk = Talk("t", "T", cues)
    for text, name in ((talk_vtt(talk), "t.vtt"), ("\n".join(corpus_lines([talk, talk])), "t.jsonl")):
        reading = read_bytes(text.encode(), name)[0]
        assert tuple(to_cues(reading, "en")) == cues
        assert reading.problems == ()
