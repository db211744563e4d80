import random

import pytest

from eval.stats import bootstrap, interval, randomisation_p


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [float(n % 3 == 0) for n in range(90)]
    talks = [f"t{n % 7 if n % 3 else 7 + n % 5}" for n in range(90)]
    low, high = interval(values, talks)
    assert low < sum(values) / 90 < high
    assert (low, high) == interval(values, talks)


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert interval([1.0] * 5, ["t"] * 5) == (1.0, 1.0)


def test_talks_are_drawn_whole_when_there_are_enough() -> None:
    # ten talks, each all right or all wrong: drawn by talk the mean varies far more than drawn by question
    values = [float(n // 20 < 5) for n in range(200)]
    by_talk = interval(values, [f"t{n // 20}" for n in range(200)])
    by_question = interval(values, [f"t{n // 40}" for n in range(200)])  # five talks are too few
    assert by_talk[1] - by_talk[0] > 3 * (by_question[1] - by_question[0])


def test_no_values_no_interval() -> None:
    with pytest.raises(ValueError, match="at least one"):
        interval([], [])


def test_bootstrap_of_a_statistic() -> None:
    values = list(range(100))
    low, high = bootstrap(values, ["t"] * 100, max)
    assert low >= 90
    assert high == 99


def test_randomisation_by_hand() -> None:
    # +1 four times: only ++++ and ---- are as far from 0, so p is about 2/16
    assert randomisation_p([1.0] * 4) == pytest.approx(2 / 16, abs=0.02)


def test_randomisation_sees_a_clear_difference_and_none_in_noise() -> None:
    rng = random.Random(1)
    assert randomisation_p([1.0] * 30) < 0.001
    assert randomisation_p([rng.choice((-1.0, 1.0)) for _ in range(30)]) > 0.05
    assert randomisation_p([0.0] * 30) == 1.0
    assert randomisation_p([]) == 1.0
