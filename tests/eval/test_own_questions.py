"""The questions written over the handed-in talks: enough of each kind, and every gold cue exists."""

from collections import Counter
from pathlib import Path

import pytest

from eval.dataset import read_questions, resolve
from tests.conftest import ROOT
from tests.eval.test_scorer import read_talks

FILES = sorted((ROOT / "tests" / "data").glob("*.questions.jsonl"))
LINES = {path: read_questions(path) for path in FILES}


def test_thirty_of_each_kind_in_words_of_their_own() -> None:
    questions = [line.question for lines in LINES.values() for line in lines]
    assert Counter(question.type for question in questions) == {"follow-up": 30, "unanswerable": 30}
    assert len({question.id for question in questions}) == len({question.question for question in questions}) == 60
    assert all(question.answerable == (question.type == "follow-up") for question in questions)
    assert all(question.answer if question.answerable else question.note for question in questions)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_gold_cue_exists_and_spans_are_short(shared: Path, tmp_path: Path, path: Path) -> None:
    talks = read_talks(shared / "data" / path.name.removesuffix(".questions.jsonl"), tmp_path)
    for item in resolve(LINES[path], talks, path.name):
        assert sum(last - first + 1 for first, last in item.gold.relevant) <= 4, item.question.id
