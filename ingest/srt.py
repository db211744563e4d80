"""SubRip (.srt) as found in the wild -> captions.

Commas or dots, missing or odd numbers, blank lines inside and around entries, placement codes, HTML-like tags.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ingest.markup import Line, Part, Piece, line_text
from ingest.rolling import Shown, to_captions
from ingest.text import clock_ms, decode_references, printable, shortened, split_lines
from ingest.types import Problem, Reading

_TIME = r"(?:\d{1,10}:)?\d{1,3}:\d{1,3}(?:[.,]\d{1,9})?"
TIMING = re.compile(rf"[ \t]*({_TIME})[ \t]*-->[ \t]*({_TIME})(?=[ \t]|$)")
# Somebody meant a timing line: digits and colons at its start, an arrow of any kind behind them.
_MEANT_AS_TIMING = re.compile(r"[ \t]*[\d:.,]*\d:\d[\d:.,]*[ \t]*[-=–—]+>")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\.[\w.]+)?(?:\s[^<>]*)?/?>|\{\\[^{}]*\}")


@dataclass(slots=True)
class _Entry:
    """An entry while it is read. `line` is the number of its timing line; `times` is None when that can't be read."""

    id: str | None
    line: int
    timing: str
    times: tuple[int, int] | None
    lines: list[str] = field(default_factory=list)


def read(text: str) -> Reading:
    """The captions of a SubRip file; entries whose times can't be read are reported and left out."""
    lines = split_lines(text)
    problems: list[Problem] = []
    entries = _entries(lines, problems)
    shown = []
    silent = []
    for entry in entries:
        if entry.times is None:
            problems.append(_lost(entry))
            silent.append(entry.id)
            continue
        start_ms, end_ms = entry.times
        if end_ms < start_ms:
            problems.append(Problem(entry.line, f"end before start: {shortened(entry.timing)}; the start is kept"))
            end_ms = start_ms
        shown.append(Shown(entry.id, start_ms, end_ms, _parts(entry.lines), entry.line))
        silent.extend([] if shown[-1].parts else [entry.id])
    captions, repeats = to_captions(shown)
    return Reading(
        captions=tuple(captions),
        problems=tuple(sorted(problems, key=lambda problem: problem.line)),
        repeats=repeats,
        dropped_ids=tuple(identifier for identifier in silent if identifier),
    )


def _entries(lines: list[str], problems: list[Problem]) -> list[_Entry]:
    """Entries in file order: what stands between two timing lines belongs to the first, but for the second's number."""
    entries: list[_Entry] = []
    before: list[str] = []
    for number, line in enumerate(lines, start=1):
        body = entries[-1].lines if entries else before
        if TIMING.match(line) or _MEANT_AS_TIMING.match(line):
            entries.append(_Entry(_take_number(body), number, line, _times(line)))
        else:
            body.append(line)
    if any(line.strip() for line in before):
        first = next(n for n, line in enumerate(before, start=1) if line.strip())
        what = f"text before the first timing line: {shortened(' '.join(before))}"
        problems.append(Problem(first, what, lost=True))
    return entries


def _take_number(body: list[str]) -> str | None:
    """Remove and return the number, or the single word used as one, that ends `body` in front of a timing line."""
    if not body:
        return None
    last = body[-1].strip()
    alone = len(body) == 1 or not body[-2].strip()
    if last.isdigit() or (alone and last and len(last.split()) == 1):
        body.pop()
        return last
    return None


def _times(line: str) -> tuple[int, int] | None:
    match = TIMING.match(line)
    times = [clock_ms(time) for time in match.groups()] if match else [None]
    return (times[0], times[1]) if len(times) == 2 and times[0] is not None and times[1] is not None else None


def _lost(entry: _Entry) -> Problem:
    said = " ".join(entry.lines)
    left_out = f"; left out: {shortened(said)}" if said.strip() else ""
    what = f"timing line not valid: {shortened(entry.timing)}, expected hh:mm:ss,mmm --> hh:mm:ss,mmm"
    return Problem(entry.line, what + left_out, lost=True)


def _parts(lines: list[str]) -> list[Part]:
    cleaned: list[Line] = [[Piece(printable(decode_references(_TAG.sub("", line))), None)] for line in lines]
    spoken = [line for line in cleaned if line_text(line)]
    return [Part("", spoken)] if spoken else []
