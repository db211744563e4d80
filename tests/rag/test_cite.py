from hypothesis import given
from hypothesis import strategies as st

from rag.cite import Numbering
from rag.types import CueRef
from tests.rag.scripted import talk

TALKS = [talk("a"), talk("b")]
REFS = st.builds(CueRef, st.sampled_from(["a", "b"]), st.integers(0, 5))


def refs(*pairs: tuple[str, int]) -> list[CueRef]:
    return [CueRef(*pair) for pair in pairs]


def test_numbers_follow_the_order_of_appearance_and_come_back() -> None:
    numbering = Numbering(TALKS)
    assert numbering.cite(refs(("b", 3), ("b", 2))) == (1,)
    assert numbering.cite(refs(("a", 0), ("b", 3), ("b", 2), ("a", 2))) == (2, 3, 1)
    assert numbering.cite([]) == ()
    assert [(c.n, c.talk.id, c.first, c.last) for c in numbering.citations] == [
        (1, "b", 2, 3), (2, "a", 0, 0), (3, "a", 2, 2),
    ]  # fmt: skip


@given(st.lists(st.lists(REFS, max_size=6), max_size=5))
def test_citations_hold_exactly_the_cited_cues(claims: list[list[CueRef]]) -> None:
    numbering = Numbering(TALKS)
    for claim in claims:
        numbers = numbering.cite(claim)
        moments = [numbering.citations[n - 1] for n in numbers]
        held = {CueRef(c.talk.id, at) for c in moments for at in range(c.first, c.last + 1)}
        assert held == set(claim)
    assert [c.n for c in numbering.citations] == list(range(1, len(numbering.citations) + 1))
