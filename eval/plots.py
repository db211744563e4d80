"""Scores and rows -> figures as SVG text. The only file that knows matplotlib.

The same numbers give the same SVG, byte for byte, so that figures can be kept under version control.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eval.bench.scale import Step
from eval.judge import KS
from eval.measures.refusal import coverage_curve
from eval.scores import Score
from eval.types import Row

INK, MUTED, GRID = "#1d2433", "#667085", "#e4e7ec"
BLUE, ORANGE, GREEN, VIOLET, RED = "#2f6fde", "#e4812f", "#1f9d72", "#7d5bd0", "#d1483f"

_ARMS = (
    ("", "moments shown", BLUE),
    ("dense:", "meaning alone, passages", GREEN),
    ("words:", "words alone, passages", ORANGE),
)
_OFF_S = (5, 15, 30, 60, 300)
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "talkcite",
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
}


def hit_curves(scores: Mapping[str, Score]) -> str:
    """hit@k for each search arm and for both together; "" when nothing was measured."""
    figure, axes = _figure(5.2, 3.4)
    for prefix, label, colour in _ARMS:
        points = [(k, scores[f"{prefix}hit@{k}"]) for k in KS if f"{prefix}hit@{k}" in scores]
        if not points:
            continue
        ks, values = [k for k, _ in points], [found["value"] for _, found in points]
        if not prefix:
            lows, highs = zip(*((found["low"] or 0.0, found["high"] or 0.0) for _, found in points), strict=True)
            axes.fill_between(ks, lows, highs, color=colour, alpha=0.13, linewidth=0)
        axes.plot(ks, values, color=colour, marker="o", markersize=5, linewidth=2.2 if not prefix else 1.6, label=label)
        axes.annotate(f"{values[0]:.2f}", (ks[0], values[0]), (-6, 6), textcoords="offset points", ha="right", size=8)
    axes.set(xlabel="first k moments", ylabel="questions with a right one", xticks=KS, ylim=(0, 1.02), xlim=(0, 10.3))
    if axes.lines:
        axes.legend(loc="lower right", frameon=False)
    return _svg(figure, empty=not axes.lines)


def seconds_off(rows: Sequence[Row], measure: str = "off_s") -> str:
    """How far the first link is from the gold start, in bins a listener would name; "" when nothing was measured."""
    answerable = [row for row in rows if row.answerable and "hit@1" in row.measures]
    bounds = (0.0, *map(float, _OFF_S), float("inf"))
    labels = ["≤ 5 s", "≤ 15 s", "≤ 30 s", "≤ 1 min", "≤ 5 min", "> 5 min", "wrong talk\nor nothing"]
    counts = [0] * len(labels)
    for row in answerable:
        off = row.measures.get(measure)
        place = len(labels) - 1 if off is None else sum(off > bound for bound in bounds[1:-1])
        counts[place] += 1
    figure, axes = _figure(5.2, 3.4)
    colours = [GREEN, GREEN, BLUE, BLUE, ORANGE, ORANGE, RED]
    bars = axes.bar(labels, [count / max(1, len(answerable)) for count in counts], color=colours, width=0.72)
    axes.bar_label(bars, [str(count) if count else "" for count in counts], padding=2, size=8, color=MUTED)
    axes.set(ylabel="share of questions", xlabel="first link off by")
    axes.grid(axis="x", visible=False)
    axes.tick_params(axis="x", labelsize=8)
    return _svg(figure, empty=not answerable)


def precision_against_coverage(rows: Sequence[Row]) -> str:
    """Share of right answers as the refusal threshold moves; a right answer has a right link. "" without answers."""
    graded = [
        (row.outcome.confidence, row.measures.get("cite_any", 0.0) if row.answerable else 0.0)
        for row in rows
        if row.outcome.confidence is not None
    ]
    curve = coverage_curve(graded)
    figure, axes = _figure(5.2, 3.4)
    axes.plot([point.coverage for point in curve], [point.precision for point in curve], color=VIOLET, linewidth=2.2)
    answered = [row for row in rows if row.outcome.confidence is not None and not row.outcome.abstained]
    if answered:
        right = sum(row.measures.get("cite_any", 0.0) for row in answered if row.answerable) / len(answered)
        axes.plot(len(answered) / len(graded), right, "o", color=INK, markersize=7, label="as it is set")
        axes.legend(loc="lower left", frameon=False)
    axes.set(xlabel="share of questions answered", ylabel="answers with a right link", xlim=(0, 1.02), ylim=(0, 1.02))
    return _svg(figure, empty=not curve)


def latency(cost: Mapping[str, Mapping[str, float]]) -> str:
    """Median time by step with a line to the 95th percentile; "" when nothing was timed."""
    steps = sorted((name for name in cost if name.endswith(" ms")), key=lambda name: cost[name]["p50"])
    figure, axes = _figure(5.2, max(1.6, 0.42 * len(steps) + 0.9))
    for place, name in enumerate(steps):
        p50, p95 = max(0.1, cost[name]["p50"]), max(0.1, cost[name]["p95"])  # a logarithmic axis has no 0
        axes.plot([p50, p95], [place, place], color=BLUE, alpha=0.35, linewidth=5, solid_capstyle="round")
        axes.plot(p50, place, "o", color=BLUE, markersize=7)
        axes.annotate(f"{_ms(p50)}  (p95 {_ms(p95)})", (p95, place), (8, -3), textcoords="offset points", size=8)
    axes.set(yticks=range(len(steps)), yticklabels=[name.removesuffix(" ms") for name in steps], xlabel="milliseconds")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.42, y=0.12)
    axes.grid(axis="y", visible=False)
    return _svg(figure, empty=not steps)


def by_type(groups: Mapping[str, Mapping[str, Score]]) -> str:
    """Bars with intervals for each type of question; "" when there are none."""
    names = [name for name in groups if name.startswith("type=") and "hit@1" in groups[name]]
    wanted = (("hit@1", BLUE), ("hit@5", VIOLET), ("start<=15", ORANGE), ("cite_any", GREEN))
    shown = [pair for pair in wanted if any(pair[0] in groups[name] for name in names)]
    figure, axes = _figure(10.6, 3.4)
    for place, (measure, colour) in enumerate(shown):
        offset = (place - (len(shown) - 1) / 2) * 0.8 / max(1, len(shown))
        for spot, name in enumerate(names):
            found = groups[name].get(measure)
            if found is None or found["low"] is None or found["high"] is None:
                continue
            label = measure if spot == 0 else None
            axes.bar(spot + offset, found["value"], 0.74 / len(shown), color=colour, alpha=0.85, label=label)
            axes.plot([spot + offset] * 2, [found["low"], found["high"]], color=INK, linewidth=1, alpha=0.6)
    labels = [f"{name.removeprefix('type=')}\nn = {groups[name]['hit@1']['n']}" for name in names]
    axes.set(xticks=range(len(names)), xticklabels=labels, ylim=(0, 1.02))
    axes.grid(axis="x", visible=False)
    if names:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=len(shown), frameon=False)
    return _svg(figure, empty=not names)


def before_after(pairs: Sequence[tuple[float, float]], measure: str) -> str:
    """The value before (left) and after (right) of each question that changed. "" without pairs."""
    figure, axes = _figure(4.2, 3.6)
    counts: dict[tuple[float, float], int] = {}
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    for (before, after), count in sorted(counts.items()):
        colour = GREEN if after > before else RED
        axes.plot([0, 1], [before, after], color=colour, alpha=0.6, linewidth=min(6, 0.8 + count / 2))
    better, worse = sum(b > a for a, b in pairs), sum(b < a for a, b in pairs)
    axes.set(xticks=(0, 1), xticklabels=("before", "after"), ylabel=measure, xlim=(-0.08, 1.08))
    axes.set_title(f"{better} up, {worse} down", size=9, color=MUTED)
    return _svg(figure, empty=not pairs)


def differences(rows: Sequence[tuple[str, float, float, float, str]]) -> str:
    """Forest plot of (measure, delta, low, high, verdict), better to the right; "" without rows."""
    figure, axes = _figure(6.2, max(1.6, 0.34 * len(rows) + 0.8))
    colours = {"better": GREEN, "worse": RED}
    for place, (_, delta, low, high, verdict) in enumerate(reversed(rows)):
        colour = colours.get(verdict, MUTED)
        axes.plot([low, high], [place, place], color=colour, linewidth=2.4, alpha=0.5)
        axes.plot(delta, place, "o", color=colour, markersize=6)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set(
        yticks=range(len(rows)), yticklabels=[row[0] for row in reversed(rows)], xlabel="change, better to the right"
    )
    axes.grid(axis="y", visible=False)
    return _svg(figure, empty=not rows)


def growth(steps: Sequence[Step]) -> str:
    """Search time, memory and disk of a library each time that it has doubled; "" when nothing was measured."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(9.2, 3.2), layout="constrained")
        times, sizes = figure.subplots(1, 2)
    windows = [step.windows for step in steps]
    for axes, unit, lines in (
        (times, "CPU ms", (("search_ms", "search", BLUE), ("within_talk_ms", "within a talk", GREEN),
                           ("chroma_ms", "Chroma alone", ORANGE))),
        (sizes, "MB", (("memory_mb", "memory", BLUE), ("index_mb", "index on disk", ORANGE),
                       ("library_mb", "library on disk", VIOLET))),
    ):  # fmt: skip
        for name, label, colour in lines:
            axes.plot(windows, [getattr(step, name) for step in steps], color=colour, marker="o", label=label)
        axes.set(xscale="log", xlabel="passages", ylabel=unit)
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
    return _svg(figure, empty=not steps)


def _ms(value: float) -> str:
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure by itself, without pyplot: no display is looked for and nothing is kept alive."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.subplots()


def _svg(figure: Figure, *, empty: bool) -> str:
    """The figure as an `<svg>` element; "" when there is nothing in it."""
    if empty:
        return ""
    buffer = io.StringIO()
    with rc_context(_STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]
