from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag.engine import Engine
from rag.errors import StartError
from rag.index import writing
from rag.rerank import RERANKED, load_reranker, rerank
from rag.settings import load_settings
from rag.types import Filters
from tests.fakes import WordEmbedder
from tests.rag.scripted import hit
from tests.rag.talks import numbered_talk
from tests.rag.tiny_models import bert

LONG = numbered_talk(400, "long")


class ByNumber:
    """Likes the moments best that start late in the talk."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        assert query == "word"
        return [float(text.split()[1].removeprefix("word")) - 1000 for text in texts]


def test_the_best_moments_are_sorted_again_and_places_keep_their_scores() -> None:
    hits = [replace(hit(LONG, at, at), score=1 / (at + 1)) for at in range(40)]
    again = rerank(ByNumber(), "word", hits)
    assert [hit.first for hit in again] == [*range(29, -1, -1), *range(30, 40)]
    assert [hit.score for hit in again] == [hit.score for hit in hits]
    assert rerank(ByNumber(), "word", []) == ()


@pytest.mark.slow
def test_a_real_cross_encoder_sorts_what_the_search_found(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    model = bert(tmp_path / "model", labels=1)
    home = tmp_path / "home"
    with writing(home, WordEmbedder()) as writer:
        writer.put(LONG)
    question, filters = "Which sentence is about word77?", Filters(talk="long")
    with Engine(load_settings(home=home), embedder=WordEmbedder()) as plain:
        found = plain.evidence(question, RERANKED, filters)
    with Engine(load_settings(home=home, rerank_model=model), embedder=WordEmbedder()) as engine:
        again = engine.evidence(question, 5, filters)
    pairs = [(question, " ".join(cue.text for cue in hit.cues)) for hit in found.hits]
    scores = CrossEncoder(model).predict(pairs)
    order = sorted(range(len(pairs)), key=lambda at: -scores[at])
    assert [hit.first for hit in again.hits] == [found.hits[at].first for at in order[:5]]
    assert [hit.first for hit in again.hits] != [hit.first for hit in found.hits[:5]]
    assert [hit.score for hit in again.hits] == [hit.score for hit in found.hits[:5]]


@pytest.mark.slow
def test_what_is_no_reranker_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"RAG_RERANK_MODEL: can't load '.*nothing-here'"):
        load_reranker(str(tmp_path / "nothing-here"))
    with pytest.raises(StartError, match="gives 3 scores for a pair, expected 1; choose a reranker"):
        load_reranker(bert(tmp_path / "three", labels=3))


def test_no_name_no_reranker() -> None:
    assert load_reranker("") is None
