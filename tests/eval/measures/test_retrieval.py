"""hit, reciprocal rank, coverage, text budget, nDCG: exact values by hand, and against ir-measures."""

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.measures.budget import precision_and_recall, read_within
from eval.measures.coverage import cue_precision, cue_recall, span_recall
from eval.measures.hit import hit_at, touches
from eval.measures.ndcg import grades, ndcg, ranked_cues
from eval.measures.reciprocal_rank import reciprocal_rank
from eval.types import Gold, Moment
from rag.types import CueRef, Span
from tests.eval.talks import gold, moment

spans = st.tuples(st.integers(0, 30), st.integers(0, 7)).map(lambda pair: Span(pair[0], pair[0] + pair[1]))
hits_lists = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), spans).map(lambda pair: Moment(pair[0], *pair[1])), max_size=15
)
golds = st.builds(
    lambda relevant, also_ok: Gold("a", tuple(relevant), tuple(also_ok)),
    st.lists(spans, min_size=1, max_size=3),
    st.lists(spans, max_size=2),
)


def test_a_moment_touches_a_span_when_they_share_one_cue() -> None:
    assert touches(moment("a", 1, 3), "a", [Span(2, 4)])
    assert not touches(moment("a", 1, 2), "a", [Span(2, 4)])
    assert not touches(moment("b", 3, 4), "a", [Span(2, 4)])


def test_hit_looks_at_the_first_k_only() -> None:
    hits = [moment("b", 5), moment("a", 1), moment("a", 5, 6)]
    assert [hit_at(hits, gold((5, 5)), k) for k in (1, 2, 3, 10)] == [0, 0, 1, 1]


def test_acceptable_cues_count_only_when_asked() -> None:
    right = gold((5, 5), also_ok=((4, 4),))
    assert hit_at([moment("a", 4)], right, 1) == 0
    assert hit_at([moment("a", 4)], right, 1, also_ok=True) == 1


def test_no_hits_score_zero_everywhere() -> None:
    right = gold((5, 6))
    assert hit_at([], right, 10) == reciprocal_rank([], right) == ndcg([], right) == 0
    assert cue_recall([], right) == cue_precision([], right) == span_recall([], right) == 0
    assert precision_and_recall([], right) == (0, 0)


def test_reciprocal_rank_is_cut_at_ten() -> None:
    wrong = [moment("b", 1)] * 9
    assert reciprocal_rank([*wrong, moment("a", 5)], gold((5, 5))) == pytest.approx(0.1)
    assert reciprocal_rank([*wrong, moment("b", 1), moment("a", 5)], gold((5, 5))) == 0


def test_coverage_counts_a_cue_of_the_right_talk_once_and_wrong_talks_in_full() -> None:
    right = gold((3, 4), (8, 8))
    hits = [moment("a", 2, 3), moment("a", 3, 5), moment("b", 1, 2)]
    assert span_recall(hits, right) == 0.5
    assert cue_recall(hits, right) == pytest.approx(2 / 3)
    assert cue_precision(hits, right) == pytest.approx(2 / 6)  # s2..s5 once each, and two cues of the wrong talk


def test_reading_stops_before_the_budget_is_exceeded() -> None:
    hits = [moment("a", 3, 4), moment("a", 4, 6)]
    assert read_within(hits, lambda _: 10, budget=35) == [CueRef("a", 2), CueRef("a", 3), CueRef("a", 4)]
    assert precision_and_recall([CueRef("a", 2), CueRef("a", 3)], gold((4, 6))) == (0.5, 1 / 3)


def test_longer_hits_gain_nothing_at_an_equal_budget() -> None:
    right = gold((5, 5))
    short, long = [moment("a", 5), moment("a", 9)], [moment("a", 5, 10)]
    assert hit_at(short, right, 1) == hit_at(long, right, 1) == 1
    measured = [precision_and_recall(read_within(hits, lambda _: 10, 20), right) for hits in (short, long)]
    assert measured == [(0.5, 1.0), (0.5, 1.0)]


def test_ndcg_by_hand() -> None:
    right = gold((5, 5), also_ok=((4, 4),))
    best = 2 / math.log2(2) + 1 / math.log2(3)
    assert ndcg([moment("a", 5), moment("a", 4)], right) == 1
    assert ndcg([moment("a", 4, 5)], right) == pytest.approx((1 / math.log2(2) + 2 / math.log2(3)) / best)


@given(hits_lists, golds)
def test_ndcg_agrees_with_ir_measures(hits: list[Moment], right: Gold) -> None:
    qrels = {"q": {f"{ref.talk_id}:{ref.position}": grade for ref, grade in grades(right).items()}}
    ranking = ranked_cues(hits)
    run = {"q": {f"{ref.talk_id}:{ref.position}": float(-rank) for rank, ref in enumerate(ranking)}}
    theirs = ir_measures.calc_aggregate([ir_measures.nDCG @ 20], qrels, run)[ir_measures.nDCG @ 20] if ranking else 0.0
    assert ndcg(hits, right) == pytest.approx(theirs)


@given(hits_lists, golds)
def test_reciprocal_rank_agrees_with_ir_measures(hits: list[Moment], right: Gold) -> None:
    judged = {f"{rank:02}": int(touches(hit, "a", right.relevant)) for rank, hit in enumerate(hits)}
    run = {"q": {f"{rank:02}": float(-rank) for rank in range(len(hits))}}
    theirs = ir_measures.calc_aggregate([ir_measures.RR @ 10], {"q": judged | {"never": 1}}, run)[ir_measures.RR @ 10]
    assert reciprocal_rank(hits, right) == pytest.approx(theirs if hits else 0.0)


@given(hits_lists, golds)
def test_more_hits_never_hurt_recall_and_shares_stay_between_0_and_1(hits: list[Moment], right: Gold) -> None:
    for measure in (span_recall, cue_recall):
        values = [measure(hits[:k], right) for k in range(len(hits) + 1)]
        assert values == sorted(values)
    for value in (ndcg(hits, right), cue_precision(hits, right), cue_recall(hits, right), span_recall(hits, right)):
        assert 0 <= value <= 1 + 1e-9
