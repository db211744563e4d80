"""Intervals and tests over questions that come in talks.

Questions of one talk are alike, so intervals resample whole talks (cluster bootstrap; Efron and Tibshirani 1993, ch.
8); with fewer than 8 talks that says nothing and single questions are resampled. The paired randomisation test is the
one recommended for retrieval (Smucker, Allan, Carterette, CIKM 2007).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

RESAMPLES = 2_000
STATISTIC_RESAMPLES = 500
PERMUTATIONS = 5_000
MIN_TALKS = 8


def interval(values: Sequence[float], talks: Sequence[str], *, seed: int = 7) -> tuple[float, float]:
    """95 % bootstrap interval of the mean of `values` (one a question), resampling `talks` (the talk of each).

    Raises ValueError when there are no values.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    clusters = _clusters(talks)
    sums = np.array([sum(values[index] for index in cluster) for cluster in clusters])
    counts = np.array([len(cluster) for cluster in clusters])
    draws = np.random.default_rng(seed).integers(len(clusters), size=(RESAMPLES, len(clusters)))
    return _percentiles(sums[draws].sum(axis=1) / counts[draws].sum(axis=1))


def bootstrap(
    items: Sequence[T], talks: Sequence[str], statistic: Callable[[Sequence[T]], float | None], *, seed: int = 7
) -> tuple[float, float]:
    """95 % bootstrap interval of any statistic that is not a mean (median, AUROC), resampling as `interval` does.

    Resamples for which the statistic is None (one of two classes is missing) are left out.
    """
    clusters = _clusters(talks)
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(STATISTIC_RESAMPLES):
        drawn = rng.integers(len(clusters), size=len(clusters))
        value = statistic([items[index] for cluster in drawn for index in clusters[cluster]])
        if value is not None:
            values.append(value)
    return _percentiles(np.array(values))


def randomisation_p(differences: Sequence[float], *, seed: int = 7) -> float:
    """Two-sided p of the paired randomisation test: how often do random signs give a sum at least as far from 0?

    Counts the observed assignment too, so p is never 0. No difference at all gives 1.0.
    """
    nonzero = np.array([difference for difference in differences if difference])
    if not nonzero.size:
        return 1.0
    observed = abs(nonzero.sum())
    rng = np.random.default_rng(seed)
    extreme = 0
    block = 500  # so that thousands of questions fit in memory
    for _ in range(PERMUTATIONS // block):
        signs = rng.choice((-1.0, 1.0), size=(block, nonzero.size))
        extreme += int((abs(signs @ nonzero) >= observed - 1e-12).sum())
    return (1 + extreme) / (PERMUTATIONS + 1)


def _clusters(talks: Sequence[str]) -> list[list[int]]:
    """Indices that are drawn together: by talk, or one by one where there are too few talks."""
    by_talk: dict[object, list[int]] = defaultdict(list)
    enough = len(set(talks)) >= MIN_TALKS
    for index, talk in enumerate(talks):
        by_talk[talk if enough else index].append(index)
    return list(by_talk.values())


def _percentiles(values: NDArray[Any]) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return round(float(low), 4), round(float(high), 4)
