"""Compares what was read with an expectation in the form of the ingest cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ingest.types import Caption, Reading
from rag.types import Cue


def same_text(text: str) -> str:
    """Text as the cases compare it: runs of blanks as one, direction marks ignored."""
    return " ".join(re.sub("[\u200e\u200f]", "", text).split())


def joined(items: Sequence[Caption] | Sequence[Cue]) -> str:
    return same_text(" ".join(item.text for item in items))


def in_time_order(reading: Reading) -> list[Caption]:
    return sorted(reading.captions, key=lambda caption: caption.start_ms)


def is_also_allowed(caption: Caption, allowed: list[dict[str, Any]]) -> bool:
    return any(
        same_text(caption.text) == same_text(entry["text"])
        and caption.start_ms == round(entry["start"] * 1000)
        and caption.end_ms == round(entry["end"] * 1000)
        for entry in allowed
    )


def check_captions(captions: list[Caption], expect: dict[str, Any], tolerance: dict[str, float]) -> None:
    """Assert that the captions are the expected ones, field by field."""
    expected = expect["cues"]
    if expect.get("order") == "any":
        captions = sorted(captions, key=lambda caption: (caption.start_ms, caption.text))
        expected = sorted(expected, key=lambda cue: (cue["start"], cue["text"]))
    assert [same_text(caption.text) for caption in captions] == [same_text(cue["text"]) for cue in expected]
    for position, (caption, cue) in enumerate(zip(captions, expected, strict=True)):
        if cue.get("id") is not None:
            assert caption.id == cue["id"]
        assert caption.speaker == cue.get("speaker", "")
        assert abs(caption.start_ms - round(cue["start"] * 1000)) <= 1000 * tolerance.get("start", 0.0005), cue
        assert caption.end_ms >= caption.start_ms
        if cue["end"] is not None:
            assert abs(caption.end_ms - round(cue["end"] * 1000)) <= 1000 * tolerance.get("end", 0.0005), cue
        if "end_max" in expect:
            assert caption.end_ms <= expect["end_max"][position] * 1000
    if "words" in expect:
        spoken = [
            [word, time.start_ms / 1000 if time else None]
            for caption in captions
            for word, time in zip(caption.text.split(), caption.words, strict=False)
        ]
        assert spoken == expect["words"]


def check_warnings(reading: Reading, expect: dict[str, Any]) -> None:
    """Assert that each expected problem was reported, in one of its lines and with its subject named."""
    for warning in expect.get("warnings", []):
        first, last = warning["lines"]
        assert any(first <= p.line <= last and warning["about"] in p.what for p in reading.problems), (
            warning,
            reading.problems,
        )
