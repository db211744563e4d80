"""A small data folder on disk, and a plan to run it without a model."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from eval.dataset import Item
from eval.plan import Plan
from tests.eval.talks import TALKS

QUESTIONS: list[dict[str, object]] = [
    {"id": "q1", "talk_id": "a", "question": "How big does the cache grow in gigabytes?", "answer": "12 gigabytes.",
     "relevant": [["s5", "s5"]], "type": "factoid", "scope": "talk"},
    {"id": "q2", "talk_id": "b", "question": "Does paging cut the cost by half?", "answer": "By half.",
     "relevant": [["s7", "s7"]], "also_ok": [["s6", "s6"]], "type": "paraphrase", "scope": "corpus"},
    {"id": "q3", "talk_id": "a", "question": "And how many models?", "answer": "40.", "relevant": [["s3", "s3"]],
     "type": "follow-up", "scope": "talk",
     "history": [{"role": "user", "content": "Who do you serve?"}, {"role": "assistant", "content": "We serve."}]},
    {"id": "q4", "talk_id": "a", "question": "Which zebra won?", "relevant": [], "type": "unanswerable",
     "scope": "corpus"},
]  # fmt: skip


def write_questions(path: Path, questions: Iterable[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(question) + "\n" for question in questions), encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with the talks "a" and "b" and four questions."""
    folder = tmp_path / "data"
    (folder / "talks").mkdir(parents=True)
    for talk in TALKS.values():
        blocks = [f"WEBVTT\n\nNOTE\ntalk_id: {talk.id}\ntitle: {talk.title}\nmedia: {talk.media}{talk.id}"]
        for cue in talk.cues:
            start, end = (f"00:{ms // 60_000:02}:{ms // 1000 % 60:02}.000" for ms in (cue.start_ms, cue.end_ms))
            blocks.append(f"{cue.id}\n{start} --> {end}\n<v {cue.speaker}>{cue.text}")
        (folder / "talks" / f"{talk.id}.vtt").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    (folder / "talks" / "a.mp3").write_bytes(b"not a caption file")
    write_questions(folder / "questions.jsonl", QUESTIONS)
    return folder


@pytest.fixture
def plan(data: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A run over `data`; its library, the same in all tests, is built once."""
    return Plan(data=(data,), out=tmp_path / "out", cache=tmp_path_factory.getbasetemp() / "eval-cache")


def silent(_: str) -> None:
    """Says nothing."""


def no_progress(items: Iterable[Item], _: str) -> Iterable[Item]:
    return items
