"""Talk -> Windows. Pure.

Large windows find the topic, small ones point at the sentence: passages of 8 cues every 3 are searched, and every
single cue is embedded too, so that a found passage can be narrowed to the sentence that answers without running the
model again (docs/experiments.md has the measurements).
"""

from __future__ import annotations

from rag.types import Talk, Window

WINDOW_CUES = 8
WINDOW_STEP = 3

# Names what the texts below look like. Vectors made from other texts must not be mixed with these, so it is part of
# the content digest: changing how a text is made means changing this word.
TEXT_FORM = "w8s3+cues/1"


def passages(talk: Talk) -> list[Window]:
    """Overlapping windows of at most 8 cues, 3 cues apart, which together cover every cue that can be searched.

    Sound labels are left out of the text. A stretch of nothing but sound labels gives no window.
    """
    count = len(talk.cues)
    windows = []
    first = 0
    while first < count:
        last = last_cue(first, count)
        if text := _spoken(talk, first, last):
            windows.append(Window(talk.id, first, last, text))
        if last == count - 1:
            break
        first += WINDOW_STEP
    return windows


def last_cue(first: int, count: int) -> int:
    """The position at which the passage ends that starts at cue `first` of a talk of `count` cues."""
    return min(first + WINDOW_CUES, count) - 1


def sentences(talk: Talk) -> list[Window]:
    """One window per cue, sound labels included (their rows keep positions and vectors in step)."""
    return [Window(talk.id, position, position, cue.text) for position, cue in enumerate(talk.cues)]


def _spoken(talk: Talk, first: int, last: int) -> str:
    return " ".join(cue.text for cue in talk.cues[first : last + 1] if not cue.is_sound_label)
