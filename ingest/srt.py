"""SubRip (.srt) as found in the wild -> captions.

Commas or dots, missing or odd numbers, blank lines inside and around entries, placement codes, HTML-like tags.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from ingest.markup import Line, Part, Piece, line_text
from ingest.rolling import Shown, to_captions
from ingest.text import clock_ms, decode_references, one_line, printable, shortened, split_lines
from ingest.types import Problem, Reading

_TIME = r"(?:\d{1,10}:)?\d{1,3}:\d{1,3}(?:[.,]\d{1,9})?"
TIMING = re.compile(rf"[ \t]*({_TIME})[ \t]*-->[ \t]*({_TIME})(?=[ \t]|$)")
# Somebody meant a timing line: a clock of any kind in front of an arrow of any kind, or an arrow and a time alone.
_ARROW = r"(?:[-=–—−] ?)*(?:[-=–—−] ?>|→)"
_CLOCK = r"-?(?:[\d:.,]*\d:\d[\w:.,]*|\d+:\S*:\S*)"
_MEANT_AS_TIMING = re.compile(rf" ?(?:{_CLOCK} ?{_ARROW}|{_ARROW} ?\d+:\d+:\S+$)")
_SETTINGS = re.compile(r"(?: ?[A-Za-z]\w*:\S+)* ?")
_TIME_TAG = re.compile(r"<((?:\d+:)?\d{2}:\d{2}[.,]\d{3})>")
# Only the tags that are in use: <T> and a<b and c> are said.
_NAMES = "b|i|u|s|em|strong|strike|font|c|span|small|big|sub|sup|tt|p|div|center|ruby|rt|lang|br|a"
_ATTRIBUTE = r"""\s+[\w-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s<>]+)"""
_TAG = re.compile(
    rf"</?(?:{_NAMES})(?:\.[\w.]+)?(?:{_ATTRIBUTE})*\s*/?>|</?v(?:\.[\w.]+)?(?:\s[^<>]*)?>|</?lang\s[\w-]+>|\{{\\[^{{}}]*\}}",
    re.IGNORECASE,
)


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
        timing = _as_timing(line)
        said = timing and _said_behind(timing)
        starts_entry = not entries or (body and (not body[-1].strip() or body[-1].strip().isdigit()))
        if timing is None or (said and not starts_entry):
            body.append(line)  # "10:00 --> 11:00 is the break" inside an entry is text
            continue
        is_numbered = not entries or entries[-1].id is not None
        entries.append(_Entry(_take_number(body, not entries, is_numbered), number, timing, _times(timing)))
        entries[-1].lines.extend([said] if said else [])
    if any(line.strip() for line in before):
        first = next(n for n, line in enumerate(before, start=1) if line.strip())
        what = f"text before the first timing line: {shortened(' '.join(before))}"
        problems.append(Problem(first, what, lost=True))
    return entries


def _as_timing(line: str) -> str | None:
    """The line with plain blanks and digits, when it is or was meant to be a timing line; None for any other."""
    if ">" not in line and "→" not in line and "＞" not in line:
        return None
    if TIMING.match(line):
        return line
    # Invisible marks, blanks that don't break and wide digits get in when captions are copied.
    plain = "".join(char for char in unicodedata.normalize("NFKC", line) if unicodedata.category(char) != "Cf")
    plain = one_line(plain)
    return plain if TIMING.match(plain) or _MEANT_AS_TIMING.match(plain) else None


def _said_behind(timing: str) -> str:
    """Words on a timing line, behind its times; settings and coordinates (`X1:40`) are none."""
    match = TIMING.match(timing)
    rest = one_line(timing[match.end() :]) if match else ""
    return "" if _SETTINGS.fullmatch(rest) else rest


def _take_number(body: list[str], is_first: bool, is_numbered: bool) -> str | None:
    """Remove and return the number, or the single word used as one, that ends `body` in front of a timing line.

    The only line below a timing line is text where entries have no numbers.
    """
    last = body[-1].strip() if body else ""
    is_only = len(body) == 1
    if last.isdigit():
        is_id = is_first or is_numbered or not is_only
    else:
        stands_alone = is_first if is_only else bool(body) and not body[-2].strip()
        is_id = stands_alone and len(last.split()) == 1 and (is_first or any(char.isdigit() for char in last))
    return body.pop().strip() if is_id else None


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
    cleaned: list[Line] = []
    at_ms: int | None = None
    for line in lines:
        pieces: Line = []
        for number, text in enumerate(_TIME_TAG.split(line)):  # text and times by turns
            if number % 2:
                at_ms = clock_ms(text)
            elif text:
                pieces.append(Piece(printable(decode_references(_TAG.sub("", text))), at_ms))
        cleaned.append(pieces)
    spoken = [line for line in cleaned if line_text(line)]
    return [Part("", spoken)] if spoken else []
