"""talkcite and what users would pick instead, on the same questions: python -m eval.peers --data DIR … --out OUT

Everybody is asked within the talk, and a follow-up is put to everybody as talkcite itself would search for it. Writes a
folder a recipe, for `python -m eval compare`, and prints a table.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import fmean

from eval import provenance
from eval.ask import HITS
from eval.build import Say, default_cache
from eval.commands import folders
from eval.judge import judge
from eval.plan import Corpus, Plan, prepare
from eval.recipes import RECIPES, Recipe, Search, budgeted
from eval.stats import randomisation_p
from eval.store import write_json, write_lines
from eval.types import FoundMoment, Outcome, Row
from rag.embed import Embedder, load_embedder
from rag.engine import Engine
from rag.errors import StartError, TalkciteError, UsageError
from rag.rewrite import rewrite
from rag.settings import Settings, load_settings
from rag.types import Filters, Span, Talk, Turn

OURS = "talkcite"
MEASURES = ("hit@1", "hit@5", "mrr", "start<=15")
STRETCHES = {"chapter-title", "span"}  # types whose gold is a stretch of the talk, not the sentences that answer
LIBRARIES = (
    "langchain-classic", "langchain-community", "langchain-core", "langchain-huggingface", "langchain-text-splitters",
    "llama-index-core", "llama-index-embeddings-huggingface", "rank-bm25", "txtai",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Ask everybody, write OUT/NAME/ and print the table; the exit code is 0, or that of a `TalkciteError`."""
    parser = argparse.ArgumentParser(prog="python -m eval.peers", description=(__doc__ or "").partition(": ")[0])
    parser.add_argument("--data", type=Path, action="append", nargs="+", required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, help="a folder a recipe is written here")
    parser.add_argument("--only", default=",".join((*RECIPES, OURS)), metavar="NAME,…", help="default: %(default)s")
    arguments = parser.parse_args(argv)
    try:
        plan = Plan(folders(arguments.data), arguments.out, default_cache(), settings=("talk",), answers="none")
        runs = run(plan, arguments.only.split(","), load_embedder(), load_settings(), partial(print, file=sys.stderr))
    except TalkciteError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(table(runs))
    return 0


def run(plan: Plan, names: Sequence[str], embedder: Embedder, settings: Settings, say: Say) -> dict[str, list[Row]]:
    """Ask these recipes all questions of the plan, and write a folder for each.

    Raises `UsageError` for a recipe that there is none of, `StartError` when its library is not installed.
    """
    if unknown := set(names) - {*RECIPES, OURS}:
        raise UsageError(f"--only {','.join(sorted(unknown))}: expected names out of {', '.join((*RECIPES, OURS))}")
    corpora = prepare(plan, embedder, say)
    made_from = provenance.made_from(plan, settings, embedder)
    runs = {}
    for name in names:
        try:
            runs[name] = list(_rows(name, corpora, embedder, settings))
        except ImportError as error:
            raise StartError(
                f"{name}: {error.name} is not installed; docs/evaluation.md says how to install what it needs"
            ) from error
        out = plan.out / name
        out.mkdir(parents=True, exist_ok=True)
        write_lines(out / "run.jsonl", (row.outcome.run_row() for row in runs[name]))
        write_lines(
            out / "per_question.jsonl",
            (row.slim().model_dump(mode="json", exclude_defaults=True) for row in runs[name]),
        )
        write_json(out / "made_from.json", {**made_from, "recipe": name, "peers": _versions()})
        say(f"{name}: {len(runs[name])} questions")
    return runs


def _rows(name: str, corpora: Sequence[Corpus], embedder: Embedder, settings: Settings) -> Iterator[Row]:
    if name != OURS:
        recipe = RECIPES[name](embedder)
        for corpus in corpora:
            yield from ask(corpus, recipe)
        return
    for corpus in corpora:
        with closing(Engine(settings.model_copy(update={"home": corpus.home, "llm": "off"}), embedder)) as engine:
            yield from ask(corpus, ours(engine))


def ours(engine: Engine) -> Recipe:
    """talkcite itself, with its defaults."""

    def ready(talk: Talk) -> Search:
        def search(question: str) -> list[Span]:
            return [Span(hit.first, hit.last) for hit in engine.search(question, HITS, Filters(talk=talk.id))]

        return search

    return ready


def ask(corpus: Corpus, recipe: Recipe) -> Iterator[Row]:
    """Ask the answerable questions of a corpus, each within its talk, and judge what is found."""
    for talk_id, talk in corpus.talks.items():
        items = [item for item in corpus.items if item.question.talk_id == talk_id and item.question.answerable]
        if not items:
            continue
        search = recipe(talk)
        for item in items:
            history = [Turn(message.role, message.content) for message in item.question.history]
            found = budgeted(search(rewrite(item.question.question, history)), HITS)
            hits = tuple(FoundMoment.of(talk, span) for span in found)
            yield judge(item, Outcome(id=item.question.id, hits=hits), corpus.talks, "talk")


def table(runs: Mapping[str, Sequence[Row]]) -> str:
    """The runs as Markdown, apart for the two kinds of gold: a stretch of the talk, and the sentences that answer.

    In brackets the p of the paired randomisation test against talkcite, where it was asked too.
    """
    lines = [f"| questions | n | recipe | {' | '.join(MEASURES)} |", "| --- " * (len(MEASURES) + 3) + "|"]
    best = {row.id: row.measures for row in runs.get(OURS, ())}
    for kind, is_stretch in (("stretches", True), ("hand-written", False)):
        for name, rows in runs.items():
            if chosen := [row.measures for row in rows if (row.type in STRETCHES) == is_stretch]:
                ours = [best[row.id] for row in rows if (row.type in STRETCHES) == is_stretch] if best else []
                cells = [_cell(measure, chosen, ours if name != OURS else []) for measure in MEASURES]
                lines.append(f"| {kind} | {len(chosen)} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(measure: str, theirs: Sequence[Mapping[str, float]], ours: Sequence[Mapping[str, float]]) -> str:
    mean = f"{fmean(row[measure] for row in theirs):.3f}".removeprefix("0")
    if not ours:
        return mean
    p = randomisation_p([our[measure] - their[measure] for our, their in zip(ours, theirs, strict=True)])
    return f"{mean} ({p:.2g})"


def _versions() -> dict[str, str]:
    """The versions of the peers' libraries, of those that are installed."""
    present = {distribution.name.lower() for distribution in importlib.metadata.distributions()}
    return {name: importlib.metadata.version(name) for name in LIBRARIES if name in present}


if __name__ == "__main__":
    sys.exit(main())
