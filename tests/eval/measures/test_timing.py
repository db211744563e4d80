from eval.measures.timing import Timing, timing
from tests.eval.talks import TALKS, gold, moment

TALK = TALKS["a"]


def test_exact_start_and_overlap() -> None:
    # gold s3..s4 = 20..40 s, moment s4..s6 = 30..60 s: 10 s shared of 40 s
    assert timing(moment("a", 4, 6), gold((3, 4)), TALK) == Timing(off_ms=10_000, iou=0.25, inside=True)


def test_nearest_gold_span_counts() -> None:
    assert timing(moment("a", 8), gold((1, 1), (9, 9)), TALK).off_ms == 10_000


def test_just_before_the_gold_is_not_inside() -> None:
    assert not timing(moment("a", 2), gold((3, 4)), TALK).inside  # 10 s early


def test_a_start_within_five_seconds_of_the_end_is_inside() -> None:
    assert timing(moment("a", 5), gold((3, 4)), TALK).inside  # 0 s after the end
    assert not timing(moment("a", 6), gold((3, 4)), TALK).inside


def test_within_includes_the_limit() -> None:
    assert [timing(moment("a", 4), gold((3, 3)), TALK).within(limit) for limit in (5, 15)] == [0, 1]
    assert Timing(off_ms=15_000).within(15) == 1


def test_the_wrong_talk_or_nothing_is_a_miss_without_distance() -> None:
    for missed in (timing(moment("b", 3), gold((3, 3)), TALK), timing(None, gold((3, 3)), TALK)):
        assert missed == Timing(off_ms=None, iou=0.0, inside=False)
        assert missed.within(60) == 0
