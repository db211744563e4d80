"""Inline citation marks such as `[s12]` in streamed text: find them, check them, take them out. Pure.

A mark counts only for ids that were shown to the model. Accepted forms: `[s12]`, `[s12, s14]`, `[s12-s15]` (every shown
id in between), `[12]`, `【s12】`, `[S12]`, `[[s12]]`, `[^s12]`, `[s12](address)` (the address is thrown away) and `(s12)`. Code,
escaped brackets, an index such as `a[0]`, time codes and stage directions stay text.

The scanner decides every character once and holds back only what may still become a mark or code, so that any
split of the same text into chunks gives the same pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

# Longest raw mark, link address and code span; a bracket left open for longer is ordinary text.
_MAX_MARK = 300
_MAX_LINK = 2_000
_MAX_CODE = 2_000
# A longer range does not list its missing ids one by one.
_MAX_LISTED_RANGE = 1_000

_ID = r"[sS]?[0-9]{1,9}"
_DASH = r"[-\u2010-\u2015\u2212~]"
_ITEM = rf"{_ID}(?:\s*{_DASH}\s*{_ID})?"
_ITEMS = rf"{_ITEM}(?:(?:\s*(?:[,;|/&]|\band\b)\s*|\s+){_ITEM})*"
_LABEL = r"(?:[\^#@]|(?:cues?|ids?|sources?|refs?)[:\s]\s*)?"
_SQUARE = re.compile(rf"\[\s*(?:\[\s*{_LABEL}({_ITEMS})\s*\]\s*|{_LABEL}({_ITEMS})\s*)\]", re.IGNORECASE)
_FULLWIDTH = re.compile(rf"【\s*{_LABEL}({_ITEMS})\s*(?:†[^】]*)?】", re.IGNORECASE)
_ROUND = re.compile(r"\(\s*(s[0-9]{1,9}(?:\s*[,;]\s*s[0-9]{1,9})*)\s*\)")
_LINK = re.compile(r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_RANGE = re.compile(rf"[sS]?([0-9]+)(?:\s*{_DASH}\s*[sS]?([0-9]+))?")
_PLAIN = re.compile(r"[^\\`~\[【(\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^\n`]*\n")
_CLOSERS = {"[": "]", "【": "】", "(": ")"}


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
        self._last = "\n"  # the character before the pending text; a text starts like a line

    def feed(self, chunk: str) -> list[Piece]:
        """Pieces that `chunk` decides. Joined raw texts of all pieces give the text fed in."""
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
            yield piece
        self._pending = self._pending[at:]

    def _piece(self, at: int, final: bool) -> Piece | None:
        """The piece that starts at `at`, or None while more text could change it."""
        text = self._pending
        if plain := _PLAIN.match(text, at):
            return self._plain(plain[0], final, ends_text=plain.end() == len(text))
        char = text[at]
        if char == "\\":
            return Text(text[at : at + 2]) if final or at + 1 < len(text) else None
        if char in "`~":
            return self._code(at, final)
        if char in _CLOSERS:
            return self._bracket(at, final)
        return Text(char)

    def _plain(self, raw: str, final: bool, *, ends_text: bool) -> Piece | None:
        # Blanks that start a line may indent a fence, so they wait for what follows.
        if self._last == "\n" and len(raw) <= 3 and not raw.strip(" ") and ends_text and not final:
            return None
        return Text(raw)

    def _code(self, at: int, final: bool) -> Piece | None:
        text = self._pending
        run = len(text) - at - len(text[at:].lstrip(text[at]))
        if at + run == len(text) and not final:
            return None
        if self._starts_line(at) and run >= 3:
            return self._fence(at, final)
        if text[at] == "~":
            return Text(text[at : at + run])
        paragraph = text.find("\n\n", at, at + _MAX_CODE)
        limit = paragraph if paragraph >= 0 else min(len(text), at + _MAX_CODE)
        for closing in re.finditer(r"`+", text[at + run : limit]):
            end = at + run + closing.end()
            if len(closing[0]) == run and (end < len(text) or final):
                return Code(text[at:end])
        decided = final or paragraph >= 0 or len(text) - at > _MAX_CODE
        return Text(text[at : at + run]) if decided else None

    def _fence(self, at: int, final: bool) -> Piece | None:
        text = self._pending
        opening = _FENCE.match(text, at)
        if opening is None:
            if "\n" not in text[at:] and not final and len(text) - at <= _MAX_LINK:
                return None
            return Text(text[at : at + 3])
        closing = re.compile(rf"^ {{0,3}}{opening[1]}{opening[1][0]}*[ \t]*(\n|\Z)", re.MULTILINE).search(
            text, opening.end()
        )
        if closing is not None and (closing[1] or final):
            return Code(text[at : closing.end(0) - len(closing[1])])
        return Code(text[at:]) if final else None

    def _starts_line(self, at: int) -> bool:
        before = self._pending[:at].rsplit("\n", 1)[-1] if at else ""
        return not before.strip(" ") and (self._last in "\n " if not at else True)

    def _bracket(self, at: int, final: bool) -> Piece | None:
        text = self._pending
        opening = text[at]
        pattern = {"[": _SQUARE, "【": _FULLWIDTH, "(": _ROUND}[opening]
        match = pattern.match(text, at, at + _MAX_MARK)
        if match is None:
            open_end = _CLOSERS[opening] not in text[at + 1 :] or text.startswith("[[", at)
            undecided = open_end and "\n" not in text[at:] and len(text) - at < _MAX_MARK
            return None if undecided and not final else Text(opening)
        items = next(group for group in match.groups() if group is not None)
        if opening == "(":
            mark = self._mark(match[0], items)
            return mark if not mark.dropped else Text(opening)
        if opening == "[" and "s" not in items.lower() and (self._last.isalnum() or self._last == "_"):
            return Text(match[0])
        end = match.end()
        if opening == "[":
            link = self._link_end(end, final)
            if link is None:
                return None
            end = link
        return self._mark(text[at:end], items)

    def _link_end(self, at: int, final: bool) -> int | None:
        """Where the address after a mark ends; `at` when there is none, None while it may still grow."""
        text = self._pending
        if at == len(text):
            return at if final else None
        if text[at] != "(" or _ROUND.match(text, at):
            return at
        if match := _LINK.match(text, at, at + _MAX_LINK):
            return match.end()
        if "\n" in text[at:] or len(text) - at >= _MAX_LINK or final:
            # An address that is never closed ends at the first blank: it must not be shown.
            return at + len(re.match(r"\S*", text[at:])[0])  # type: ignore[index]
        return None

    def _mark(self, raw: str, items: str) -> Mark:
        ids: list[str] = []
        dropped: list[str] = []
        for first, last in _RANGE.findall(items):
            low, high = sorted((int(first), int(last or first)))
            if high - low <= _MAX_LISTED_RANGE:
                wanted = [f"s{number}" for number in range(low, high + 1)]
            else:
                inside = sorted(int(known[1:]) for known in self._shown if low <= int(known[1:]) <= high)
                wanted = [f"s{number}" for number in sorted({low, high, *inside})]
            for cue_id in wanted:
                (ids if cue_id in self._shown else dropped).append(cue_id)
        return Mark(raw, tuple(dict.fromkeys(ids)), tuple(dict.fromkeys(dropped)))


def scan(chunks: Iterable[str], shown: Collection[str]) -> list[Piece]:
    """All pieces of a text that arrives in `chunks`."""
    scanner = MarkScanner(shown)
    pieces = [piece for chunk in chunks for piece in scanner.feed(chunk)]
    return pieces + scanner.close()


def plain(pieces: Sequence[Piece]) -> str:
    """The text with every mark taken out, without the blanks that a mark leaves behind; code is untouched."""
    out = ""
    after_mark = False
    glue = True  # False after code, whose blanks stay
    for piece in pieces:
        if isinstance(piece, Mark):
            after_mark = True
            continue
        raw = piece.raw
        if after_mark and glue:
            before = out.rstrip(" \t")
            follows = raw.lstrip(" \t")
            if isinstance(piece, Text) and (not before or before.endswith("\n") or _is_bullet(before)):
                raw = follows
            if not follows or follows[0] in ".,;:!?…)\n" or raw[0] in " \t":
                out = before
        if isinstance(piece, Text):
            raw = re.sub(r"(?<=\S)[ \t]{2,}(?=\S)", " ", raw)
        out += raw
        after_mark, glue = False, True
    return (out.rstrip(" \t") if after_mark else out).strip()


def _is_bullet(text: str) -> bool:
    """True when the last line holds nothing but a list sign, whose own blank stays the only one."""
    return bool(re.search(r"(?:^|\n)[ \t]*(?:[-*+•]|[0-9]+[.)])$", text))
