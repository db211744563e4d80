"""How exactly a link points: seconds off, overlap in time, start inside the gold.

IoU over time is the measure of temporal grounding (Gao et al., *TALL*, ICCV 2017: R@1 with IoU >= m); seconds between
link and gold start are what a listener feels. A moment of the wrong talk has no distance and counts as a miss in all
shares.
"""

from __future__ import annotations

from dataclasses import dataclass

from eval.types import Gold, Moment
from rag.types import Talk

WITHIN_S = (5, 15, 30, 60)
INSIDE_TOLERANCE_MS = 5_000


@dataclass(frozen=True, slots=True)
class Timing:
    """`off_ms`: distance of the starts (None: wrong talk, no moment); `iou`: 0..1; `inside`: starts within the gold."""

    off_ms: int | None = None
    iou: float = 0.0
    inside: bool = False

    def within(self, seconds: int) -> float:
        """1.0 when the link starts at most `seconds` from a gold start."""
        return float(self.off_ms is not None and self.off_ms <= seconds * 1000)


def timing(moment: Moment | None, gold: Gold, talk: Talk) -> Timing:
    """Compare a moment with the nearest (for IoU: the best) gold span of `talk`, the talk that `gold` is about.

    A start counts as inside with 5 s to spare on either side: nobody minds hearing the end of the sentence before.
    """
    if moment is None or moment.talk_id != gold.talk_id:
        return Timing()
    start, end = talk.cues[moment.first].start_ms, talk.cues[moment.last].end_ms
    spans = [(talk.cues[first].start_ms, talk.cues[last].end_ms) for first, last in gold.relevant]
    return Timing(
        off_ms=min(abs(start - gold_start) for gold_start, _ in spans),
        iou=max(_iou((start, end), span) for span in spans),
        inside=any(a - INSIDE_TOLERANCE_MS <= start <= b + INSIDE_TOLERANCE_MS for a, b in spans),
    )


def _iou(one: tuple[int, int], other: tuple[int, int]) -> float:
    shared = min(one[1], other[1]) - max(one[0], other[0])
    union = max(one[1], other[1]) - min(one[0], other[0])
    return max(0, shared) / union if union else 0.0
