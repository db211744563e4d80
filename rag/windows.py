"""Talk -> Windows. Pure.

Large windows find the topic, small ones point at the sentence: passages of 8 spoken cues every 3 are searched, and
every single cue is embedded too, so that a found passage can be narrowed to the sentence that answers without running
the model again (docs/experiments.md has the measurements).
"""

from __future__ import annotations

from collections.abc import Sequence

from rag.orders import is_order
from rag.types import Talk, Window

WINDOW_CUES = 8
WINDOW_STEP = 3

# Names how the texts below are made: changing that means changing this word. An index made in another way is built
# anew; of a talk stored then, the texts are compared, and only where they differ it is embedded again.
TEXT_FORM = "w8s3+cues/2"


def passages(talk: Talk) -> list[Window]:
    """Overlapping windows of at most 8 cues, 3 cues apart, which together cover every cue that can be searched.

    Sound labels are passed over. So are orders to an assistant, which get windows of their own: they can be found, but
    what stands between other sentences changes neither how these are cut nor what their vectors are.
    """
    heard = [at for at, cue in enumerate(talk.cues) if not cue.is_sound_label]
    orders = [at for at in heard if is_order(talk.cues[at].text)]
    spoken = [at for at in heard if not is_order(talk.cues[at].text)]
    starts = range(0, max(len(spoken) - WINDOW_CUES + WINDOW_STEP, 1), WINDOW_STEP) if spoken else ()
    return [
        _window(talk, cues) for cues in (*(spoken[at : at + WINDOW_CUES] for at in starts), *([at] for at in orders))
    ]


def sentences(talk: Talk) -> list[Window]:
    """One window per cue, sound labels included (their rows keep positions and vectors in step)."""
    return [_window(talk, [position]) for position in range(len(talk.cues))]


def _window(talk: Talk, cues: Sequence[int]) -> Window:
    return Window(talk.id, tuple(cues), " ".join(talk.cues[at].text for at in cues))
