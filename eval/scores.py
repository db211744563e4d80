"""Rows -> scores: means with intervals, medians, refusals, cost; over all questions and by group. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TypedDict

from eval.measures.cost import percentiles
from eval.measures.refusal import auroc
from eval.stats import bootstrap, interval
from eval.types import Row

HEADLINE = ("hit@1", "hit@5", "mrr", "ndcg@20", "start<=15", "cite_any", "cite_prec", "facts")
"""What group tables show; every other measure is in the overall scores."""

_COUNTED = {"failed", "bad_ids", "bad_times", "ungrounded"}  # summed, not averaged
_NOT_AVERAGED = {*_COUNTED, "refused", "off_s", "cite_off_s"}
_GROUPS: dict[str, Callable[[Row], str]] = {
    "data": lambda row: row.data,
    "scope": lambda row: row.scope,
    "type": lambda row: row.type,
}


class Score(TypedDict):
    """A value over `n` questions with its 95 % interval (None where none can be given)."""

    value: float
    low: float | None
    high: float | None
    n: int


class SettingScores(TypedDict):
    """The scores of one setting: overall, by group ("type=factoid"), and the cost by step."""

    all: dict[str, Score]
    groups: dict[str, dict[str, Score]]
    cost: dict[str, dict[str, float]]


def score(rows: Sequence[Row], *, seed: int = 7) -> SettingScores:
    """All scores of the rows of one setting."""
    groups = {}
    for name, key in _GROUPS.items():
        for value in sorted({key(row) for row in rows}):
            chosen = [row for row in rows if key(row) == value]
            groups[f"{name}={value}"] = _scores(chosen, seed, only=HEADLINE)
    cost: list[dict[str, float]] = []
    for row in rows:
        cost.append({f"{step} ms": ms for step, ms in row.outcome.timings_ms.items()})
        cost[-1] |= {name.replace("_", " "): float(count) for name, count in row.outcome.usage.items()}
    return {"all": _scores(rows, seed), "groups": groups, "cost": percentiles(cost)}


def _scores(rows: Sequence[Row], seed: int, only: Sequence[str] | None = None) -> dict[str, Score]:
    answerable = sum(row.answerable for row in rows)
    result = {
        "questions": _count(len(rows), len(rows)),
        "answerable": _count(answerable, len(rows)),
        "unanswerable": _count(len(rows) - answerable, len(rows)),
    }
    # In the order in which measures first occur, so that tables read as judge.py does.
    for name in dict.fromkeys(name for row in rows for name in row.measures):
        having = [row for row in rows if name in row.measures]
        values = [row.measures[name] for row in having]
        if name in _COUNTED:
            result[name] = _count(sum(values), len(having))
        elif name not in _NOT_AVERAGED and (only is None or name in only):
            low, high = interval(values, [row.talk_id for row in having], seed=seed)
            result[name] = _score(statistics.fmean(values), low, high, len(values))
    for name, median in (("off_s", "start_med"), ("cite_off_s", "cite_start_med")):
        having = [row for row in rows if name in row.measures]
        if having:
            result[median] = _statistic(having, lambda some, name=name: _median(some, name), seed)  # type: ignore[misc]
    return result | _refusals(rows, seed)


def _refusals(rows: Sequence[Row], seed: int) -> dict[str, Score]:
    rows = [row for row in rows if "refused" in row.measures]
    if not rows:
        return {}
    result = {"abst_acc": _rate(rows, lambda row: row.measures["refused"] == (not row.answerable), seed)}
    answerable, unanswerable = [row for row in rows if row.answerable], [row for row in rows if not row.answerable]
    if answerable:
        result["false_abst"] = _rate(answerable, lambda row: row.measures["refused"] == 1, seed)
    if unanswerable:
        result["abst_recall"] = _rate(unanswerable, lambda row: row.measures["refused"] == 1, seed)
        result["abst_f1"] = _statistic(rows, _refusal_f1, seed)
    if _auroc(rows) is not None:
        result["auroc"] = _statistic(rows, _auroc, seed)
    return result


def _rate(rows: Sequence[Row], verdict: Callable[[Row], bool], seed: int) -> Score:
    values = [float(verdict(row)) for row in rows]
    low, high = interval(values, [row.talk_id for row in rows], seed=seed)
    return _score(statistics.fmean(values), low, high, len(values))


def _statistic(rows: Sequence[Row], statistic: Callable[[Sequence[Row]], float | None], seed: int) -> Score:
    value = statistic(rows)
    if value is None:
        raise ValueError("the statistic is not defined for these rows")
    low, high = bootstrap(rows, [row.talk_id for row in rows], statistic, seed=seed)
    return _score(value, low, high, len(rows))


def _median(rows: Sequence[Row], name: str) -> float:
    return statistics.median(row.measures[name] for row in rows)


def _refusal_f1(rows: Sequence[Row]) -> float:
    """F1 of the class "unanswerable": 2 TP / (2 TP + FP + FN)."""
    right = sum(not row.answerable and row.measures["refused"] == 1 for row in rows)
    refused = sum(row.measures["refused"] == 1 for row in rows)
    unanswerable = sum(not row.answerable for row in rows)
    return 2 * right / (refused + unanswerable) if refused + unanswerable else 0.0


def _auroc(rows: Sequence[Row]) -> float | None:
    answerable = [row.outcome.confidence for row in rows if row.answerable and row.outcome.confidence is not None]
    unanswerable = [row.outcome.confidence for row in rows if not row.answerable and row.outcome.confidence is not None]
    return auroc(answerable, unanswerable)


def _count(value: float, n: int) -> Score:
    return {"value": value, "low": None, "high": None, "n": n}


def _score(value: float, low: float | None, high: float | None, n: int) -> Score:
    return {"value": round(value, 4), "low": low, "high": high, "n": n}
