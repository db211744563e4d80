from collections.abc import Sequence

from eval.measures.alce import Claimed, alce, citation_verdicts, gold_judge
from eval.measures.cited import any_right, citation_precision, citation_recall
from eval.types import Moment
from tests.eval.talks import gold, moment


def test_precision_is_over_distinct_cues_and_acceptable_ones_count() -> None:
    cited = [moment("a", 3, 4), moment("a", 4), moment("b", 3)]
    assert citation_precision(cited, gold((3, 3), also_ok=((4, 4),))) == 2 / 3


def test_recall_is_over_gold_spans_only() -> None:
    assert citation_recall([moment("a", 4)], gold((3, 3), (4, 6), also_ok=((8, 8),))) == 0.5


def test_no_citation_is_a_miss() -> None:
    assert (citation_precision([], gold((3, 3))), any_right([], gold((3, 3)))) == (0, 0)


def test_one_right_link_suffices_in_the_right_talk_only() -> None:
    assert any_right([moment("b", 9), moment("a", 4)], gold((3, 3), also_ok=((4, 4),))) == 1
    assert any_right([moment("b", 3)], gold((3, 3))) == 0


def test_a_citation_that_adds_nothing_is_not_precise() -> None:
    claim = Claimed("x", (moment("a", 3), moment("a", 9)))
    assert citation_verdicts(claim, gold_judge(gold((3, 3)))) == [1, 0]


def test_two_citations_that_only_together_support_are_both_precise() -> None:
    def both_needed(_text: str, citations: Sequence[Moment]) -> bool:
        return {moment("a", 3), moment("a", 4)} <= set(citations)

    assert citation_verdicts(Claimed("x", (moment("a", 3), moment("a", 4))), both_needed) == [1, 1]


def test_alce_averages_over_claims_and_over_citations() -> None:
    claims = [
        Claimed("right", (moment("a", 3),)),
        Claimed("half", (moment("a", 4), moment("a", 9))),
        Claimed("wrong", (moment("a", 9),)),
        Claimed("no citation", ()),
    ]
    assert alce(claims, gold_judge(gold((3, 4)))) == (0.5, 0.5)


def test_alce_of_no_claims() -> None:
    assert alce([], gold_judge(gold((3, 3)))) == (0, 0)
