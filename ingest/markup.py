"""WebVTT cue text -> who speaks, which lines, at what times. Pure.

Follows the cue text tokenizer of https://www.w3.org/TR/webvtt1/#webvtt-cue-text-tokenizer with one deviation: a `<`
followed by a blank and more text is a less-than sign, not a tag that swallows the rest of the cue.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import NamedTuple

from ingest.text import clock_ms, one_line, printable
from ingest.types import WordTime

_TAG = re.compile(r"<(?!\s+\S)([^>]*)(?:>|\Z)")
_TIMESTAMP = re.compile(r"(?:\d+:)?\d{2}:\d{2}\.\d{3}")
_VOICE = re.compile(r"v(?:\.[^\s]*)?(?:\s+(.*))?", re.DOTALL)


class Piece(NamedTuple):
    """Text of one line, and the time tag it stands behind (None before the first)."""

    text: str
    at_ms: int | None


Line = list[Piece]


class Part(NamedTuple):
    """What one voice says in a caption."""

    speaker: str
    lines: list[Line]


def parse_cue_text(raw: str) -> list[Part]:
    """The parts of a cue's text, one for each voice, in order; none for a cue without any visible character."""
    if "<" not in raw:
        lines: list[Line] = [[]]
        _append(lines, raw, None)
        spoken = [line for line in lines if line_text(line)]
        return [Part("", spoken)] if spoken else []
    parts = [Part("", [[]])]
    at_ms: int | None = None
    position = 0
    for tag in _TAG.finditer(raw):
        _append(parts[-1].lines, raw[position : tag.start()], at_ms)
        position = tag.end()
        name = tag[1]
        if name[:1].isdecimal() and _TIMESTAMP.fullmatch(name):
            at_ms = clock_ms(name)
        elif name.startswith("v") and (voice := _VOICE.fullmatch(name)):
            parts.append(Part(one_line(html.unescape(voice[1] or "")), [[]]))
        elif name.strip() == "/v":
            parts.append(Part("", [[]]))
    _append(parts[-1].lines, raw[position:], at_ms)
    with_words = [Part(part.speaker, [line for line in part.lines if line_text(line)]) for part in parts]
    return [part for part in with_words if part.lines]


def _append(lines: list[Line], raw: str, at_ms: int | None) -> None:
    for number, text in enumerate(raw.split("\n")):
        if number:
            lines.append([])
        if text:
            lines[-1].append(Piece(printable(html.unescape(text)), at_ms))


def line_text(line: Iterable[Piece]) -> str:
    """The words of a line with single blanks between them."""
    return " ".join("".join(piece.text for piece in line).split())


def join_lines(lines: Iterable[Line]) -> Line:
    """Several lines as one, a blank between them."""
    joined: Line = []
    for line in lines:
        if joined:
            joined.append(Piece(" ", joined[-1].at_ms))
        joined.extend(line)
    return joined


def word_times(line: Line, start_ms: int, end_ms: int) -> tuple[WordTime | None, ...]:
    """A time, or None, for each word of a line shown from `start_ms` to `end_ms`; () when the line has no time tags.

    A word has a time of its own when it is the first behind a time tag, or the first of the line. It lasts until the
    next word that has one.
    """
    if all(piece.at_ms is None for piece in line):
        return ()
    starts: list[int | None] = []
    inside_word = False
    for number, piece in enumerate(line):
        is_first = number == 0 or piece.at_ms != line[number - 1].at_ms
        for is_blank, chunk in _chunks(piece.text):
            if not is_blank and not inside_word:
                starts.append((start_ms if piece.at_ms is None else piece.at_ms) if is_first else None)
                is_first = False
            inside_word = bool(chunk) and not is_blank
    return with_ends(starts, end_ms)


def with_ends(starts: list[int | None], end_ms: int) -> tuple[WordTime | None, ...]:
    """Word times from starts: each word ends where the next timed one starts, the last at `end_ms`."""
    times: list[WordTime | None] = []
    following = end_ms
    for start in reversed(starts):
        if start is None:
            times.append(None)
            continue
        times.append(WordTime(start, max(start, following)))
        following = start
    return tuple(reversed(times))


def _chunks(text: str) -> list[tuple[bool, str]]:
    """Runs of blanks and of other characters, in order: (is it blank, the run)."""
    return [(match[0].isspace(), match[0]) for match in re.finditer(r"\s+|\S+", text)]
