"""YouTube's json3 caption tracks -> captions.

`events` hold `tStartMs`, `dDurationMs` and `segs`; in automatic tracks each segment is a word with `tOffsetMs`, the
time on display overlaps the next line, and events with a newline only scroll it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ingest.markup import Line, Piece, line_text, word_times
from ingest.text import MAX_MS, printable
from ingest.types import Caption, Problem, Reading, Unreadable


def read(document: dict[str, Any]) -> Reading:
    """The captions of a parsed json3 document."""
    events = document.get("events")
    if not isinstance(events, list):
        raise Unreadable(f"json3: 'events' is {type(events).__name__}, expected a list", line=1)
    captions: list[Caption] = []
    problems: list[Problem] = []
    is_automatic = any(isinstance(event, dict) and _is_automatic(event) for event in events)
    for number, event in enumerate(events):
        events[number] = None  # a long track's words take a gigabyte as dicts: let each go once it is read
        caption = _caption(event) if isinstance(event, dict) else None
        if isinstance(caption, Caption) and event.get("dDurationMs") is not None and _ms(event["dDurationMs"]) is None:
            problems.append(Problem(1, f"event {number}: no usable duration; the start is kept"))
        if isinstance(caption, Caption):
            captions.append(caption)
        elif not isinstance(event, dict) or caption is not None:
            what = caption or f"found {type(event).__name__}, expected an object"
            problems.append(Problem(1, f"event {number}: {what}", lost=True))
    captions.sort(key=lambda caption: caption.start_ms)
    if is_automatic:
        captions = [_until(caption, following) for caption, following in _with_next(captions)]
    return Reading(tuple(captions), tuple(problems))


def _is_automatic(event: dict[str, Any]) -> bool:
    segments = event.get("segs")
    return bool(event.get("aAppend")) or (
        isinstance(segments, list) and any(isinstance(seg, dict) and "tOffsetMs" in seg for seg in segments)
    )


def _caption(event: dict[str, Any]) -> Caption | str | None:
    """The event's caption; None when it shows no text; a description of what is wrong otherwise."""
    segments = event.get("segs")
    if segments is None:
        return None
    if not isinstance(segments, list):
        return f"segs is {type(segments).__name__}, expected a list"
    texts = [seg for seg in segments if isinstance(seg, dict) and isinstance(seg.get("utf8"), str)]
    text = " ".join("".join(printable(seg["utf8"]) for seg in texts).split())
    if not text:
        return None
    start_ms = _ms(event.get("tStartMs", 0))
    if start_ms is None:
        return f"start {event['tStartMs']!r}, expected milliseconds; left out: {text[:60]!r}"
    duration_ms = _ms(event.get("dDurationMs")) or 0
    timed = any("tOffsetMs" in seg for seg in texts)
    line: Line = []
    for seg in texts:
        offset = _ms(seg.get("tOffsetMs", 0))
        at_ms = start_ms + offset if timed and offset is not None else None
        line.append(Piece(printable(seg["utf8"]), at_ms))
    end_ms = start_ms + duration_ms
    return Caption(None, start_ms, end_ms, line_text(line), words=word_times(line, start_ms, end_ms))


def _ms(value: object) -> int | None:
    """Whole milliseconds, also where they are written `2000.0`; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_MS // 2:
        return None
    return int(value) if value == int(value) else None


def _with_next(captions: list[Caption]) -> list[tuple[Caption, int]]:
    following = [caption.start_ms for caption in captions[1:]]
    return list(zip(captions, [*following, MAX_MS], strict=True)) if captions else []


def _until(caption: Caption, following_ms: int) -> Caption:
    """The caption without the time in which it only stays on display under the next line."""
    spoken_until = max((word.start_ms for word in caption.words if word), default=caption.start_ms)
    end_ms = max(min(caption.end_ms, following_ms), min(spoken_until, caption.end_ms), caption.start_ms)
    words = tuple(word and word._replace(end_ms=max(word.start_ms, min(word.end_ms, end_ms))) for word in caption.words)
    return replace(caption, end_ms=end_ms, words=words)
