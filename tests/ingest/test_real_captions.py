"""Caption files of full length."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
import webvtt

from ingest.read import read_bytes
from ingest.sentences import MAX_MS, MAX_WORDS, to_cues
from tests.conftest import SHARED
from tests.ingest.expectations import check_captions, in_time_order, joined
from tests.timing import median_ratio

FILES = sorted((SHARED / "data/real-captions").glob("*.expect.json"))


@pytest.mark.skipif(not FILES, reason=f"test material not found at {SHARED} (set TALKCITE_SHARED)")
def test_all_files_are_here() -> None:
    assert len(FILES) == 6


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".expect.json"))
def test_real_file(path: Path) -> None:
    case = json.loads(path.read_text())
    expect = case["expect"]
    data = path.with_name(case["file"]).read_bytes()
    [reading] = read_bytes(data, case["file"])
    cues = to_cues(reading, "en")
    captions = in_time_order(reading)
    assert joined(cues) == joined(captions)
    assert all(before.start_ms <= after.start_ms for before, after in pairwise(cues))
    if "cues" in expect:
        check_captions(captions, expect, case["tolerance"])
        assert len(joined(cues).split()) == expect["word_count"]
        assert all(len(cue.text.split()) <= 2 * MAX_WORDS for cue in cues)
        return
    assert len(captions) == expect["cue_count"]
    for caption, wanted in ((captions[0], expect["first"]), (captions[-1], expect["last"])):
        check_captions([caption], {"cues": [wanted]}, {})
    if "speakers" in expect:
        assert list(dict.fromkeys(caption.speaker for caption in captions)) == expect["speakers"]


def test_an_hour_of_captions_takes_little_more_than_parsing_it(shared: Path) -> None:
    """Some .3 s an hour on an idle machine; as a ratio, so that a busy one changes nothing."""
    file = shared / "data/real-captions/auto-captions-a.en.vtt"  # 54 minutes, a time for every word
    data = file.read_bytes()

    def parsing() -> None:
        webvtt.from_string(data.decode())

    def reading() -> None:
        [captions] = read_bytes(data, file.name)
        to_cues(captions, "en")

    assert median_ratio(reading, parsing) < 8


def test_text_without_punctuation_is_cut_to_what_a_reader_can_take_in(shared: Path) -> None:
    file = shared / "data/real-captions/auto-captions-a.en.vtt"
    [reading] = read_bytes(file.read_bytes(), file.name)
    cues = to_cues(reading, "en")
    assert max(len(cue.text.split()) for cue in cues) <= MAX_WORDS
    assert max(cue.end_ms - cue.start_ms for cue in cues) <= MAX_MS
    assert sum(len(cue.text.split()) for cue in cues) / len(cues) > 15  # and not to shreds
