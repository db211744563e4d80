"""Scrolling captions -> every line once, with the time it first appeared. Pure.

Automatic captions and live roll-up captions show lines that move up: each caption repeats lines of the one before and
adds one below, and short settling captions (10 ms in YouTube's files) repeat them again. Some live captions also grow a
line word by word. People repeat themselves too, so a file counts as scrolling only when most of its captions repeat
the one before and some of these go on with new words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.markup import Line, Part, Piece, join_lines, line_text, word_times
from ingest.types import Caption

SETTLING_MS = 100
_CLEARED_MS = 500  # after such a gap the display was empty: what comes back was said again
_GROWTH_MS = 3000


@dataclass(frozen=True, slots=True)
class Shown:
    """A caption with its lines as displayed, top to bottom."""

    id: str | None
    start_ms: int
    end_ms: int
    parts: list[Part]
    line: int = 0

    @property
    def lines(self) -> list[Line]:
        """All lines, of all voices."""
        return [line for part in self.parts for line in part.lines]


@dataclass(frozen=True, slots=True)
class _Overlap:
    """How a caption repeats the one before: its first `lines` lines; the last of them may go on (`grown`) after that
    many words."""

    lines: int
    words_kept: int = 0
    grown: bool = False


def to_captions(shown: Sequence[Shown]) -> tuple[list[Caption], int]:
    """Captions with text from what was displayed, and the number of repeated lines that were removed."""
    overlaps = _overlaps(shown)
    if not _is_scrolling(shown, overlaps):
        return [caption for item in shown for caption in _plain(item)], 0
    return _collapse(shown, overlaps)


def _plain(item: Shown) -> list[Caption]:
    return [
        _caption(item, join_lines(part.lines), part.speaker) for part in item.parts
    ]  # voices of one caption share its times


def _caption(item: Shown, line: Line, speaker: str) -> Caption:
    times = word_times(line, item.start_ms, item.end_ms)
    return Caption(item.id, item.start_ms, item.end_ms, line_text(line), speaker, item.line, times)


def _overlaps(shown: Sequence[Shown]) -> list[_Overlap]:
    """For each caption, how it repeats the one before it."""
    overlaps = []
    before: Shown | None = None
    before_lines: list[str] = []
    for item in shown:
        lines = [line_text(line) for line in item.lines]
        overlaps.append(_overlap(before, before_lines, item, lines))
        before, before_lines = item, lines
    return overlaps


def _overlap(before: Shown | None, before_lines: list[str], item: Shown, lines: list[str]) -> _Overlap:
    if before is None or not before_lines or not lines:
        return _Overlap(0)
    # A line with time tags is being spoken now, whatever was shown before.
    fresh = next((n for n, line in enumerate(item.lines) if any(p.at_ms is not None for p in line)), len(lines))
    fits = [count for count in range(min(len(before_lines), fresh), 0, -1) if before_lines[-count:] == lines[:count]]
    gap = item.start_ms - before.end_ms
    if fits and fits[0] == len(lines):  # nothing new: a settling caption, or the same words once more
        if gap > _CLEARED_MS:
            return _Overlap(0)
        if len(fits) > 1 and item.end_ms - item.start_ms > SETTLING_MS:
            return _Overlap(fits[1])
    if fits:
        return _Overlap(fits[0])
    if gap <= _CLEARED_MS and item.start_ms - before.start_ms <= _GROWTH_MS:
        for count in range(min(len(before_lines), fresh), 0, -1):
            stem = before_lines[-1]
            if before_lines[-count:-1] == lines[: count - 1] and lines[count - 1].startswith(stem + " "):
                return _Overlap(count, words_kept=len(stem.split()), grown=True)
    return _Overlap(0)


def _is_scrolling(shown: Sequence[Shown], overlaps: Sequence[_Overlap]) -> bool:
    pairs = [
        (item, overlap)
        for before, item, overlap in zip(shown, shown[1:], overlaps[1:], strict=False)
        if before.parts and item.parts
    ]
    repeating = [(item, overlap) for item, overlap in pairs if overlap.lines]
    scrolling = sum(overlap.grown or overlap.lines < len(item.lines) for item, overlap in repeating)
    return scrolling > 0 and 2 * len(repeating) >= len(pairs) and not _is_one_off(shown, scrolling)


def _is_one_off(shown: Sequence[Shown], scrolling: int) -> bool:
    """A single coincidence in a file without the marks of automatic captions is a speaker's own repetition."""
    has_marks = any(
        0 < item.end_ms - item.start_ms <= SETTLING_MS or any(p.at_ms is not None for line in item.lines for p in line)
        for item in shown
    )
    return scrolling < 2 and not has_marks


def _collapse(shown: Sequence[Shown], overlaps: Sequence[_Overlap]) -> tuple[list[Caption], int]:
    captions: list[Caption] = []
    repeats = 0
    growing: tuple[Shown, Line, str] | None = None  # the last caption, while its last line may still grow
    for item, overlap in zip(shown, overlaps, strict=True):
        repeats += overlap.lines
        lines = item.lines
        if overlap.grown and growing is not None:
            first, line, speaker = growing
            added = " ".join(line_text(lines[overlap.lines - 1]).split()[overlap.words_kept :])
            line = [*_timed(line, first.start_ms), Piece(f" {added}", item.start_ms)]
            first = Shown(first.id, first.start_ms, item.end_ms, first.parts, first.line)
            captions[-1] = _caption(first, line, speaker)
            growing = (first, line, speaker)
        new = lines[overlap.lines :]
        if new:
            speaker = item.parts[-1].speaker
            line = join_lines(new)
            captions.append(_caption(item, line, speaker))
            growing = (item, line, speaker)
    return captions, repeats


def _timed(line: Line, start_ms: int) -> Line:
    """The line with a time for the words before the first time tag, so that what grows behind it keeps its own."""
    return [piece if piece.at_ms is not None else Piece(piece.text, start_ms) for piece in line]
