"""What the commands do between their arguments and their output: arguments -> plan, scores -> tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn, track

from eval import compare as comparing
from eval import plots, tables
from eval import soak as trial
from eval.bench.load import load as run_load
from eval.bench.run import BENCHMARKS
from eval.bench.run import run as run_benchmarks
from eval.bench.scale import grow
from eval.dataset import Item
from eval.draft import as_line, draft
from eval.plan import Plan
from eval.report import compare_html
from eval.run import run as ask_everything
from eval.store import read_rows, write_text
from eval.types import Setting
from rag.embed import load_embedder
from rag.errors import UsageError
from rag.library import Library
from rag.llms import load_llm
from rag.settings import load_settings

SAMPLE = Path(__file__).parent / "data"
_SHOWN_ERRORS = 10


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
    scores = ask_everything(plan, settings, load_embedder(settings.embed_model), _say, _with_progress)
    if arguments.json:
        sys.stdout.write((plan.out / "scores.json").read_text(encoding="utf-8") + "\n")
    else:
        for setting, found in scores.items():
            Console(width=None if sys.stdout.isatty() else 100).print(tables.scores(setting, found["all"]))
        sys.stdout.write(f"report: {plan.out / 'report.html'}\n")
    failed = sum(int(found["all"]["failed"]["value"]) for found in scores.values())
    if failed:
        console.print(f"{failed} questions failed; the same command asks them again", style="red")
    return 1 if failed else 0


def compare(arguments: argparse.Namespace) -> int:
    """`python -m eval compare`: exit code 1 when a gate does not hold."""
    base, *others = (read_rows(out) for out in arguments.runs)
    gated = arguments.gate.split(",") if arguments.gate else []
    console = Console(width=None if sys.stdout.isatty() else 120)
    held = True
    for out, rows in zip(arguments.runs[1:], others, strict=True):
        found = comparing.compare(base, rows, arguments.by, seed=arguments.seed)
        reasons = comparing.gate(found, gated) if gated else []
        held = held and not reasons
        page = out / "compare.html"
        write_text(page, compare_html((arguments.runs[0].name, out.name), found))
        if arguments.json:
            sys.stdout.write(json.dumps(comparing.as_json(found, reasons), ensure_ascii=False) + "\n")
            continue
        console.print(tables.differences(f"{arguments.runs[0]} -> {out}", found))
        console.print(tables.changed(found))
        for reason in reasons:
            console.print(f"gate: {reason}", style="red", markup=False)
        if gated and not reasons:
            console.print(f"gate: {out} is not worse beyond chance on {', '.join(gated)}", markup=False)
        console.print(f"report: {page}", markup=False)
    return 0 if held else 1


def questions(arguments: argparse.Namespace) -> int:
    """`python -m eval questions`: exit code 1 when not a single draft came out."""
    settings = load_settings()
    llm = load_llm(settings)
    if llm is None:
        raise UsageError("questions: drafting needs a language model; set RAG_LLM (and RAG_LLM_BASE_URL)")
    talk = Library(settings.home).get(arguments.talk)
    out = arguments.out or Path(f"{talk.id}.questions.jsonl")
    if out.exists():
        raise UsageError(f"--out {out}: exists already; drafts never replace what somebody may have checked")
    console = Console(stderr=True)
    try:
        drafts = list(
            track(
                draft(talk, arguments.n, llm, partial(_say, console=console)), "drafting", arguments.n, console=console
            )
        )
    finally:
        llm.close()
    write_text(out, "".join(as_line(question) for question in drafts))
    sys.stdout.write(f'{len(drafts)} drafts in {out}: check each, then set "checked": true\n')
    return 0 if drafts else 1


def bench(arguments: argparse.Namespace) -> int:
    """`python -m eval bench`: exit code 1 when a goal is missed or, with --soak, something was lost."""
    if arguments.soak:
        return _soak(arguments)
    if arguments.scale:
        return _scale(arguments)
    settings = load_settings()
    data = folders(arguments.data or [[SAMPLE]])
    subjects = arguments.only.split(",") if arguments.only else tuple(BENCHMARKS)
    results = run_benchmarks(data, load_embedder(settings.embed_model), settings, _say, arguments.cache, subjects)
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(measured) for measured in results], ensure_ascii=False) + "\n")
    else:
        Console(width=None if sys.stdout.isatty() else 120).print(tables.benchmarks(results))
    return 0 if all(measured.holds for measured in results) else 1


def load(arguments: argparse.Namespace) -> int:
    """`python -m eval load`: exit code 1 when a client met an error, or memory grew."""
    found = run_load(sorted((SAMPLE / "talks").glob("*.vtt")), arguments.clients, arguments.seconds, _say)
    if arguments.json:
        sys.stdout.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
    else:
        console = Console(width=None if sys.stdout.isatty() else 120)
        console.print(tables.load(found))
        for line in [*found.errors, *found.log_errors][:_SHOWN_ERRORS]:
            console.print(line, style="red", markup=False)
    return 0 if found.holds else 1


def _scale(arguments: argparse.Namespace) -> int:
    steps = []
    with TemporaryDirectory(prefix="talkcite-scale-") as scratch:
        for step in grow(Path(scratch), arguments.scale, _say):
            steps.append(step)
            _say(json.dumps(asdict(step)))  # such a run takes hours, and may be stopped
    if arguments.plot:
        write_text(arguments.plot, plots.growth(steps))
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(step) for step in steps]) + "\n")
    else:
        Console(width=None if sys.stdout.isatty() else 120).print(tables.growth(steps))
    return 0


def _soak(arguments: argparse.Namespace) -> int:
    tallies = trial.run(arguments.minutes, arguments.seed, Console(stderr=True).log)
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(tally) for tally in tallies], ensure_ascii=False) + "\n")
    else:
        Console(width=None if sys.stdout.isatty() else 120).print(tables.trial(tallies))
    return 1 if any(tally.lost or tally.saw for tally in tallies) else 0


def folders(groups: Iterable[Iterable[Path]]) -> tuple[Path, ...]:
    """The data folders in order, each once; raises `UsageError` for one that is not there."""
    found = tuple(dict.fromkeys(path for group in groups for path in group))
    for path in found:
        if not path.is_dir():
            raise UsageError(f"--data {path}: no such folder; expected one with talks/ and questions.jsonl")
    return found


def _say(line: str, console: Console | None = None) -> None:
    """One line on stderr, however long: what a script or a log file gets is never folded."""
    (console or Console(stderr=True)).print(line, soft_wrap=True, markup=False, highlight=False)


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
