"""Inline citation marks such as `[s12]` in streamed text: find them, check them, take them out. Pure.

A mark counts only for ids that were shown to the model. Accepted forms: `[s12]`, `[s12, s14]`, `[s12-s15]` (every
shown id in between), `[12]`, `【s12】`, `[S12]`, `[[s12]]`, `[^s12]`, `[s12](address)` (the address is
thrown away) and `(s12)`. Code, escaped brackets, an index such as `a[0]`, time codes and stage directions stay text.

The scanner decides every character once and holds back only what may still become a mark or code, so any split of
the same text into chunks reads the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

# Longest raw mark, link address and code span; what stays open for longer is ordinary text.
_MAX_MARK = 300
_MAX_LINK = 2_000
_MAX_CODE = 2_000
_MAX_TICKS = 40  # a longer run delimits no code: waiting for its end would take ever longer
# A longer range does not list its missing ids one by one.
_MAX_LISTED_RANGE = 1_000

_ID = r"s?[0-9]{1,9}"
_DASH = r"[-\u2010-\u2015\u2212~]"
_ITEM = rf"{_ID}(?:\s*{_DASH}\s*{_ID})?"
_ITEMS = rf"{_ITEM}(?:(?:\s*(?:[,;|/&]|and\b)\s*|\s+){_ITEM})*"
_LABEL = r"(?:[\^#@]|(?:cues?|ids?|sources?)[:\s]\s*)?"
_SQUARE = re.compile(rf"\[\s*(?:\[\s*{_LABEL}({_ITEMS})\s*\]\s*|{_LABEL}({_ITEMS})\s*)\]", re.IGNORECASE)
_FULLWIDTH = re.compile(rf"【\s*{_LABEL}({_ITEMS})\s*(?:†[^】]*)?】", re.IGNORECASE)
_ROUND = re.compile(r"\(\s*(s[0-9]{1,9}(?:\s*[,;]\s*s[0-9]{1,9})*)\s*\)")
_RANGE = re.compile(rf"s?([0-9]+)(?:\s*{_DASH}\s*s?([0-9]+))?", re.IGNORECASE)
_LINK = re.compile(r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_WORD_END = re.compile(r"\S*")
# A bracket that may still become a mark when more text arrives.
_UNFINISHED = re.compile(
    rf"(?:\[\s*\[?|【)\s*[\^#@]?[a-z]{{0,8}}[\s:]*(?:[s0-9,;|/&\sand]|{_DASH})*\]?\s*(?:†.*)?|\([s0-9,;\s]*",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[^\\`~\[【(]+")
_TICKS = re.compile(rf"`{{1,{_MAX_TICKS + 1}}}|~{{1,{_MAX_TICKS + 1}}}")
_FENCE = re.compile(r"(`{3,}|~{3,})[^\n`]*\n")


class Text(NamedTuple):
    """Words of the model, kept as they are."""

    raw: str


class Code(NamedTuple):
    """A code span or block with its backticks, never touched."""

    raw: str


class Mark(NamedTuple):
    """A citation mark: its characters, the ids it stands for, and those dropped because they were not shown."""

    raw: str
    ids: tuple[str, ...]
    dropped: tuple[str, ...]


Piece = Text | Code | Mark


class MarkScanner:
    """Splits streamed text into pieces. `shown` are the ids that may be cited, of the form `s12`."""

    def __init__(self, shown: Collection[str]) -> None:
        self._shown = frozenset(shown)
        self._pending = ""
        self._last = ""  # the character before the pending text
        self._line_is_blank = True  # nothing but blanks since the line began

    def feed(self, chunk: str) -> list[Piece]:
        """Pieces that `chunk` decides; the raw texts of all pieces, joined, are the text fed in."""
        self._pending += chunk
        return list(self._scan(final=False))

    def close(self) -> list[Piece]:
        """The pieces still held back, now that nothing follows."""
        return list(self._scan(final=True))

    def _scan(self, *, final: bool) -> Iterator[Piece]:
        at = 0
        while at < len(self._pending):
            piece = self._piece(at, final)
            if piece is None:
                break
            at += len(piece.raw)
            self._last = piece.raw[-1]
            line = piece.raw.rpartition("\n")
            self._line_is_blank = (bool(line[1]) or self._line_is_blank) and not line[2].strip(" ")
            yield piece
        self._pending = self._pending[at:]

    def _piece(self, at: int, final: bool) -> Piece | None:
        """The piece that starts at `at`, or None while more text could change it."""
        text = self._pending
        if plain_run := _PLAIN.match(text, at):
            return Text(plain_run[0])
        if text[at] == "\\":
            return Text(text[at : at + 2]) if final or at + 1 < len(text) else None
        if ticks := _TICKS.match(text, at):
            return self._code(at, ticks[0], final)
        if text[at] == "(":
            return self._round(at, final)
        return self._square(at, final)

    def _code(self, at: int, ticks: str, final: bool) -> Piece | None:
        text = self._pending
        if len(ticks) > _MAX_TICKS:
            return Text(ticks)
        if at + len(ticks) == len(text) and not final:
            return None
        if len(ticks) >= 3 and self._line_is_blank:
            return self._fenced(at, ticks, final)
        if ticks[0] == "~":
            return Text(ticks)
        paragraph_end = text.find("\n\n", at, at + _MAX_CODE)
        limit = paragraph_end if paragraph_end >= 0 else min(len(text), at + _MAX_CODE)
        for closing in _TICKS.finditer(text, at + len(ticks), limit):
            if closing[0] == ticks and (closing.end() < len(text) or final):
                return Code(text[at : closing.end()])
        decided = final or paragraph_end >= 0 or len(text) - at > _MAX_CODE
        return Text(ticks) if decided else None

    def _fenced(self, at: int, ticks: str, final: bool) -> Piece | None:
        text = self._pending
        opening = _FENCE.match(text, at)
        if opening is None:
            undecided = text.find("\n", at) < 0 and not final
            return None if undecided else Text(ticks)
        closing = re.compile(rf"^ {{0,3}}{re.escape(ticks)}+[ \t]*$", re.MULTILINE).search(text, opening.end() - 1)
        if closing is not None and (final or closing.end() < len(text)):
            return Code(text[at : closing.end()])
        return Code(text[at:]) if final else None

    def _round(self, at: int, final: bool) -> Piece | None:
        if match := _ROUND.match(self._pending, at, at + _MAX_MARK):
            mark = self._mark(match[0], match[1])
            return Text("(") if mark.dropped else mark
        return Text("(") if final or not self._may_become_mark(at) else None

    def _square(self, at: int, final: bool) -> Piece | None:
        text = self._pending
        pattern = _FULLWIDTH if text[at] == "【" else _SQUARE
        match = pattern.match(text, at, at + _MAX_MARK)
        if match is None:
            return Text(text[at]) if final or not self._may_become_mark(at) else None
        items = next(group for group in match.groups() if group)
        if text[at] == "[" and "s" not in items.lower() and (self._last.isalnum() or self._last == "_"):
            return Text(match[0])
        end = self._link_end(match.end(), final)
        return None if end is None else self._mark(text[at:end], items)

    def _may_become_mark(self, at: int) -> bool:
        end = min(len(self._pending), at + _MAX_MARK)
        return end == len(self._pending) and bool(_UNFINISHED.fullmatch(self._pending, at, end))

    def _link_end(self, at: int, final: bool) -> int | None:
        """Where the address after a mark ends: `at` when there is none, None while it may still grow."""
        text = self._pending
        if at == len(text):
            return at if final else None
        if text[at] != "(":
            return at
        if match := _LINK.match(text, at, at + _MAX_LINK):
            return at if _ROUND.fullmatch(match[0]) else match.end()
        if final or text.find("\n", at) >= 0 or len(text) - at >= _MAX_LINK:
            # An address that is never closed ends at the first blank: it must not be shown.
            closed = _WORD_END.match(text, at)
            return closed.end() if closed else at
        return None

    def _mark(self, raw: str, items: str) -> Mark:
        ids: list[str] = []
        dropped: list[str] = []
        for first, last in _RANGE.findall(items):
            low, high = sorted((int(first), int(last or first)))
            wanted = list(range(low, high + 1)) if high - low <= _MAX_LISTED_RANGE else self._within(low, high)
            for number in wanted:
                cue_id = f"s{number}"
                (ids if cue_id in self._shown else dropped).append(cue_id)
        return Mark(raw, tuple(dict.fromkeys(ids)), tuple(dict.fromkeys(dropped)))

    def _within(self, low: int, high: int) -> list[int]:
        """The ends of a long range and the shown numbers in it."""
        shown = (int(cue_id[1:]) for cue_id in self._shown)
        return sorted({low, high, *(number for number in shown if low <= number <= high)})


def scan(text: str, shown: Collection[str]) -> list[Piece]:
    """All pieces of a whole text."""
    scanner = MarkScanner(shown)
    return scanner.feed(text) + scanner.close()


# In `plain`, one character stands for a mark and one for a piece of code; the model's control characters are dropped.
_MARK, _CODE = "\0", "\1"
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")
_AT_LINE_START = re.compile(r"^([ \t]*(?:(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+)?)(?:\0[ \t]*)+", re.MULTILINE)
_BEFORE_STOP = re.compile(r"(?<![ \t])[ \t]*+(?:\0[ \t]*)++(?=[.,;:!?…)]|$)", re.MULTILINE)
_BETWEEN = re.compile(r"(?<![ \t])[ \t]*+(?:\0[ \t]*)++")
_DOUBLED = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")


def plain(pieces: Sequence[Piece]) -> str:
    """The text with every mark taken out and the blanks closed up that marks leave behind; code is untouched."""
    code = [piece.raw for piece in pieces if isinstance(piece, Code)]
    text = "".join(
        _MARK if isinstance(piece, Mark) else _CODE if isinstance(piece, Code) else _CONTROL.sub("", piece.raw)
        for piece in pieces
    )
    text = _AT_LINE_START.sub(r"\1", text.strip())
    text = _BEFORE_STOP.sub("", text)
    text = _BETWEEN.sub(lambda run: " " if run[0].strip(_MARK) else "", text)
    text = _DOUBLED.sub(" ", text).strip()
    parts = text.split(_CODE)
    return "".join(part + after for part, after in zip(parts, [*code, ""], strict=True))
