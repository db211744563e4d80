"""Ask all questions of some data folders and write down what came back.

OUT/outcomes[.talk|.corpus].jsonl   what came back, line by line as it comes: an interrupted run goes on from here
OUT/run[.talk|.corpus].jsonl        the form any scorer reads
OUT/per_question.jsonl  scores.json  made_from.json  report.html  report.md  figures/*.svg
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from eval import provenance, report
from eval.ask import AnswerMode, Asked, ask
from eval.build import Say
from eval.dataset import Item
from eval.judge import judge
from eval.plan import Plan, prepare
from eval.scores import SettingScores, score
from eval.store import read_outcomes, write_json, write_lines, write_text
from eval.types import Outcome, Row, Setting
from rag.embed import Embedder
from rag.engine import Engine
from rag.errors import UsageError
from rag.settings import Settings

Progress = Callable[[Iterable[Item], str], Iterable[Item]]
"""Wraps the questions that are about to be asked, with a title, and shows how far it is."""


def run(
    plan: Plan, settings: Settings, embedder: Embedder, say: Say, progress: Progress
) -> dict[Setting, SettingScores]:
    """Ask, judge, write all files of OUT, and return the scores by setting.

    A run that was interrupted goes on where it stopped; questions that failed are asked again. Raises `UsageError` when
    OUT holds a run made from something else.
    """
    corpora = prepare(plan, embedder, say)
    made_from = provenance.made_from(plan, settings, embedder)
    _claim_folder(plan.out, made_from)
    rows: list[Row] = []
    for setting in plan.settings:
        suffix = "" if setting == "scope" else f".{setting}"
        log = plan.out / f"outcomes{suffix}.jsonl"
        outcomes = read_outcomes(log)
        for corpus in corpora:
            items = [item for item in corpus.items if setting != "corpus" or item.question.scope == "corpus"]
            missing = [item for item in items if item.question.id not in outcomes or outcomes[item.question.id].error]
            if missing:
                engine = Engine(_engine_settings(settings, corpus.home, plan.answers), embedder=embedder)
                try:
                    title = f"{corpus.name} ({setting})"
                    outcomes |= _ask_all(engine, progress(missing, title), setting, plan.answers, log)
                finally:
                    engine.close()
            rows += [judge(item, outcomes[item.question.id], corpus.talks, setting) for item in items]
        write_lines(plan.out / f"run{suffix}.jsonl", (row.outcome.run_row() for row in rows if row.setting == setting))
    write_lines(
        plan.out / "per_question.jsonl", (row.slim().model_dump(mode="json", exclude_defaults=True) for row in rows)
    )
    scores = {s: score([row for row in rows if row.setting == s], seed=plan.seed) for s in plan.settings}
    write_json(plan.out / "scores.json", {"made_from": made_from, "settings": scores})
    for setting, found in scores.items():
        for title, svg in report.figures([row for row in rows if row.setting == setting], found).items():
            write_text(plan.out / "figures" / f"{setting}-{title.lower().replace(' ', '-')}.svg", svg)
    write_text(plan.out / "report.html", report.html(rows, scores, made_from))
    write_text(plan.out / "report.md", report.markdown(rows, scores, made_from))
    return scores


def _ask_all(engine: Asked, items: Iterable[Item], setting: Setting, mode: AnswerMode, log: Path) -> dict[str, Outcome]:
    outcomes = {}
    with log.open("a", encoding="utf-8") as file:
        for item in items:
            outcome = ask(engine, item.question, setting, mode)
            outcomes[outcome.id] = outcome
            file.write(outcome.model_dump_json(exclude_defaults=True) + "\n")
            file.flush()
    return outcomes


def _engine_settings(settings: Settings, home: Path, mode: AnswerMode) -> Settings:
    if mode == "llm" and not settings.uses_llm:
        raise UsageError("--answers llm: no language model is set; set RAG_LLM (and RAG_LLM_BASE_URL)")
    changes: dict[str, object] = {"home": home} | ({} if mode == "llm" else {"llm": "off"})
    return settings.model_copy(update=changes)


def _claim_folder(out: Path, made_from: dict[str, object]) -> None:
    """Mark OUT as the place of this run, or make sure that it is what the earlier part was made from."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "made_from.json"
    if path.exists():
        earlier = json.loads(path.read_text(encoding="utf-8"))
        different = [key for key in provenance.DECISIVE if earlier.get(key) != made_from[key]]
        if different:
            raise UsageError(
                f"{out}: holds a run with another {', '.join(different)}; choose another --out, or delete the folder"
            )
    write_json(path, made_from)
