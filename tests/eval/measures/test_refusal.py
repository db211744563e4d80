import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.measures.refusal import CoveragePoint, auroc, coverage_curve

scores = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=20)


def test_auroc_of_a_perfect_a_reversed_and_a_constant_score() -> None:
    assert auroc([0.9, 0.8], [0.1]) == 1
    assert auroc([0.1], [0.8, 0.9]) == 0
    assert auroc([0.5, 0.5], [0.5]) == 0.5


def test_auroc_by_hand() -> None:
    assert auroc([3, 1], [2, 1]) == pytest.approx((1 + 1 + 0 + 0.5) / 4)


def test_auroc_needs_both_sides() -> None:
    assert auroc([], [1.0]) is None
    assert auroc([1.0], []) is None


@given(scores, scores)
def test_auroc_of_swapped_sides_adds_up_to_one(one: list[float], other: list[float]) -> None:
    forward, backward = auroc(one, other), auroc(other, one)
    assert forward is not None
    assert backward is not None
    assert forward + backward == pytest.approx(1)


def test_coverage_curve_answers_the_confident_first_and_ties_together() -> None:
    assert coverage_curve([(0.2, 0.0), (0.9, 1.0), (0.5, 1.0), (0.5, 0.0)]) == [
        CoveragePoint(0.9, 0.25, 1.0),
        CoveragePoint(0.5, 0.75, 2 / 3),
        CoveragePoint(0.2, 1.0, 0.5),
    ]


def test_coverage_curve_of_nothing() -> None:
    assert coverage_curve([]) == []
