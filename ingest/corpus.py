"""A corpus as JSON Lines -> captions: one talk a line (`cues`), or one cue a line (`talk_id`, `text`, times).

Times are `start_ms` and `end_ms` in milliseconds, or `start` and `end` in seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ingest.metadata import meta_from_fields
from ingest.page import with_natural_ends
from ingest.text import MAX_MS, one_line, seconds_ms, shortened, split_lines
from ingest.types import Caption, NotCaptions, Problem, Reading

_TALK_KEYS = ("talk_id", "talk", "video_id")
_SAMPLE = 200_000  # characters
_FIRST_LINES = 50


def is_json_lines(text: str) -> bool:
    """True when the first line is a JSON object of its own and more follow, or when most lines are such objects.

    The first lines decide: one of them may be broken.
    """
    first, _, rest = text.strip().partition("\n")
    if not rest.strip():
        return False
    head = [line for line in split_lines(text[:_SAMPLE])[:_FIRST_LINES] if line.strip()]
    objects = sum(line.lstrip().startswith("{") and isinstance(_parsed(line), dict) for line in head)
    return isinstance(_parsed(first), dict) or 2 * objects > len(head)


def is_talk(document: object) -> bool:
    """True for an object with a list of cues."""
    return isinstance(document, dict) and isinstance(_cues(document), list)


def is_cue(document: object) -> bool:
    """True for an object with text and a usable start."""
    return isinstance(document, dict) and "text" in document and _time(document, "start") is not None


def read_lines(text: str) -> list[Reading]:
    """One reading for each talk. Raises `NotCaptions` when no line holds a talk or a cue."""
    readings: list[Reading] = []
    loose: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    problems: list[Problem] = []
    for number, line in enumerate(split_lines(text), start=1):
        if not line.strip():
            continue
        document = _parsed(line)
        if not isinstance(document, dict):
            problems.append(Problem(number, f"not a JSON object: {shortened(line)}", lost=True))
        elif is_talk(document):
            readings.append(read_talk(document, number))
        elif is_cue(document):
            loose.setdefault(_talk_of(document), []).append((number, document))
        else:
            problems.append(Problem(number, f"neither a talk with cues nor a cue: {shortened(line)}", lost=True))
    readings.extend(read_cues(cues) for cues in loose.values())
    if not readings:
        raise NotCaptions("JSON Lines without captions, expected a talk with cues or a cue with text and start a line")
    first = readings[0]
    readings[0] = replace(first, problems=(*problems, *first.problems))
    return readings


def read_talk(document: Mapping[str, Any], line: int) -> Reading:
    """The talk in one object, `line` being where it stands in the file."""
    cues = _cues(document) or []
    problems: list[Problem] = []
    captions = [_caption(cue, line, f"cue {number}: ", problems) for number, cue in enumerate(cues, start=1)]
    found = [caption for caption in captions if caption is not None]
    return Reading(
        captions=tuple(with_natural_ends(found)),
        problems=tuple(problems),
        meta=meta_from_fields(document),
        keeps_cutting=document.get("cutting") == "keep",
        line=line,
    )


def read_cues(lines: list[tuple[int, dict[str, Any]]]) -> Reading:
    """The talk whose cues stand in a line each; its metadata is what its first line says."""
    problems: list[Problem] = []
    captions = [_caption(cue, number, "", problems) for number, cue in lines]
    first = {key: value for key, value in lines[0][1].items() if key not in ("id", "speaker")}
    return Reading(
        captions=tuple(with_natural_ends([caption for caption in captions if caption is not None])),
        problems=tuple(problems),
        meta=meta_from_fields({**first, "talk_id": _talk_of(first)}),
        keeps_cutting=first.get("cutting") == "keep",
        line=lines[0][0],
    )


def _caption(cue: object, line: int, where: str, problems: list[Problem]) -> Caption | None:
    text = cue.get("text") if isinstance(cue, dict) else None
    start_ms = _time(cue, "start") if isinstance(cue, dict) else None
    if not isinstance(cue, dict) or not isinstance(text, str) or start_ms is None:
        problems.append(Problem(line, f"{where}no text or no usable start: {shortened(str(cue))}", lost=True))
        return None
    if not one_line(text):
        return None
    end_ms = _time(cue, "end")
    if end_ms is not None and end_ms < start_ms:
        problems.append(Problem(line, f"{where}end before start; the start is kept"))
        end_ms = start_ms
    identifier, speaker = cue.get("id", cue.get("cue_id", cue.get("cue"))), cue.get("speaker")
    return Caption(
        id=str(identifier) if isinstance(identifier, int | str) else None,
        start_ms=start_ms,
        end_ms=start_ms - 1 if end_ms is None else end_ms,
        text=one_line(text),
        speaker=one_line(speaker) if isinstance(speaker, str) else "",
        line=line,
    )


def _time(cue: Mapping[str, Any], edge: str) -> int | None:
    exact = cue.get(f"{edge}_ms")
    if type(exact) is int:
        return exact if 0 <= exact <= MAX_MS else None
    return seconds_ms(cue.get(edge, cue.get(f"{edge}_s", cue.get(f"{edge}_time"))))


def _cues(document: Mapping[str, Any]) -> list[Any] | None:
    """The list of cues, under whichever name."""
    for key in ("cues", "segments", "sentences", "captions", "lines"):
        found = document.get(key)
        if isinstance(found, list):
            return found
    return None


def _talk_of(document: Mapping[str, Any]) -> str:
    return next((str(document[key]) for key in _TALK_KEYS if isinstance(document.get(key), str | int)), "")


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
