"""Scores and comparisons -> tables for the terminal. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from eval.bench.load import Load
from eval.bench.scale import Step
from eval.bench.types import Measured
from eval.compare import Comparison
from eval.scores import HEADLINE, Score
from eval.soak import Tally
from eval.types import FoundMoment
from rag.links import timecode

_SHOWN = (*HEADLINE, "start_med", "alce_rec", "alce_prec", "abst_recall", "false_abst", "auroc", "bad_ids", "bad_times")
_CHANGED_SHOWN = 10


def scores(setting: str, found_scores: Mapping[str, Score]) -> Table:
    """The headline scores of one setting."""
    counts = ", ".join(f"{int(found_scores[name]['value'])} {name}" for name in ("answerable", "unanswerable"))
    table = Table(title=f"setting {setting}: {counts}", title_justify="left")
    for column in ("measure", "value", "95 % interval", "n"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for name in (*_SHOWN, "failed"):
        if found := found_scores.get(name):
            low, high = found["low"], found["high"]
            between = "" if low is None or high is None else f"{low:.3g} to {high:.3g}"
            table.add_row(name, f"{found['value']:.3g}", between, str(found["n"]))
    return table


def differences(title: str, comparison: Comparison) -> Table:
    """Every measure over all questions, and the types of questions that changed beyond chance."""
    table = Table(title=f"{title}: {comparison.shared} questions in both", title_justify="left")
    for column in ("setting", "questions", "measure", "before", "after", "change", "95 % interval", "p", ""):
        table.add_column(column, justify="left" if column in ("setting", "questions", "measure", "") else "right")
    for found in comparison.differences:
        if found.group and not found.verdict:
            continue
        table.add_row(
            found.setting,
            f"{found.group or 'all'} ({found.n})",
            found.measure,
            f"{found.base:.3f}",
            f"{found.other:.3f}",
            f"{found.delta:+.3f}",
            f"{found.low:+.3f} to {found.high:+.3f}",
            f"{found.p:.4f}",
            Text(found.verdict, style="green" if found.verdict == "better" else "red"),
        )
    return table


def changed(comparison: Comparison) -> Table:
    """The questions that lost and won most, with the first moment before and after."""
    table = Table(title=f"questions that changed by {comparison.changed_by}", title_justify="left")
    for column in ("change", "question", "gold", "before", "after"):
        table.add_column(column)
    worst, best = comparison.changed[:_CHANGED_SHOWN], comparison.changed[_CHANGED_SHOWN:][-_CHANGED_SHOWN:]
    for change in (*worst, *best):
        table.add_row(
            f"{change.gain:+.2f}",
            Text(f"{change.base.id}: {change.base.question}"),
            Text(_place(change.base.gold)),
            Text(_place(change.base.outcome.hits)),
            Text(_place(change.other.outcome.hits)),
        )
    return table


def benchmarks(results: Sequence[Measured]) -> Table:
    """What was measured against its goal."""
    table = Table()
    for column in ("benchmark", "value", "goal", "floor", "made of"):
        table.add_column(column, justify="right" if column in ("value", "goal") else "left")
    for found in results:
        goal = "" if found.goal is None else f"{'≥' if found.at_least else '≤'} {found.goal:.3g} {found.unit}"
        value = Text(f"{found.value:.3g} {found.unit}", style="" if found.holds else "red")
        table.add_row(found.name, value, goal, Text(found.floor), Text(found.detail))
    return table


def growth(steps: Sequence[Step]) -> Table:
    """What a library costs each time that it has doubled."""
    table = Table(title="a search without embedding; times are CPU time", title_justify="left")
    for column in ("passages", "search", "in a talk", "Chroma alone", "memory", "index", "library", "add"):
        table.add_column(column, justify="right")
    for step in steps:
        table.add_row(
            f"{step.windows:,}",
            f"{step.search_ms:.1f} ms",
            f"{step.within_talk_ms:.1f} ms",
            f"{step.chroma_ms:.1f} ms",
            f"{step.memory_mb:,.0f} MB",
            f"{step.index_mb:,.0f} MB",
            f"{step.library_mb:,.0f} MB",
            f"{step.add_s:,.0f} s for {step.added:,}",
        )
    return table


def load(found: Load) -> Table:
    """Requests by kind, with how long they took; then what the server held."""
    title = f"{found.clients} clients, {found.seconds:.0f} s"
    table = Table(title=title, title_justify="left")
    for column in ("", "requests", "p50 ms", "p95 ms", "slowest ms"):
        table.add_column(column, justify="right" if column else "left")
    for name, kind in found.kinds.items():
        times = [f"{kind.percentile(share):.0f}" for share in (0.5, 0.95, 1)] if kind.seconds else ["", "", ""]
        table.add_row(name, str(len(kind.seconds)), *times)
    table.add_row("errors", str(len(found.errors) + len(found.log_errors)))
    outage = ", ".join(f"{count} by {who}" for who, count in sorted(found.during_outage.items()))
    table.add_row("answers while the model was away", outage)
    names = ("start", "warm", "most", "end")
    for name, values in (("memory, MB", found.memory_mb), ("open files", found.files)):
        table.add_row(name, ", ".join(f"{value:.0f} {at}" for at, value in zip(names, values, strict=True)))
    table.add_row("memory at each tenth, MB", " ".join(f"{value:.0f}" for value in found.course_mb))
    return table


def trial(tallies: Sequence[Tally]) -> Table:
    """What was lost and seen, fault by fault."""
    table = Table()
    for column in ("fault", "times", "lost", "what the user saw"):
        table.add_column(column, justify="right" if column in ("times", "lost") else "left")
    for tally in tallies:
        saw = "; ".join(tally.saw[:_CHANGED_SHOWN]) or ("nothing" if tally.times else "")
        table.add_row(
            tally.fault, str(tally.times), Text(str(tally.lost), style="red" if tally.lost else ""), Text(saw)
        )
    return table


def _place(moments: tuple[FoundMoment, ...]) -> str:
    return f"{moments[0].talk_id} {moments[0].first_cue} {timecode(moments[0].start_ms)}" if moments else "nothing"
