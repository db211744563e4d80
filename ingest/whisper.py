"""JSON of Whisper, WhisperX and whisper.cpp -> captions.

Whisper and WhisperX: `segments` with `start` and `end` in seconds, `text`, and perhaps `words` and `speaker`. WhisperX
leaves out the times of words it can't align, such as numbers. whisper.cpp: `transcription` with `offsets` in ms.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from ingest.text import MAX_MS, clock_ms, one_line, seconds_ms, shortened
from ingest.types import Caption, Meta, Problem, Reading, Unreadable, WordTime

# So many equal segments in a row are a recogniser stuck on silence more often than a speaker.
_LOOP = 3


def read(document: dict[str, Any]) -> Reading:
    """The captions of a parsed Whisper document of any of the three kinds."""
    segments = document.get("segments", document.get("transcription"))
    if not isinstance(segments, list):
        raise Unreadable(f"Whisper JSON: segments is {type(segments).__name__}, expected a list", line=1)
    captions: list[Caption] = []
    numbers: list[int] = []
    problems: list[Problem] = []
    for number, segment in enumerate(segments):
        caption = _caption(segment, problems, number)
        if caption is not None:
            captions.append(caption)
            numbers.append(number)
    problems.extend(_loops(captions, numbers))
    result = document.get("result")
    language = document.get("language", result.get("language") if isinstance(result, dict) else None)
    return Reading(
        captions=tuple(captions),
        problems=tuple(problems),
        meta=Meta(language=language if isinstance(language, str) else ""),
    )


def _caption(segment: object, problems: list[Problem], number: int) -> Caption | None:
    if not isinstance(segment, dict):
        problems.append(Problem(1, f"segment {number}: found {type(segment).__name__}, expected an object", lost=True))
        return None
    words = _words(segment)
    written = segment.get("text")
    text = one_line(written if isinstance(written, str) else " ".join(word for word, _ in words))
    if not text:
        return None
    timed = [time for _, time in words if time]
    start_ms, end_ms = _times(segment)
    start_ms = timed[0].start_ms if start_ms is None and timed else start_ms
    if start_ms is None:
        problems.append(Problem(1, f"segment {number}: no usable start time; left out: {shortened(text)}", lost=True))
        return None
    if end_ms is None:
        end_ms = timed[-1].end_ms if timed else start_ms
    if end_ms < start_ms:
        problems.append(Problem(1, f"segment {number}: end before start; the start is kept"))
        end_ms = start_ms
    identifier = segment.get("id")
    speaker = segment.get("speaker")
    return Caption(
        id=str(identifier) if isinstance(identifier, int | str) else None,
        start_ms=start_ms,
        end_ms=end_ms,
        text=text,
        speaker=one_line(speaker) if isinstance(speaker, str) else "",
        line=1,
        words=_aligned(text, words),
    )


def _times(segment: dict[str, Any]) -> tuple[int | None, int | None]:
    """Start and end in milliseconds, None where the segment has no usable one."""
    offsets, stamps = segment.get("offsets"), segment.get("timestamps")
    if isinstance(offsets, dict) and _is_ms(offsets.get("from")):
        return offsets["from"], offsets["to"] if _is_ms(offsets.get("to")) else None
    if isinstance(stamps, dict):
        return clock_ms(str(stamps.get("from", ""))), clock_ms(str(stamps.get("to", "")))
    return seconds_ms(segment.get("start")), seconds_ms(segment.get("end"))


def _is_ms(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_MS


def _words(segment: dict[str, Any]) -> list[tuple[str, WordTime | None]]:
    found: list[tuple[str, WordTime | None]] = []
    listed = segment.get("words")
    for word in listed if isinstance(listed, list) else ():
        if isinstance(word, dict) and isinstance(text := word.get("word", word.get("text")), str):
            start_ms, end_ms = seconds_ms(word.get("start")), seconds_ms(word.get("end"))
            time = None if start_ms is None else WordTime(start_ms, max(start_ms, end_ms or start_ms))
            found.extend((part, time if n == 0 else None) for n, part in enumerate(one_line(text).split()))
    return found


def _aligned(text: str, words: list[tuple[str, WordTime | None]]) -> tuple[WordTime | None, ...]:
    """The times for the words of `text`; () when the listed words are not these.

    The list may divide a word, as in "Don" and "'t": it then lasts from its first piece to its last.
    """
    if not any(time for _, time in words) or "".join(word for word, _ in words) != "".join(text.split()):
        return ()
    begins: dict[int, WordTime | None] = {}
    ends: dict[int, WordTime | None] = {}
    letters = 0
    for word, time in words:
        begins[letters] = time
        letters += len(word)
        ends[letters] = time
    aligned: list[WordTime | None] = []
    letters = 0
    for word in text.split():
        first, last = begins.get(letters), ends.get(letters + len(word))
        aligned.append(first and first._replace(end_ms=max(first.end_ms, last.end_ms) if last else first.end_ms))
        letters += len(word)
    return tuple(aligned)


def _loops(captions: list[Caption], numbers: list[int]) -> list[Problem]:
    """A warning for each run of segments with the same words."""
    problems = []
    for text, run in groupby(zip(numbers, captions, strict=True), key=lambda item: item[1].text):
        of_run = [number for number, _ in run]
        if len(of_run) >= _LOOP:
            where = f"segments {of_run[0]}-{of_run[-1]}"
            what = f"{where} repeat {shortened(text)} {len(of_run)} times, as a recogniser stuck in a loop does"
            problems.append(Problem(1, what))
    return problems
