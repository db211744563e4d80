"""Rows and scores -> report.html (one file, opens offline) and report.md. Pure: text in, text out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eval import plots
from eval.compare import LOWER_IS_BETTER, MEASURES, MUST_BE_ZERO, Comparison
from eval.scores import Score, SettingScores
from eval.types import FoundMoment, Row, Setting
from rag.links import is_address, timecode

SETTINGS = {
    "scope": "each question in its own scope",
    "talk": "within the talk",
    "corpus": "over all talks of the folder",
}


class Tile(NamedTuple):
    """A headline number: measure, what it says in words, and how it is written."""

    measure: str
    words: str
    form: str = "{:.2f}"


TILES = (
    Tile("hit@1", "first moment is right"),
    Tile("hit@5", "right moment among five"),
    Tile("start<=15", "first link within 15 s"),
    Tile("start_med", "median seconds off", "{:.1f} s"),
    Tile("cite_any", "answers with a right link"),
    Tile("cite_prec", "cited cues that are right"),
    Tile("facts", "facts of the reference found"),
    Tile("abst_recall", "unanswerable refused"),
    Tile("false_abst", "answerable refused"),
    Tile("auroc", "confidence tells them apart"),
    Tile("bad_ids", "invented citations", "{:.0f}"),
    Tile("bad_times", "impossible times", "{:.0f}"),
)


class Verdict(NamedTuple):
    """How a question went: `order` puts failures first, `kind` is "bad", "fair", "good" or "" (nothing to judge)."""

    order: int
    words: str
    kind: str


FAILED = Verdict(0, "failed", "bad")
IMPOSSIBLE = Verdict(1, "impossible citation", "bad")
NOT_FOUND = Verdict(2, "not found", "bad")
WRONG_LINK = Verdict(3, "wrong citation", "bad")
WRONGLY_REFUSED = Verdict(4, "wrongly refused", "bad")
SHOULD_REFUSE = Verdict(5, "should have refused", "bad")
FOUND_LOWER = Verdict(6, "found, not first", "fair")
RIGHT = Verdict(7, "right", "good")
RIGHTLY_REFUSED = Verdict(8, "rightly refused", "good")
NOT_JUDGED = Verdict(9, "search only", "")


def verdict(row: Row) -> Verdict:
    """The one thing to know about a row."""
    measures = row.measures
    if row.outcome.error:
        return FAILED
    if measures.get("bad_ids") or measures.get("bad_times"):
        return IMPOSSIBLE
    if not row.answerable:
        return NOT_JUDGED if not row.outcome.answered else RIGHTLY_REFUSED if row.outcome.abstained else SHOULD_REFUSE
    if not measures["hit_ok@10"] and not measures.get("cite_any"):
        return NOT_FOUND
    if row.outcome.abstained:
        return WRONGLY_REFUSED
    if row.outcome.answered and not measures["cite_any"]:
        return WRONG_LINK
    return RIGHT if measures["hit_ok@1"] or measures.get("cite_any") else FOUND_LOWER


def html(rows: Sequence[Row], scores: Mapping[Setting, SettingScores], made_from: Mapping[str, object]) -> str:
    """The whole report as one HTML document without any outside reference but the links to the moments."""
    sections = []
    for setting, found in scores.items():
        own = [row for row in rows if row.setting == setting]
        sections.append(
            {
                "name": SETTINGS[setting],
                "scores": found,
                "figures": [(title, Markup(svg)) for title, svg in figures(own, found).items()],
            }
        )
    ordered = sorted(rows, key=lambda row: (verdict(row).order, row.id))
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(sections=sections, rows=ordered, made_from=made_from, tiles=TILES, settings=SETTINGS)
    )


def figures(rows: Sequence[Row], scores: SettingScores) -> dict[str, str]:
    """The figures of one setting, title -> SVG; those without data are left out."""
    drawn = {
        "Right moment among the first k": plots.hit_curves(scores["all"]),
        "Seconds off": plots.seconds_off(rows),
        "Precision against coverage": plots.precision_against_coverage(rows),
        "Time by step": plots.latency(scores["cost"]),
        "By type of question": plots.by_type(scores["groups"]),
    }
    return {title: svg for title, svg in drawn.items() if svg}


def markdown(rows: Sequence[Row], scores: Mapping[Setting, SettingScores], made_from: Mapping[str, object]) -> str:
    """The headline table and the failures, for a terminal or a pull request."""
    failures = sorted((row for row in rows if verdict(row).kind == "bad"), key=lambda row: (verdict(row).order, row.id))
    return (
        _environment()
        .get_template("report.md.jinja")
        .render(scores=scores, failures=failures, rows=rows, made_from=made_from, tiles=TILES, settings=SETTINGS)
    )


def compare_html(names: tuple[str, str], comparison: Comparison) -> str:
    """Two runs side by side as one HTML document."""
    sections = []
    for setting in dict.fromkeys(found.setting for found in comparison.differences):
        own = [found for found in comparison.differences if found.setting == setting]
        sign = {measure: -1.0 if measure in LOWER_IS_BETTER else 1.0 for measure in MEASURES}
        forest = [
            (
                found.measure,
                sign[found.measure] * found.delta,
                sign[found.measure] * found.low,
                sign[found.measure] * found.high,
                found.verdict,
            )
            for found in own
            if not found.group and found.measure not in MUST_BE_ZERO
        ]
        sections.append({"name": SETTINGS[setting], "found": own, "forest": Markup(plots.differences(forest))})
    pairs = [
        (change.base.measures[change.measure], change.other.measures[change.measure]) for change in comparison.changed
    ]
    measure = comparison.changed_by
    slope = Markup(plots.before_after(pairs, measure))
    return (
        _environment()
        .get_template("compare.html.jinja")
        .render(names=names, sections=sections, comparison=comparison, slope=slope, measure=measure)
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("eval"),
        autoescape=lambda name: name is not None and not name.endswith(".md.jinja"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., object]] = {
        "verdict": verdict, "between": _between, "span": _span, "web": _web, "one_line": _one_line,
    }  # fmt: skip
    environment.filters.update(filters)
    return environment


def _between(score: Score, form: str = "{:.2f}") -> str:
    low, high = score["low"], score["high"]
    return "" if low is None or high is None else f"{form.format(low)} – {form.format(high)}"


def _span(moment: FoundMoment) -> str:
    """`s12–s14 · 3:05`; a single cue is written once."""
    cues = moment.first_cue if moment.first_cue == moment.last_cue else f"{moment.first_cue}–{moment.last_cue}"
    return f"{cues} · {timecode(moment.start_ms)}"


def _web(moment: FoundMoment) -> str:
    """Its address when it is one that a saved page can open, else ""."""
    return moment.url if is_address(moment.url) else ""


def _one_line(text: str) -> str:
    """Safe inside a Markdown table cell."""
    return " ".join(text.split()).replace("|", "\\|")
