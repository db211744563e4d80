"""What an answer costs: latency by step and tokens, as percentiles.

Percentiles interpolate linearly (Hyndman and Fan 1996, type 7, NumPy's default): with few questions p95 is near the
maximum and should be read so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def percentiles(rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """For every key that occurs: p50, p95 and the number of rows that have it. Lower is better."""
    keys = sorted({key for row in rows for key in row})
    result = {}
    for key in keys:
        values = [row[key] for row in rows if key in row]
        p50, p95 = (round(float(value), 1) for value in np.percentile(values, [50, 95]))
        result[key] = {"p50": p50, "p95": p95, "n": float(len(values))}
    return result
