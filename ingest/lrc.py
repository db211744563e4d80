"""LRC, the format of timed lyrics that transcribers write as well -> captions: `[01:02.50]text`, without an end."""

from __future__ import annotations

import re

from ingest.markup import Line, Piece, line_text, word_times
from ingest.metadata import meta_from_fields
from ingest.text import clock_ms, decode_references, printable, shortened, split_lines
from ingest.types import Caption, Problem, Reading

_TIME = r"\d{1,10}:\d{1,2}(?::\d{1,2})?(?:[.,]\d{1,3})?"
TIMING = re.compile(rf"[ \t]*\[({_TIME})\]")
_MEANT_AS_TIMING = re.compile(r"[ \t]*\[[ \t]*-?\d+:\d[\d:.,]*[ \t]*\]")
_WORD_TIME = re.compile(rf"<({_TIME})>")
_TAG = re.compile(r"[ \t]*\[([A-Za-z#]{1,20}):([^\]]*)\][ \t]*")
_KNOWN = {"ti": "title", "ar": "speakers", "al": "event", "la": "language"}
_LAST_MS = 5000  # how long the last line stays, which no file says

_Timed = tuple[int, int, str]  # start, number of the line, what stands behind the time


def read(text: str) -> Reading:
    """The captions of an LRC file in time order; each lasts until the next begins.

    A line with several times is said at each of them; one without text ends the one before. Lines whose time can't be
    read, and lines without one, are reported and left out.
    """
    timed: list[_Timed] = []
    problems: list[Problem] = []
    tags: dict[str, str] = {}
    for number, line in enumerate(split_lines(text), start=1):
        rest = line
        starts = []
        while match := TIMING.match(rest):
            starts.append(_time_ms(match[1]))
            rest = rest[match.end() :]
        if None in starts or _MEANT_AS_TIMING.match(rest):
            what = f"time not valid: {shortened(line)}, expected [mm:ss.xx]text"
            problems.append(Problem(number, what, lost=True))
        elif starts:
            timed.extend((start, number, rest) for start in starts if start is not None)
        elif tag := _TAG.fullmatch(line):
            tags.setdefault(tag[1].lower(), tag[2].strip())
        elif line.strip():
            problems.append(Problem(number, f"a line without a time: {shortened(line)}", lost=True))
    meta = meta_from_fields({name: tags[tag] for tag, name in _KNOWN.items() if tag in tags})
    return Reading(tuple(_captions(sorted(timed), _offset_ms(tags))), tuple(problems), meta)


def _captions(timed: list[_Timed], offset_ms: int) -> list[Caption]:
    """Captions of lines in time order; lines of one time share their end."""
    found: list[Caption] = []
    following, end = None, 0
    for start, number, raw in reversed(timed):
        if start != following:
            end = start + _LAST_MS if following is None else following
            following = start
        line = _line(raw, offset_ms)
        if said := line_text(line):
            start_ms, end_ms = max(0, start - offset_ms), max(0, end - offset_ms)
            found.append(Caption(None, start_ms, end_ms, said, "", number, word_times(line, start_ms, end_ms)))
    return found[::-1]


def _line(raw: str, offset_ms: int) -> Line:
    """The words of a line with the times in front of them (`<01:02.50>`), where the file has any."""
    pieces: Line = []
    at_ms: int | None = None
    for number, text in enumerate(_WORD_TIME.split(raw)):  # words and times by turns
        if number % 2:
            time_ms = _time_ms(text)
            at_ms = None if time_ms is None else max(0, time_ms - offset_ms)
        elif text:
            pieces.append(Piece(printable(decode_references(text)), at_ms))
    return pieces


def _time_ms(text: str) -> int | None:
    """`62:03.5` and `1:02:03.50` in milliseconds: minutes alone have no limit here."""
    minutes, _, seconds = text.partition(":")
    if ":" in seconds:
        return clock_ms(text)
    return clock_ms(f"{int(minutes) // 60}:{int(minutes) % 60}:{seconds}")


def _offset_ms(tags: dict[str, str]) -> int:
    """How much earlier than written everything is said; negative: later."""
    offset = tags.get("offset", "")
    return int(offset) if re.fullmatch(r"[+-]?\d{1,9}", offset) else 0
