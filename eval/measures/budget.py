"""Precision and recall at an equal text budget: what a reader gets from the first 200 words.

hit@k favours whoever returns longer hits; here every system is read for the same number of words. The idea of cutting
at an amount of text rather than at a rank is Sakai and Dou's (*Summaries, Ranked Retrieval and Sessions: A Unified
Framework*, SIGIR 2013, the U-measure); precision and recall themselves are the set-based ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eval.types import Gold, Moment
from rag.types import CueRef

BUDGET_WORDS = 200
"""About a minute and a half of speech."""


def read_within(hits: Sequence[Moment], words: Callable[[CueRef], int], budget: int = BUDGET_WORDS) -> list[CueRef]:
    """The cues read in order of rank, each once, until the next one would exceed `budget` words."""
    read: dict[CueRef, None] = {}
    left = budget
    for hit in hits:
        for position in range(hit.first, hit.last + 1):
            ref = CueRef(hit.talk_id, position)
            if ref in read:
                continue
            left -= words(ref)
            if left < 0:
                return list(read)
            read[ref] = None
    return list(read)


def precision_and_recall(read: Sequence[CueRef], gold: Gold) -> tuple[float, float]:
    """Share of the read cues that are gold (0.0 when none was read), and share of the gold cues that were read."""
    relevant = gold.relevant_refs
    found = len(relevant.intersection(read))
    return found / len(read) if read else 0.0, found / len(relevant)
