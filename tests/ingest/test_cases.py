"""The handed-in cases, each a small file with one oddity and the outcome a user should get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest.read import read_bytes
from ingest.sentences import to_cues
from ingest.types import Unreadable
from tests.conftest import SHARED
from tests.ingest.expectations import check_captions, check_warnings, in_time_order, is_also_allowed, joined, same_text

CASES = sorted((SHARED / "cases/ingest").glob("*.expect.json"))


def load(path: Path) -> tuple[dict, Path]:
    case = json.loads(path.read_text())
    return case, path.with_name(case["file"])


@pytest.mark.skipif(not CASES, reason=f"test material not found at {SHARED} (set TALKCITE_SHARED)")
def test_all_cases_are_here() -> None:
    assert len(CASES) == 39


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.removesuffix(".expect.json"))
def test_case(path: Path) -> None:
    case, file = load(path)
    expect = case["expect"]
    if "error" in expect:
        with pytest.raises(Unreadable) as caught:
            read_bytes(file.read_bytes(), file.name)
        message = f"{file.name}:{caught.value.line}: {caught.value}".lower()
        assert all(mention.lower() in message for mention in expect["error"]["must_mention"])
        assert caught.value.line == expect["error"].get("line", caught.value.line)
        return
    [reading] = read_bytes(file.read_bytes(), file.name)
    captions = in_time_order(reading)
    certain = [c for c in captions if not is_also_allowed(c, expect.get("also_allowed", []))]
    if "cues" in expect:
        check_captions(certain, expect, expect.get("tolerance", {}))
    check_warnings(reading, expect)
    if expect.get("text_joined"):
        assert joined(certain) == same_text(expect["text_joined"])
        assert joined(to_cues(reading, "en")) == joined(captions)
    if "meta" in expect:
        assert reading.meta.title == expect["meta"]["title"]
        assert list(reading.meta.speakers) == expect["meta"]["speakers"]
        assert reading.meta.event == expect["meta"]["channel"]


def test_a_utf16_file_is_read_as_text(shared: Path) -> None:
    file = shared / "cases/ingest/vtt-utf16.vtt"
    [reading] = read_bytes(file.read_bytes(), file.name)
    [caption] = reading.captions
    assert (caption.id, caption.start_ms, caption.end_ms, caption.text) == ("1", 1000, 2000, "Saved by an old editor")


def test_a_recognisers_loop_is_reported_once(shared: Path) -> None:
    file = shared / "cases/ingest/whisper-loop.json"
    [reading] = read_bytes(file.read_bytes(), file.name)
    assert [(c.start_ms, c.end_ms) for c in reading.captions] == [
        (10_000, 12_000),
        (12_000, 14_000),
        (14_000, 16_000),
        (16_000, 18_000),
        (18_000, 18_000),
        (18_000, 20_000),
    ]
    assert [problem.what for problem in reading.problems] == [
        'segments 1-4 repeat "Thank you for watching." 4 times, as a recogniser stuck in a loop does'
    ]


def test_overlapping_cues_with_one_id_are_stored_under_distinct_ids(shared: Path) -> None:
    file = shared / "cases/ingest/vtt-overlap-order-duplicate-ids.vtt"
    [reading] = read_bytes(file.read_bytes(), file.name)
    cues = to_cues(reading, "en")
    assert [(cue.id, cue.start_ms, cue.end_ms, cue.text) for cue in cues] == [
        ("s1", 2000, 3000, "written last, spoken first"),
        ("s2", 10_000, 14_000, "long remark"),
        ("s3", 11_000, 12_000, "interjection"),
    ]
