from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from rag import index
from rag.embed import Vectors
from rag.engine import Engine
from rag.settings import load_settings
from rag.types import Cue, Filters, Talk
from tests.fakes import WordEmbedder
from tests.rag.scripted import ScriptedLLM

TEXTS = [f"Sentence {n} is about filler." for n in range(30)]
TEXTS[14] = "The quokka sleeps at noon."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    cues = tuple(Cue(f"s{n + 1}", n * 1000, n * 1000 + 900, text) for n, text in enumerate(TEXTS))
    with index.writing(tmp_path, WordEmbedder()) as writer:
        writer.put(Talk("t", "Animals", cues))
    return tmp_path


def test_a_model_reads_no_more_than_the_setting_allows(home: Path) -> None:
    def read(**options: int) -> str:
        llm = ScriptedLLM([["The quokka sleeps at noon [s1]."]])
        with Engine(load_settings(home=home, **options), embedder=WordEmbedder(), llm=llm) as engine:
            assert list(engine.ask("When does the quokka sleep?"))[-1].answered_by == "scripted"
        return llm.asked[0][0][-1]["content"]

    assert read().count("|") > 15
    assert read(llm_prompt_tokens=100).count("|") < 12


def test_checking_an_answer_encodes_no_cue_anew(home: Path) -> None:
    encoded: list[str] = []

    class Counting(WordEmbedder):
        def encode_passages(self, texts: Sequence[str]) -> Vectors:
            encoded.extend(texts)
            return super().encode_passages(texts)

    llm = ScriptedLLM([["At noon the quokka sleeps [s1]."]])
    with Engine(load_settings(home=home), embedder=Counting(), llm=llm) as engine:
        assert list(engine.ask("When does the quokka sleep?"))[-1].claims[0].support == "supported"
    assert encoded == ["When does the quokka sleep?", "At noon the quokka sleeps."]


def test_each_arm_alone_finds_whole_passages_that_do_not_overlap(home: Path) -> None:
    with Engine(load_settings(home=home), embedder=WordEmbedder()) as engine:
        for filters in (Filters(), Filters(talk="t")):
            found = engine.arms("When does the quokka sleep?", 3, filters)
            assert list(found) == ["dense", "words"]
            for hits in found.values():
                assert hits[0].first <= 14 <= hits[0].last
                assert (hits[0].window.first, hits[0].window.last) == (hits[0].first, hits[0].last)
                spans = sorted((hit.first, hit.last) for hit in hits)
                assert all(a[1] < b[0] for a, b in pairwise(spans))
            assert len(found["dense"]) == 3
            assert len(found["words"]) == 1


def test_what_somebody_says_is_searched_for_in_their_words(tmp_path: Path) -> None:
    said = [
        ("Host", "Please welcome Ada Byron, who will say something about caches."), ("Ada Byron", "Hello."),
        ("Host", "A cache is a drawer."), ("Ada Byron", "You never have enough drawers in a cache."),
    ]  # fmt: skip
    cues = tuple(Cue(f"s{n}", n * 1000, n * 1000 + 900, text, speaker) for n, (speaker, text) in enumerate(said, 1))
    silent = tuple(Cue(f"s{n}", n * 1000, n * 1000 + 900, text) for n, text in enumerate(TEXTS, 1))
    with index.writing(tmp_path, WordEmbedder()) as writer:
        writer.put(Talk("t", "Drawers", cues, ("Host", "Ada Byron")))
        writer.put(Talk("u", "Animals", silent, ("Bo",)))

    with Engine(load_settings(home=tmp_path, llm="off"), embedder=WordEmbedder()) as engine:
        answer = list(engine.ask("What does Ada Byron say about a cache?"))[-1]
        assert {cue.speaker for hit in answer.hits for cue in hit.cues} == {"Ada Byron"}
        assert answer.hits[0].cues[0].text == said[3][1]
        assert answer.notice == "Searched only what Ada Byron says."
        # Captions that name no speakers: the whole question is searched for, as ever.
        answer = list(engine.ask("What does Bo say about the quokka?"))[-1]
        assert any("quokka" in cue.text for hit in answer.hits for cue in hit.cues)
        assert answer.notice == ""
        # The reader's own choice of a speaker counts more.
        answer = list(engine.ask("What does Ada Byron say about a cache?", Filters(speaker="Host")))[-1]
        assert {cue.speaker for hit in answer.hits for cue in hit.cues} == {"Host"}
