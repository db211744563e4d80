"""Our numbers against an independent scorer of the same run, on real talks with outcomes of every kind."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from eval.dataset import Item, read_questions, resolve
from eval.judge import judge
from eval.scores import SettingScores, score
from eval.store import write_lines
from eval.types import ClaimOutcome, FoundMoment, Outcome
from ingest.pipeline import Options, ingest
from rag.library import Library
from rag.types import Span, Talk

pytestmark = pytest.mark.slow  # builds libraries and asks every question


class KeepTalks:
    """Takes the talks of an ingest and stores none of them."""

    def __init__(self, home: Path) -> None:
        self.library = Library(home)
        self.talks: dict[str, Talk] = {}

    def put(self, talk: Talk) -> str:
        self.talks[talk.id] = talk
        return "added"

    def remove(self, talk_id: str) -> None:
        raise AssertionError(f"nothing is removed here, but {talk_id} should be")


def read_talks(folder: Path, home: Path) -> dict[str, Talk]:
    writer = KeepTalks(home)
    ingest([folder / "talks"], writer, Options())  # type: ignore[arg-type]
    return writer.talks


def some_outcome(item: Item, talks: dict[str, Talk], rng: random.Random) -> Outcome:
    """A right, wrong, empty, refused or failed outcome, drawn at random."""

    def somewhere(near_gold: float) -> FoundMoment:
        talk = talks[item.question.talk_id] if rng.random() < 0.8 else talks[rng.choice(sorted(talks))]
        first = rng.randrange(len(talk.cues))
        if item.gold.relevant and talk.id == item.question.talk_id and rng.random() < near_gold:
            span = rng.choice([*item.gold.relevant, *item.gold.also_ok])
            first = min(len(talk.cues) - 1, max(0, span.first + rng.randint(-4, 4)))
        return FoundMoment.of(talk, Span(first, min(first + rng.randint(0, 7), len(talk.cues) - 1)))

    kind = rng.random()
    if kind < 0.05:
        return Outcome(id=item.question.id, error="StoreError: gone")
    hits = tuple(somewhere(0.4) for _ in range(rng.choice((0, 1, 4, 10, 10, 10))))
    if kind < 0.25:
        return Outcome(id=item.question.id, hits=hits, answered=True, abstained=True, confidence=rng.random() / 2)
    cited = tuple(somewhere(0.6) for _ in range(rng.randint(0, 3)))
    if cited and rng.random() < 0.05:
        cited = (*cited, cited[0].model_copy(update={"first_cue": "s99999", "last_cue": "s99999"}))
    claim = ClaimOutcome(text="x", citations=tuple(range(1, len(cited) + 1)))
    return Outcome(
        id=item.question.id, hits=hits, answered=True, answer="x", claims=(claim,), citations=cited,
        confidence=round(rng.random(), 2),
    )  # fmt: skip


def theirs(shared: Path, folder: Path, run: Path) -> dict[str, float]:
    command = [
        sys.executable,
        str(shared / "tools" / "score_run.py"),
        "--data",
        str(folder),
        "--run",
        str(run),
        "--json",
    ]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stderr == ""
    scores: dict[str, float] = json.loads(finished.stdout)["all"]
    return scores


def assert_equal(ours: SettingScores, scorer: dict[str, float]) -> None:
    values = {name: found["value"] for name, found in ours["all"].items()}
    shared_names = values.keys() & scorer.keys()
    expected = {"hit@1", "hit@10", "span@5", "cue_rec@5", "cue_prec@5", "mrr", "iou50@1", "inside@1", "start<=15"}
    expected |= {"cite_prec", "cite_rec", "cite_any", "bad_ids", "abst_recall", "false_abst", "auroc", "start_med"}
    assert expected <= shared_names
    for name in sorted(shared_names):
        tolerance = 0.051 if name == "start_med" else 0.00011  # the scorer rounds to 0.1 s and to 4 digits
        assert values[name] == pytest.approx(scorer[name], abs=tolerance), name


@pytest.mark.parametrize("name", ["agents-at-scale", "btctranscripts"])
def test_the_independent_scorer_gives_the_same_numbers(shared: Path, tmp_path: Path, name: str) -> None:
    folder = shared / "data" / name
    talks = read_talks(folder, tmp_path / "home")
    items = resolve(read_questions(folder / "questions.jsonl"), talks, name)
    rng = random.Random(5)
    rows = [judge(item, some_outcome(item, talks, rng), talks, "scope") for item in items]
    run = tmp_path / "run.jsonl"
    write_lines(run, [row.outcome.run_row() for row in rows])
    assert_equal(score(rows), theirs(shared, folder, run))
