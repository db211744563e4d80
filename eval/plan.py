"""What a run is asked to do, and everything it needs before the first question: libraries, talks, gold cues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eval.ask import AnswerMode
from eval.build import Say, build, read_talks
from eval.dataset import Item, check_unique, read_questions, resolve, sample
from eval.types import Setting
from rag.embed import Embedder
from rag.errors import UsageError
from rag.types import Talk


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked to do; see `python -m eval run --help`.

    `questions` are files that replace questions.jsonl of the folders. `only` keeps questions of these types (empty:
    all).
    """

    data: tuple[Path, ...]
    out: Path
    cache: Path
    settings: tuple[Setting, ...] = ("scope",)
    answers: AnswerMode = "extract"
    questions: tuple[Path, ...] = ()
    only: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 7
    allow_unchecked: bool = False


@dataclass(frozen=True, slots=True)
class Corpus:
    """A data folder made ready: its library, its talks and the questions about them."""

    name: str
    home: Path
    talks: dict[str, Talk]
    items: list[Item]


def prepare(plan: Plan, embedder: Embedder, say: Say) -> list[Corpus]:
    """Build the libraries and find the gold cues of every question.

    Raises `InputError` for mistakes in the question files (before anything is embedded, as far as they can be seen
    without the talks), `UsageError` when nothing is left to ask.
    """
    files = {folder: plan.questions or (folder / "questions.jsonl",) for folder in plan.data}
    lines = {
        path: read_questions(path, allow_unchecked=plan.allow_unchecked)
        for path in dict.fromkeys(path for paths in files.values() for path in paths)
    }
    homes = {folder: build(folder, embedder, plan.cache, say) for folder in plan.data}
    talks = {folder: read_talks(home) for folder, home in homes.items()}
    known = {talk_id for some in talks.values() for talk_id in some}
    corpora = []
    for folder in plan.data:
        own = [line for path in files[folder] for line in lines[path]]
        if plan.questions:  # each question goes to the folder that holds its talk; one that fits nowhere is a mistake
            own = [line for line in own if line.question.talk_id in talks[folder] or line.question.talk_id not in known]
        items = resolve(own, talks[folder], folder.resolve().name)
        items = [item for item in items if not plan.only or item.question.type in plan.only]
        corpora.append(Corpus(folder.resolve().name, homes[folder], talks[folder], items))
    everything = [item for corpus in corpora for item in corpus.items]
    check_unique(everything)
    if not everything:
        raise UsageError(f"--only {','.join(plan.only)}: no question is of this type; nothing to ask")
    chosen = {item.question.id for item in sample(everything, plan.limit, plan.seed)}
    return [
        Corpus(corpus.name, corpus.home, corpus.talks, [item for item in corpus.items if item.question.id in chosen])
        for corpus in corpora
    ]
