"""Two or more runs side by side: is the difference more than chance, and which questions got better or worse? Pure.

Runs are compared on the questions that both asked in the same setting. The first run is the one to beat.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from eval.stats import interval, randomisation_p
from eval.types import Row, Setting
from rag.errors import InputError

REFUSED_RIGHTLY, REFUSED_WRONGLY = "abst_recall", "false_abst"
# Every other measure is better when higher.
LOWER_IS_BETTER = {"failed", "bad_ids", "bad_times", "ungrounded", "notice", "off_s", "cite_off_s", REFUSED_WRONGLY}
MUST_BE_ZERO = ("bad_ids", "bad_times", "failed")
MEASURES = (
    "hit@1", "hit@5", "hit@10", "mrr", "ndcg@20", "dense:mrr", "words:mrr", "plain:mrr", "prec@200w", "rec@200w",
    "start<=5", "start<=15", "start<=30", "iou@1", "inside@1", "cite_any", "cite_prec", "cite_rec", "alce_rec",
    "alce_prec", "facts", "ungrounded", REFUSED_RIGHTLY, REFUSED_WRONGLY, *MUST_BE_ZERO,
)  # fmt: skip
"""What is compared, in the order in which it is shown."""
ALPHA = 0.05

Key = tuple[Setting, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure over the questions (`n`) that both runs have it for. `delta` is other minus base, with its interval.

    `p` is that of the paired randomisation test. `group` is "" for all questions, else for example "type=factoid".
    """

    setting: Setting
    group: str
    measure: str
    n: int
    base: float
    other: float
    delta: float
    low: float
    high: float
    p: float

    @property
    def improves(self) -> bool:
        """True when the other run is better, by chance or not."""
        return self.delta < 0 if self.measure in LOWER_IS_BETTER else self.delta > 0

    @property
    def verdict(self) -> str:
        """ "better" or "worse" beyond chance, else ""."""
        if self.p >= ALPHA or self.delta == 0:
            return ""
        return "better" if self.improves else "worse"


@dataclass(frozen=True, slots=True)
class Changed:
    """A question whose `measure` differs between the runs."""

    measure: str
    base: Row
    other: Row

    @property
    def gain(self) -> float:
        """How much better the other run is; negative when worse."""
        delta = self.other.measures[self.measure] - self.base.measures[self.measure]
        return -delta if self.measure in LOWER_IS_BETTER else delta


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found: differences in the order of measures, changed questions (worst first), questions not shared."""

    changed_by: str
    shared: int
    only_base: int
    only_other: int
    differences: tuple[Difference, ...]
    changed: tuple[Changed, ...]


def compare(base: Sequence[Row], other: Sequence[Row], changed_by: str = "mrr", *, seed: int = 7) -> Comparison:
    """Compare two runs on all `MEASURES`, overall and by type; list the questions that differ in `changed_by`.

    Raises `InputError` when the runs share no question.
    """
    one, two = _keyed(base), _keyed(other)
    keys = [key for key in one if key in two]
    if not keys:
        raise InputError("compare: the runs share no question in the same setting; run both on the same data")
    pairs = [(one[key], two[key]) for key in keys]
    differences = []
    for setting in dict.fromkeys(setting for setting, _ in keys):
        within = [pair for pair in pairs if pair[0].setting == setting]
        groups = {"": within}
        for kind in sorted({pair[0].type for pair in within}):
            groups[f"type={kind}"] = [pair for pair in within if pair[0].type == kind]
        for group, some in groups.items():
            found = (difference(some, setting, group, measure, seed) for measure in MEASURES)
            differences += [each for each in found if each is not None]
    changed = [
        Changed(changed_by, before, after)
        for before, after in pairs
        if changed_by in before.measures.keys() & after.measures.keys()
        and before.measures[changed_by] != after.measures[changed_by]
    ]
    changed.sort(key=lambda change: change.gain)
    return Comparison(
        changed_by, len(keys), len(one) - len(keys), len(two) - len(keys), tuple(differences), tuple(changed)
    )


def difference(
    pairs: Sequence[tuple[Row, Row]], setting: Setting, group: str, measure: str, seed: int
) -> Difference | None:
    """One measure over the pairs in which both runs have it; None when there are none."""
    kept = [
        (before, after, pair[0].talk_id)
        for pair in pairs
        if (before := _value(pair[0], measure)) is not None and (after := _value(pair[1], measure)) is not None
    ]
    if not kept:
        return None
    deltas = [b - a for a, b, _ in kept]
    low, high = interval(deltas, [talk for _, _, talk in kept], seed=seed)
    return Difference(
        setting=setting,
        group=group,
        measure=measure,
        n=len(kept),
        base=statistics.fmean(a for a, _, _ in kept),
        other=statistics.fmean(b for _, b, _ in kept),
        delta=statistics.fmean(deltas),
        low=low,
        high=high,
        p=randomisation_p(deltas, seed=seed),
    )


def as_json(comparison: Comparison, reasons: Sequence[str]) -> dict[str, object]:
    """For machines: all differences, the questions that changed, and why the gate does not hold."""
    return {
        "shared": comparison.shared,
        "only_base": comparison.only_base,
        "only_other": comparison.only_other,
        "differences": [asdict(found) | {"verdict": found.verdict} for found in comparison.differences],
        "changed": [
            {
                "id": change.base.id,
                "setting": change.base.setting,
                "measure": change.measure,
                "gain": change.gain,
                "gold": [moment.row for moment in change.base.gold],
                "before": [moment.row for moment in change.base.outcome.hits],
                "after": [moment.row for moment in change.other.outcome.hits],
            }
            for change in comparison.changed
        ],
        "gate": list(reasons),
    }


def gate(comparison: Comparison, measures: Sequence[str]) -> list[str]:
    """Why the other run must not pass, one line each: worse beyond chance on a gated measure, or an invented citation.

    Raises `InputError` when a gated measure was not compared: a gate that checks nothing must not be green.
    """
    overall = [found for found in comparison.differences if not found.group]
    missing = [measure for measure in measures if measure not in {found.measure for found in overall}]
    if missing:
        raise InputError(f"--gate {','.join(missing)}: not measured in both runs; expected one of {_known(overall)}")
    reasons = [
        f"{found.measure} ({found.setting}): {found.base:.4f} -> {found.other:.4f}, p = {found.p:.4f}, n = {found.n}"
        for found in overall
        if found.measure in measures and found.verdict == "worse"
    ]
    reasons += [
        f"{found.measure} ({found.setting}): {found.other * found.n:.0f} in the other run, must be 0"
        for found in overall
        if found.measure in MUST_BE_ZERO and found.other > 0
    ]
    if comparison.only_base:
        reasons.append(f"{comparison.only_base} questions of the base run are missing in the other")
    return reasons


def _value(row: Row, measure: str) -> float | None:
    """A measure of a row; the two of refusals look at one kind of question only."""
    if measure == REFUSED_RIGHTLY:
        return None if row.answerable else row.measures.get("refused")
    if measure == REFUSED_WRONGLY:
        return row.measures.get("refused") if row.answerable else None
    return row.measures.get(measure)


def _keyed(rows: Sequence[Row]) -> Mapping[Key, Row]:
    return {(row.setting, row.id): row for row in rows}


def _known(differences: Sequence[Difference]) -> str:
    return ", ".join(dict.fromkeys(found.measure for found in differences))
