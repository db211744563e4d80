"""When each word of a caption is spoken. Pure.

The file's own word times where it has them and they can be right, else the characters' share of the time between those.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ingest.types import Caption, WordTime

# Word times of recognisers may begin a little before their caption. Further out they belong to another place.
_OUTSIDE_MS = 1000


class Word(NamedTuple):
    """A word with its time; `caption` is the position of the caption it stands in."""

    text: str
    start_ms: int
    end_ms: int
    caption: int

    def part(self, first: int, last: int) -> Word:
        """The characters from `first` to before `last`, with their share of the time."""
        if (first, last) == (0, len(self.text)):
            return self
        start_ms, end_ms = (
            self.start_ms + round((self.end_ms - self.start_ms) * at / len(self.text)) for at in (first, last)
        )
        return self._replace(text=self.text[first:last], start_ms=start_ms, end_ms=end_ms)


def timed_words(caption: Caption, position: int, following: Caption | None) -> list[Word]:
    """The words of a caption with times: its own where it has them, else shared out by characters between those."""
    texts = caption.text.split()
    end_ms = caption.end_ms
    if following is not None and caption.start_ms < following.start_ms < end_ms:
        end_ms = following.start_ms  # else a sentence in its second half would start after the next caption's
    times = _usable(caption) if len(caption.words) == len(texts) else [None] * len(texts)
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text) + 1)
    anchors = [(offsets[n], time.start_ms) for n, time in enumerate(times) if time is not None]
    if not anchors or anchors[0][0] > 0:
        anchors.insert(0, (0, caption.start_ms))
    anchors.append((offsets[-1], max(end_ms, anchors[-1][1])))
    starts = _interpolated(offsets, anchors)
    words = []
    for n, (text, time) in enumerate(zip(texts, times, strict=True)):
        end = caption.end_ms if n == len(texts) - 1 else starts[n + 1]
        own_end = time.end_ms if time is not None and n < len(texts) - 1 else end
        words.append(Word(text, starts[n], max(starts[n], min(end, own_end)), position))
    return words


def _usable(caption: Caption) -> list[WordTime | None]:
    """The caption's word times without those that can't be right.

    Out go times far outside the caption, and the fewest that have to for the others never to run backwards: one wrong
    time must not shift what is said after it.
    """
    first_ms, last_ms = caption.start_ms - _OUTSIDE_MS, caption.end_ms + _OUTSIDE_MS
    times = [time if time and first_ms <= time.start_ms <= last_ms else None for time in caption.words]
    placed = [(n, time.start_ms) for n, time in enumerate(times) if time is not None]
    if all(before <= after for (_, before), (_, after) in pairwise(placed)):
        return times
    kept = _longest_rising(placed)
    return [time if n in kept else None for n, time in enumerate(times)]


def _longest_rising(placed: Sequence[tuple[int, int]]) -> set[int]:
    """Which words (position, start) make up a longest sequence whose starts never run backwards."""
    lowest_ends: list[int] = []  # for each length, the lowest start that such a sequence can end with …
    last_of: list[int] = []  # … and which entry of `placed` that is
    previous: list[int] = []
    for number, (_, start_ms) in enumerate(placed):
        length = bisect_right(lowest_ends, start_ms)
        lowest_ends[length : length + 1] = [start_ms]
        last_of[length : length + 1] = [number]
        previous.append(last_of[length - 1] if length else -1)
    kept: set[int] = set()
    number = last_of[-1]
    while number >= 0:
        kept.add(placed[number][0])
        number = previous[number]
    return kept


def _interpolated(offsets: Sequence[int], anchors: Sequence[tuple[int, int]]) -> list[int]:
    """Times at rising offsets, straight lines between the anchors (offset, time), never running backwards."""
    times: list[int] = []
    segments = pairwise(anchors)
    (left, left_ms), (right, right_ms) = next(segments)
    for offset in offsets:
        while offset > right:
            (left, left_ms), (right, right_ms) = next(segments)
        share = (offset - left) / (right - left) if right > left else 1.0
        time = right_ms if offset == right else left_ms + round((right_ms - left_ms) * share)
        times.append(max(time, times[-1] if times else time))
    return times
