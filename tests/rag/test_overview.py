"""Moments for broad questions, over a real index."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.pipeline import Options, ingest
from rag.engine import Engine
from rag.index import writing
from rag.overview import MAX_STRETCHES, stretches
from rag.settings import load_settings
from rag.types import Answer, Chapter, Cue, Filters, Hit, Span, Turn
from tests.conftest import ROOT
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk, talk_of

LONG = replace(numbered_talk(400, "long", "caching"), title="A long talk", date="2024")
CHAPTERS = talk_of(
    "The queue is long.", "Nothing else sounds anything like it.", "The queue has a head and the queue is long.",
    "[music]", "Is it always so?", "Disks are slow and disks are cheap these days.", "Disks are cheap.",
    "[music]", "[applause]",
    talk_id="chapters", title="Queues and disks", date="2023", speakers=("Ann",),
    chapters=(Chapter(1000, "Queues"), Chapter(7_000, "Disks"), Chapter(14_000, "Music"), Chapter(99_000, "Nothing")),
)  # fmt: skip
DUO = replace(
    talk_of(*["placeholder"], talk_id="duo", title="Two voices", date="2025-02", speakers=("Bob", "Cleo")),
    cues=tuple(
        Cue(f"s{n}", n * 1000, n * 1000 + 900, text, who)
        for n, (who, text) in enumerate(
            [("Bob", "I like tape more than I like disks."), ("Cleo", "Tape is old and I like the caching of tape.")]
            * 10
        )
    ),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home = tmp_path_factory.mktemp("home")
    with writing(home, WordEmbedder()) as writer:
        for talk in (LONG, CHAPTERS, DUO):
            writer.put(talk)
    with Engine(load_settings(home=home), embedder=WordEmbedder()) as engine:
        yield engine


def answer(engine: Engine, question: str, history: tuple[Turn, ...] = (), **filters: str) -> Answer:
    *_, last = engine.ask(question, Filters(**filters), history)
    return last


def places(hits: tuple[Hit, ...]) -> list[tuple[str, int, int]]:
    return [(hit.talk.id, hit.first, hit.last) for hit in hits]


def test_a_talk_with_chapters_gives_a_moment_of_each_in_which_something_is_said(engine: Engine) -> None:
    found = answer(engine, "Summarise this talk", talk="chapters")
    assert places(found.hits) == [("chapters", 2, 3), ("chapters", 5, 6)]
    assert [claim.text for claim in found.claims] == [
        "The queue has a head and the queue is long.",
        "Disks are slow and disks are cheap these days.",
    ]
    assert (found.abstained, found.confidence, found.notice) == (False, 1.0, "")


def test_a_talk_without_chapters_is_walked_through_evenly(engine: Engine) -> None:
    found = answer(engine, "What are the main points?", talk="long")
    assert len(found.hits) == 20
    assert all(20 * n <= hit.first <= hit.last < 20 * (n + 1) for n, hit in enumerate(found.hits))
    starts = [citation.first for citation in found.citations]
    assert len(starts) == 8
    assert starts == sorted(starts)
    assert starts[-1] >= 300


def test_chapters_without_cues_and_what_comes_before_the_first() -> None:
    assert stretches(CHAPTERS) == [Span(0, 3), Span(4, 6), Span(7, 8)]
    assert len(stretches(replace(CHAPTERS, chapters=CHAPTERS.chapters[:1]))) == 8  # one chapter tells nothing
    many = replace(LONG, chapters=tuple(Chapter(n * 8000, str(n)) for n in range(100)))
    assert len(stretches(many)) == MAX_STRETCHES
    assert [span.first for span in stretches(many)] == [20 * n for n in range(20)]
    assert stretches(talk_of("One.", "Two.")) == [Span(0, 0), Span(1, 1)]


def test_a_talk_named_by_its_title_or_speaker(engine: Engine) -> None:
    assert {hit.talk.id for hit in answer(engine, "Summarise Queues and disks").hits} == {"chapters"}
    assert {hit.talk.id for hit in answer(engine, "Summarise Cleo's talk").hits} == {"duo"}


def test_without_a_chosen_talk_each_gives_a_moment_and_the_reader_is_told(engine: Engine) -> None:
    found = answer(engine, "Summarise this talk")
    assert [hit.talk.id for hit in found.hits] == ["chapters", "long", "duo"]  # the oldest first
    assert found.notice == (
        "One moment of each of 3 talks; choose a talk, or name it in the question, to have it summed up."
    )
    assert not found.abstained


def test_only_the_chosen_speaker_is_quoted(engine: Engine) -> None:
    found = answer(engine, "What are the main points?", talk="duo", speaker="cleo")
    assert {cue.speaker for hit in found.hits for cue in hit.cues} == {"Cleo"}


def test_talks_that_mention_something(engine: Engine) -> None:
    assert [hit.talk.id for hit in answer(engine, "Which talks mention disks?").hits] == ["chapters", "duo"]
    assert places(answer(engine, "Who spoke about tape?").hits) == [("duo", 1, 8)]
    by_date = answer(engine, "How did opinions on disks change over time?")
    assert [hit.talk.id for hit in by_date.hits] == ["chapters", "duo"]
    by_date = answer(engine, "How did opinions on caching change over time?")
    assert [hit.talk.id for hit in by_date.hits] == ["long", "duo"]


def test_what_no_talk_mentions_is_refused_like_any_other_question(engine: Engine) -> None:
    found = answer(engine, "Which talks mention zebras?")
    assert found.abstained
    assert len(found.nearest) == 3


def test_within_one_talk_mentions_are_searched_like_any_other_question(engine: Engine) -> None:
    assert len(answer(engine, "Which talks mention caching?", talk="long").hits) == 10


def test_history_does_not_get_in_the_way_and_lends_a_topic(engine: Engine) -> None:
    history = (Turn("user", "What about disks?"), Turn("assistant", "They are cheap."))
    assert answer(engine, "Summarise this talk", history, talk="chapters").searched == "Summarise this talk"
    found = answer(engine, "Which talks mention them?", history)
    assert (found.searched, [hit.talk.id for hit in found.hits]) == (
        "disks: Which talks mention them?",
        ["chapters", "duo"],
    )


def test_more_talks_than_are_shown(tmp_path: Path) -> None:
    with writing(tmp_path, WordEmbedder()) as writer:
        for n in range(10):
            writer.put(numbered_talk(3, f"talk-{n}", "tape"))
    with Engine(load_settings(home=tmp_path), embedder=WordEmbedder()) as engine:
        found = answer(engine, "Which talks mention tape?")
        assert len(found.hits) == len(found.claims) == 8
        assert found.notice == "10 talks mention this; these are the 8 nearest."
        assert answer(engine, "Summarise this talk").notice.startswith("One moment of each of 8 of 10 talks;")


def covered(home: Path, folder: Path, name: str) -> list[float]:
    """Share of the chapters or talks of each broad question over a data folder that a moment stands for."""
    with writing(home, WordEmbedder()) as writer:
        ingest(sorted((folder / "talks").glob("*.vtt")), writer, Options())
    lines = (ROOT / "tests" / "data" / "broad.jsonl").read_text(encoding="utf-8").splitlines()
    shares = []
    with Engine(load_settings(home=home), embedder=WordEmbedder()) as engine:
        for row in map(json.loads, lines):
            if row["data"] != name:
                continue
            hits = answer(engine, row["question"], talk=row.get("filter", "")).hits
            if "talks" in row:
                shares.append(len({hit.talk.id for hit in hits} & set(row["talks"])) / len(row["talks"]))
            else:
                starts = [hit.first + 1 for hit in hits if hit.talk.id == row["talk"]]
                spans = [(int(first[1:]), int(last[1:])) for first, last in row["chapters"]]
                shares.append(sum(any(a <= start <= b for start in starts) for a, b in spans) / len(spans))
    return shares


def test_broad_questions_over_the_sample_talks_cover_what_they_ask_for(tmp_path: Path) -> None:
    shares = covered(tmp_path, ROOT / "eval" / "data", "sample")
    assert len(shares) == 7
    assert sum(shares) / len(shares) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("agents-at-scale", 1), ("btctranscripts", 12)])
def test_broad_questions_over_other_talks_cover_what_they_ask_for(
    tmp_path: Path, shared: Path, name: str, count: int
) -> None:
    shares = covered(tmp_path, shared / "data" / name, name)
    assert len(shares) == count
    assert sum(shares) / len(shares) >= 0.8
