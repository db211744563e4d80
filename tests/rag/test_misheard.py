"""Names that captions got wrong, all of them invented here."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rag.engine import Engine
from rag.index import writing
from rag.lexical import Phrase
from rag.misheard import misheard
from rag.settings import load_settings
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk, talk_of

SAID = "our own zorblatt engine and the copper mouse use a qb cache in fp ate on chain for the team at lastertime"


def occurring(phrases: Sequence[Phrase]) -> list[Phrase]:
    return [phrase for phrase in phrases if f" {' '.join(phrase)} " in f" {SAID} "]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What does Zorblat do?", {"zorblat": [("zorblatt",)]}),
        ("What does Zorbladt do?", {"zorbladt": [("zorblatt",)]}),
        ("What is the Koppermouse?", {"koppermouse": [("copper", "mouse")]}),
        ("the coppermouse", {"coppermouse": [("copper", "mouse")]}),
        ("how large is the qv cache", {"qv": [("qb", "cache")]}),
        ("is it FP8 or not", {"fp8": [("fp", "ate")]}),
        ("onchain fees", {"onchain": [("on", "chain")]}),
        ("laster time", {"laster": [("lastertime",)], "time": [("lastertime",)]}),
        ("Zorblatt engine", {}),
        ("which tame animals", {}),  # no name: "team" is another word
        ("tame 101 s", {}),
        ("", {}),
    ],
)
def test_what_stands_in_for_a_word(query: str, found: dict[str, list[Phrase]]) -> None:
    assert misheard(query, occurring) == found


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home = tmp_path_factory.mktemp("home")
    talk = talk_of(
        "Good morning to you.", "We came here by train.", "Our engine is called sorry blat by us all.",
        "Nobody knows why.",
        talk_id="engine", title="A morning",
    )  # fmt: skip
    with writing(home, WordEmbedder()) as writer:
        writer.put(talk)
        writer.put(numbered_talk(60, "other", "caching"))
    with Engine(load_settings(home=home), embedder=WordEmbedder()) as engine:
        yield engine


def test_a_misheard_name_is_found_quoted_as_it_stands_and_said(engine: Engine) -> None:
    found = engine.evidence("Sorryblat", 1)
    assert [(hit.talk.id, hit.first) for hit in found.hits] == [("engine", 2)]
    assert found.hits[0].cues[0].text == "Our engine is called sorry blat by us all."
    assert found.notice == "“sorryblat” isn't in the talks; “sorry blat” was searched too."


def test_the_right_word_counts_more_than_what_sounds_like_it(tmp_path: Path) -> None:
    with writing(tmp_path, WordEmbedder()) as writer:
        writer.put(talk_of("The zorblat rests.", talk_id="right"))
        writer.put(talk_of("The zorblatt rests.", talk_id="like"))
    with Engine(load_settings(home=tmp_path), embedder=WordEmbedder()) as engine:
        found = engine.evidence("Zorblat", 5)
        assert found.hits[0].talk.id == "right"
        assert found.notice == ""
        *_, answer = engine.ask("Which talks mention the Zorblad?")
        assert {hit.talk.id for hit in answer.hits} == {"right", "like"}


def test_words_that_are_there_are_searched_as_ever(engine: Engine) -> None:
    assert engine.evidence("word7 about caching", 3).notice == ""


def test_long_and_odd_words_take_no_time(engine: Engine) -> None:
    for query in ("Z" * 5000, "X9" * 300, "Ааа ббб", "𝔘𝔘𝔘𝔘 8", "K8"):
        engine.search(query, 1)
