"""The yardstick of the leak tests: a leak fails, a pool that grows by one does not."""

from __future__ import annotations

import pytest

from tests.leaks import assert_level


def test_one_more_each_step_is_a_leak() -> None:
    with pytest.raises(AssertionError, match="6 more after 6 steps"):
        assert_level(range(40, 55))


def test_a_pool_that_opens_another_connection_is_none() -> None:
    assert_level([47] * 9 + [48] * 6)
    assert_level([47] * 6 + [49] * 9)


def test_noise_around_a_level_is_none() -> None:
    assert_level([47, 50, 48] * 5)


def test_too_few_steps_tell_nothing() -> None:
    with pytest.raises(AssertionError, match="too few"):
        assert_level([1, 2, 3])
