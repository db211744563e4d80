"""The sample talks and questions keep what eval/data/README.md promises, checked by plain reading."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections import Counter
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

DATA = Path(__file__).resolve().parents[2] / "eval" / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")
TALK_IDS = ["eight-cards-and-a-stubborn-queue", "grading-the-librarian", "the-pager-and-the-agent"]
TYPES = {
    "factoid": 9,
    "paraphrase": 12,
    "multi-span": 5,
    "speaker": 4,
    "asr-noise": 6,
    "follow-up": 9,
    "unanswerable": 11,
}

NUMBER = re.compile(r"(?<![\w-])\d[\d.,]*\d|(?<![\w-])\d")


class SampleCue(NamedTuple):
    id: str
    start_ms: int
    end_ms: int
    speaker: str
    text: str


class SampleTalk(NamedTuple):
    note: dict[str, str]
    cues: list[SampleCue]


def milliseconds(time: str) -> int:
    match = re.fullmatch(r"(\d\d):([0-5]\d):([0-5]\d)\.(\d{3})", time)
    assert match, f"not a WebVTT time: {time}"
    hours, minutes, seconds, ms = map(int, match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms


def read_talk(talk_id: str) -> SampleTalk:
    signature, note, *blocks = (DATA / "talks" / f"{talk_id}.vtt").read_text(encoding="utf-8").strip().split("\n\n")
    assert signature == "WEBVTT"
    keyword, *lines = note.split("\n")
    assert keyword == "NOTE"
    cues = []
    for block in blocks:
        cue_id, times, payload = block.split("\n")
        start, end = times.split(" --> ")
        voice = re.fullmatch(r"<v ([^>]+)>([^<>]+)", payload)
        assert voice, f"{talk_id} {cue_id}: no voice tag, or markup in the text: {payload}"
        cues.append(SampleCue(cue_id, milliseconds(start), milliseconds(end), voice[1], html.unescape(voice[2])))
    return SampleTalk(dict(line.split(": ", 1) for line in lines), cues)


def read_jsonl(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


TALKS = {talk_id: read_talk(talk_id) for talk_id in TALK_IDS}
QUESTIONS = read_jsonl("questions.jsonl")


def positions(question: dict[str, Any], key: str = "relevant") -> list[range]:
    """A question's spans as ranges of 0-based positions."""
    return [range(int(first[1:]) - 1, int(last[1:])) for first, last in question.get(key, [])]


def test_the_folder_holds_these_talks_and_nothing_else() -> None:
    expected = sorted(f"{talk_id}.{ending}" for talk_id in TALK_IDS for ending in ("mp3", "vtt"))
    assert sorted(path.name for path in (DATA / "talks").iterdir()) == expected


@pytest.mark.parametrize("talk_id", TALK_IDS)
def test_note_names_the_talk(talk_id: str) -> None:
    note = TALKS[talk_id].note
    assert list(note) == ["talk_id", "title", "event", "date", "media"]
    assert note["talk_id"] == talk_id
    assert note["media"] == f"{talk_id}.mp3"
    assert note["event"].endswith(str(date.fromisoformat(note["date"]).year))


def test_events_and_years_differ() -> None:
    assert len({talk.note["event"] for talk in TALKS.values()}) == 3
    assert {talk.note["date"][:4] for talk in TALKS.values()} == {"2023", "2024", "2025"}


@pytest.mark.parametrize("talk_id", TALK_IDS)
def test_cues_are_numbered_and_follow_each_other(talk_id: str) -> None:
    cues = TALKS[talk_id].cues
    assert [cue.id for cue in cues] == [f"s{n}" for n in range(1, len(cues) + 1)]
    assert 40 <= len(cues) <= 60
    assert 4 * 60_000 <= cues[-1].end_ms <= 6 * 60_000
    assert all(cue.start_ms < cue.end_ms for cue in cues)
    assert all(cue.end_ms < after.start_ms for cue, after in pairwise(cues))


@pytest.mark.parametrize("talk_id", TALK_IDS)
def test_a_cue_is_one_sentence(talk_id: str) -> None:
    texts = [cue.text for cue in TALKS[talk_id].cues]
    assert [text for text in texts if not re.fullmatch(r"[A-Z].*[.?]", text)] == []
    assert [text for text in texts if re.search(r"[.?!] ", text)] == []
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("talk_id", TALK_IDS)
def test_audio_is_small_and_as_long_as_the_captions(talk_id: str) -> None:
    audio = DATA / "talks" / TALKS[talk_id].note["media"]
    assert 100_000 < audio.stat().st_size < 1_500_000
    if shutil.which("ffprobe") is None:
        pytest.skip("ffprobe (of ffmpeg) not found: audio length not checked")
    command = ["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", str(audio)]
    seconds = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert seconds == pytest.approx(TALKS[talk_id].cues[-1].end_ms / 1000, abs=1)


def test_talks_jsonl_agrees_with_the_captions() -> None:
    lines = read_jsonl("talks.jsonl")
    assert [line["talk_id"] for line in lines] == TALK_IDS
    for line in lines:
        note, cues = TALKS[line["talk_id"]]
        assert line == {
            "talk_id": note["talk_id"],
            "title": note["title"],
            "cues": len(cues),
            "duration_s": pytest.approx(cues[-1].end_ms / 1000, abs=0.051),
            "speakers": list(dict.fromkeys(cue.speaker for cue in cues)),
            "domain": "ai-engineering",
            "timestamps": "real",
        }
    assert [len(line["speakers"]) for line in lines] == [1, 3, 1]


def test_misheard_names_stand_where_the_readme_says() -> None:
    cues = TALKS["eight-cards-and-a-stubborn-queue"].cues
    table = README.split("## Misheard names")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| .+? \| (s\d.*?) \|$", table, re.MULTILINE)
    assert [heard for heard, *_ in rows] == [
        "hair on loom",
        "Heron loom",
        "KV cash",
        "door mouse",
        "FP ate",
        "tick well",
    ]
    for heard, said, where in rows:
        assert [cue.id for cue in cues if heard in cue.text] == where.split(", ")
        assert [cue.id for cue in cues if said in cue.text] == []


def test_question_counts() -> None:
    assert Counter(question["type"] for question in QUESTIONS) == TYPES
    assert Counter(question["scope"] for question in QUESTIONS) == {"corpus": 46, "talk": 10}
    assert Counter(question["talk_id"] for question in QUESTIONS) == dict(zip(TALK_IDS, (21, 19, 16), strict=True))
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS) == 56
    assert len({question["question"] for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_question_is_well_formed(question: dict[str, Any]) -> None:
    required = {"id", "talk_id", "question", "answer", "relevant", "type", "scope"}
    assert required <= set(question) <= required | {"also_ok", "history", "note"}
    cues = TALKS[question["talk_id"]].cues
    spans = positions(question) + positions(question, "also_ok")
    assert all(0 <= span.start < span.stop <= len(cues) for span in spans)
    named = [position for span in spans for position in span]
    assert len(set(named)) == len(named), "spans overlap"

    unanswerable = question["type"] == "unanswerable"
    assert (question["relevant"] == []) == (question["answer"] == "") == unanswerable
    assert not unanswerable or question["note"]
    assert (len(question["relevant"]) > 1) == (question["type"] == "multi-span")
    roles = [turn["role"] for turn in question.get("history", [])]
    assert roles == (["user", "assistant"] if question["type"] == "follow-up" else [])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_numbers_of_the_reference_answer_are_said_in_its_spans(question: dict[str, Any]) -> None:
    cues = TALKS[question["talk_id"]].cues
    said = {
        number
        for span in positions(question)
        for cue in cues[span.start : span.stop]
        for number in NUMBER.findall(cue.text)
    }
    assert set(NUMBER.findall(question["answer"])) <= said


def test_speaker_answers_name_who_speaks_in_the_span() -> None:
    for question in QUESTIONS:
        if question["type"] == "speaker":
            (span,) = positions(question)
            first_name = TALKS[question["talk_id"]].cues[span.start].speaker.split()[0]
            assert question["answer"].startswith(first_name), question["id"]


def test_asr_noise_questions_use_the_right_name_only() -> None:
    for question in QUESTIONS:
        if question["type"] == "asr-noise":
            assert re.search(r"Heronloom|KV cache|Dormouse|FP8|Tickwell", question["question"]), question["id"]
