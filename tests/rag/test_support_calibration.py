"""The support check on labelled pairs made from the handed-in talks: how much it keeps and how much it catches."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import webvtt

from rag.embed import load_embedder
from rag.facts import missing_facts, names
from rag.support import SUPPORTED_FROM, SupportCheck
from rag.types import Cue, CueRef, Talk
from tests.conftest import SHARED

pytestmark = pytest.mark.slow  # embeds hundreds of texts

FOLDERS = ("agents-at-scale", "btctranscripts")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?![\w.,-])")


@pytest.fixture(scope="module")
def talks() -> dict[str, Talk]:
    if not SHARED.is_dir():
        pytest.skip(f"test material not found at {SHARED} (set TALKCITE_SHARED)")
    return {talk.id: talk for folder in FOLDERS for talk in _read(SHARED / "data" / folder)}


def _read(folder: Path) -> Iterator[Talk]:
    for line in (folder / "talks.jsonl").read_text(encoding="utf-8").splitlines():
        about = json.loads(line)
        captions: Any = webvtt.read(str(folder / "talks" / f"{about['talk_id']}.vtt"))
        cues = tuple(Cue(f"s{n}", n, n + 1, " ".join(caption.text.split())) for n, caption in enumerate(captions, 1))
        yield Talk(about["talk_id"], about["title"], cues, tuple(about.get("speakers", ())))


def _sentences(talks: dict[str, Talk], seed: int) -> list[tuple[Talk, str]]:
    found = [(talk, cue.text) for talk in talks.values() for cue in talk.cues if 50 < len(cue.text) < 260]
    random.Random(seed).shuffle(found)
    return found


_SMALL_WORDS: dict[str, set[str]] = {}


def _small_words(talk: Talk) -> set[str]:
    if talk.id not in _SMALL_WORDS:
        _SMALL_WORDS[talk.id] = {word for cue in talk.cues for word in re.findall(r"\b[a-z']+", cue.text)}
    return _SMALL_WORDS[talk.id]


def test_changed_numbers_are_caught_and_right_ones_kept(talks: dict[str, Talk]) -> None:
    rng = random.Random(7)
    pairs = [(talk, text, match) for talk, text in _sentences(talks, 7) if (match := _NUMBER.search(text))][:150]
    kept = sum(not missing_facts(text, text, small_words=_small_words(talk)) for talk, text, _ in pairs)
    caught = 0
    for _, text, match in pairs:
        changed = text[: match.start()] + str(int(match[0]) + rng.choice((1, 2, 3, 10))) + text[match.end() :]
        caught += any(fact.kind == "number" for fact in missing_facts(changed, text))
    assert kept / len(pairs) >= 0.90
    assert caught / len(pairs) >= 0.98


def test_changed_names_are_caught(talks: dict[str, Talk]) -> None:
    rng = random.Random(7)
    sentences = _sentences(talks, 11)
    known = sorted({name for talk, text in sentences[:3000] for name in names(text, _small_words(talk))})
    caught = total = 0
    for talk, text in sentences[:1500]:
        found = [name for name in names(text, _small_words(talk)) if text.count(name) == 1]
        if not found:
            continue
        # Names of the title and the speakers may stand in any claim about the talk.
        held = " ".join((text, talk.title, *talk.speakers)).lower()
        other = rng.choice([name for name in rng.sample(known, 20) if name.lower() not in held])
        changed = text.replace(rng.choice(found), other)
        caught += any(fact.kind == "name" for fact in missing_facts(changed, text, known=[talk.title, *talk.speakers]))
        total += 1
    assert total >= 100
    assert caught / total >= 0.98


def test_cues_of_another_talk_are_caught_and_right_ones_kept(talks: dict[str, Talk], shared: Path) -> None:
    rng = random.Random(7)
    check = SupportCheck(load_embedder(), talks.values())
    right: list[float] = []
    other: list[float] = []
    for folder in FOLDERS:
        for line in (shared / "data" / folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
            question = json.loads(line)
            # A name alone has no meaning to compare; an answer that is a sentence has.
            if len(question["answer"].split()) < 4 or not question["relevant"]:
                continue
            spans = [(int(first[1:]) - 1, int(last[1:])) for first, last in question["relevant"]]
            refs = [CueRef(question["talk_id"], at) for first, last in spans for at in range(first, last)]
            right.append(check.meaning(question["answer"], refs))
            foreign = rng.choice([talk for talk in talks.values() if talk.id != question["talk_id"]])
            start = rng.randrange(len(foreign.cues) - len(refs))
            other.append(check.meaning(question["answer"], [CueRef(foreign.id, start + n) for n in range(len(refs))]))
    assert len(right) >= 15
    assert sum(score >= SUPPORTED_FROM for score in right) / len(right) >= 0.90
    assert sum(score < SUPPORTED_FROM for score in other) / len(other) >= 0.90
