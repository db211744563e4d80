"""What the commands do between their arguments and their output: arguments -> plan, scores -> tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from eval.dataset import Item
from eval.plan import Plan
from eval.run import run as ask_everything
from eval.scores import HEADLINE, Score
from eval.types import Setting
from rag.embed import load_embedder
from rag.errors import UsageError
from rag.settings import load_settings

_SHOWN = (*HEADLINE, "start_med", "alce_rec", "alce_prec", "abst_recall", "false_abst", "auroc", "bad_ids", "bad_times")


def run(arguments: argparse.Namespace) -> int:
    """`python -m eval run`: exit code 1 when questions failed."""
    settings = load_settings()
    plan = Plan(
        data=folders(arguments.data),
        out=arguments.out,
        cache=arguments.cache,
        settings=_settings(arguments.setting),
        answers=arguments.answers,
        questions=tuple(arguments.questions),
        only=_only(arguments.only),
        limit=arguments.limit,
        seed=arguments.seed,
        allow_unchecked=arguments.unchecked,
    )
    console = Console(stderr=True)
    scores = ask_everything(plan, settings, load_embedder(settings.embed_model), console.log, _with_progress)
    if arguments.json:
        sys.stdout.write((plan.out / "scores.json").read_text(encoding="utf-8") + "\n")
    else:
        for setting, found in scores.items():
            Console(width=None if sys.stdout.isatty() else 100).print(score_table(setting, found["all"]))
        sys.stdout.write(f"report: {plan.out / 'report.html'}\n")
    failed = sum(int(found["all"]["failed"]["value"]) for found in scores.values())
    if failed:
        console.print(f"{failed} questions failed; the same command asks them again", style="red")
    return 1 if failed else 0


def folders(groups: Iterable[Iterable[Path]]) -> tuple[Path, ...]:
    """The data folders in order, each once; raises `UsageError` for one that is not there."""
    found = tuple(dict.fromkeys(path for group in groups for path in group))
    for path in found:
        if not path.is_dir():
            raise UsageError(f"--data {path}: no such folder; expected one with talks/ and questions.jsonl")
    return found


def score_table(setting: str, scores: dict[str, Score]) -> Table:
    """The headline scores of one setting."""
    counts = ", ".join(f"{int(scores[name]['value'])} {name}" for name in ("answerable", "unanswerable"))
    table = Table(title=f"setting {setting}: {counts}", title_justify="left")
    for column in ("measure", "value", "95 % interval", "n"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for name in (*_SHOWN, "failed"):
        if found := scores.get(name):
            low, high = found["low"], found["high"]
            between = "" if low is None or high is None else f"{low:.3g} to {high:.3g}"
            table.add_row(name, f"{found['value']:.3g}", between, str(found["n"]))
    return table


def _settings(chosen: str) -> tuple[Setting, ...]:
    if chosen == "both":
        return ("talk", "corpus")
    known: dict[str, tuple[Setting, ...]] = {"scope": ("scope",), "talk": ("talk",), "corpus": ("corpus",)}
    return known[chosen]


def _only(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    name, _, values = text.partition("=")
    if name != "type" or not values:
        raise UsageError(f"--only {text}: expected type=NAME[,NAME…], for example type=factoid,paraphrase")
    return tuple(values.split(","))


def _with_progress(items: Iterable[Item], title: str) -> Iterator[Item]:
    """Show a bar on stderr while the questions are taken one by one; nothing when stderr is not a terminal."""
    items = list(items)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield from bar.track(items, description=title)
