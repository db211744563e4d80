"""The browsers' WebVTT conformance suite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest.markup import line_text, parse_cue_text
from ingest.read import read_bytes
from ingest.types import Unreadable
from ingest.vtt import has_signature
from tests.conftest import SHARED
from tests.ingest.expectations import same_text

SUITE = SHARED / "data/wpt-webvtt"
FILES = sorted((SUITE / "expect").glob("*.json"))
TEXTS = [
    pytest.param(case["raw"], case["text"], id=f"{path.stem}-{number}")
    for path in sorted((SUITE / "cue-text").glob("*.json"))
    for number, case in enumerate(json.loads(path.read_text())["cases"])
]
# Times with missing digits ("0:0:5.0") are read and reported rather than lost with their words.
LENIENT = {"timings-too-short"}


@pytest.mark.skipif(not FILES, reason=f"test material not found at {SHARED} (set TALKCITE_SHARED)")
def test_the_suite_is_complete() -> None:
    assert (len(FILES), len(TEXTS)) == (51, 77)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path: Path) -> None:
    case = json.loads(path.read_text())
    data = (SUITE / case["file"]).read_bytes()
    if "error" in case["expect"]:
        with pytest.raises(Unreadable):
            read_bytes(data, "x.vtt")
        assert not data or not has_signature(data.decode().removeprefix("\ufeff"))
        return
    expected = [
        (cue["id"].strip() or None, cue["start"], max(cue["end"], cue["start"]), same_text(cue["text"]))
        for cue in case["expect"]["cues"]
        if cue["text"].strip()
    ]
    if not expected:
        with pytest.raises(Unreadable, match="no cue"):
            read_bytes(data, "x.vtt")
        return
    [reading] = read_bytes(data, "x.vtt")
    found = [
        ((c.id or "").strip() or None, c.start_ms / 1000, c.end_ms / 1000, same_text(c.text)) for c in reading.captions
    ]
    if path.stem in LENIENT:
        assert [cue for cue in found if cue[3] != "invalid"] == expected
        lenient = [caption.line for caption in reading.captions if caption.text == "invalid"]
        assert set(lenient) <= {problem.line for problem in reading.problems}
    else:
        assert found == expected


@pytest.mark.parametrize(("raw", "text"), TEXTS)
def test_cue_text(raw: str, text: str) -> None:
    payload = raw.replace("\0", "\ufffd").split("\n\n")[0]  # a blank line ends the cue before its text is looked at
    lines = [line_text(line) for part in parse_cue_text(payload) for line in part.lines]
    assert same_text("".join(lines) if "\n" not in text else " ".join(lines)) == same_text(text)
