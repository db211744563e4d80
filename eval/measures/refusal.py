"""Refusals: is "the talks do not answer" said when it is true, and only then?

AUROC is the Mann-Whitney statistic (Hanley and McNeil, Radiology 1982). The curve of precision against coverage is the
risk-coverage curve of selective prediction (El-Yaniv and Wiener, JMLR 2010) turned upside down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


def auroc(answerable: Sequence[float], unanswerable: Sequence[float]) -> float | None:
    """Chance that an answerable question has a higher confidence than an unanswerable one (ties count half).

    None when either side is empty.
    """
    if not answerable or not unanswerable:
        return None
    above = np.subtract.outer(np.array(answerable), np.array(unanswerable))
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


class CoveragePoint(NamedTuple):
    """Answering only from `threshold` on: the share of questions answered, and of those the share answered rightly."""

    threshold: float
    coverage: float
    precision: float


def coverage_curve(graded: Sequence[tuple[float, float]]) -> list[CoveragePoint]:
    """From (confidence, 1.0 right or 0.0 wrong) of every question: the curve as the refusal threshold falls."""
    ordered = sorted(graded, key=lambda pair: -pair[0])
    curve = []
    right = 0.0
    for answered, (confidence, verdict) in enumerate(ordered, start=1):
        right += verdict
        # Questions of equal confidence are answered together or not at all.
        if answered == len(ordered) or ordered[answered][0] != confidence:
            curve.append(CoveragePoint(confidence, answered / len(ordered), right / answered))
    return curve
