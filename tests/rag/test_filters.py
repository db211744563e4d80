"""Filters on the sample talks: every mix of talk, speaker, event and year, in both arms and before ranking."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from rag.engine import Engine
from rag.errors import UsageError
from rag.types import Filters, Hit
from tests.rag.talks import sample_engine

QUEUE, LIBRARIAN, PAGER = "eight-cards-and-a-stubborn-queue", "grading-the-librarian", "the-pager-and-the-agent"
ABOUT = {
    QUEUE: ({"Marit Oselund"}, "Harbour Inference Days 2023", "2023"),
    LIBRARIAN: ({"Ines Carvalhal", "Tobias Renwick", "Adaeze Umunna"}, "Findable 2024", "2024"),
    PAGER: ({"Devraj Pellini"}, "Small Hours 2025", "2025"),
}
MIXES = [
    Filters(talk, speaker, event, year)
    for talk, speaker, event, year in product(
        ("", QUEUE, LIBRARIAN),
        ("", "Marit Oselund", "tobias renwick", "Devraj Pellini"),
        ("", "Findable 2024", "small hours 2025"),
        ("", "2023", "2024"),
    )
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with sample_engine(tmp_path_factory.mktemp("home")) as engine:
        yield engine


def passes(filters: Filters) -> set[str]:
    """The talks that meet all of the filters, worked out from the list above."""
    return {
        talk
        for talk, (speakers, event, year) in ABOUT.items()
        if filters.talk in ("", talk)
        and (not filters.speaker or filters.speaker.lower() in {name.lower() for name in speakers})
        and filters.event.lower() in ("", event.lower())
        and filters.year in ("", year)
    }


def speaks_in(hit: Hit, name: str) -> bool:
    return not name or any(cue.speaker.lower() == name.lower() for cue in hit.cues)


@pytest.mark.parametrize("filters", MIXES, ids=lambda filters: "+".join(filter(None, (
    filters.talk[:5], filters.speaker[:5], filters.event[:5], filters.year))) or "none")  # fmt: skip
def test_only_what_passes_every_filter_is_found(engine: Engine, filters: Filters) -> None:
    question = "How did the model and the index do when people asked?"
    wanted = passes(filters)
    if not wanted:
        with pytest.raises(UsageError, match=r"no talk matches .*; 'python -m rag talks' lists what there is"):
            engine.search(question, 5, filters)
        return
    hits = engine.search(question, 10, filters)
    assert {hit.talk.id for hit in hits} == wanted
    assert all(speaks_in(hit, filters.speaker) for hit in hits)
    for name, found in engine.arms(question, 10, filters).items():  # what an arm finds alone is filtered already
        assert found, name
        assert {hit.talk.id for hit in found} <= wanted, name
        assert all(speaks_in(hit, filters.speaker) for hit in found), name
    *_, answer = engine.ask(question, filters)
    assert answer.talks_searched == len(wanted)


def test_a_filter_acts_before_ranking(engine: Engine) -> None:
    """What would come last without the filter fills all places with it."""
    question = "pager on call for the cluster"
    assert {hit.talk.id for hit in engine.search(question, 3)} == {PAGER}
    assert [hit.talk.id for hit in engine.search(question, 3, Filters(speaker="Marit Oselund"))] == [QUEUE] * 3
