"""How much of the gold the first k hits cover, and how much of what they return is gold.

Recall and precision over cues (set-based, Manning et al. 2008, ch. 8), and over spans for questions whose answer is
spread over several places.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.measures.hit import touches
from eval.types import Gold, Moment
from rag.types import CueRef


def span_recall(moments: Sequence[Moment], gold: Gold) -> float:
    """Share of the gold spans that at least one of the moments touches. Needs an answerable question."""
    found = sum(any(touches(moment, gold.talk_id, [span]) for moment in moments) for span in gold.relevant)
    return found / len(gold.relevant)


def cue_recall(moments: Sequence[Moment], gold: Gold) -> float:
    """Share of the gold cues that the moments contain. Needs an answerable question."""
    relevant = gold.relevant_refs
    return len(relevant & _union(moments)) / len(relevant)


def cue_precision(moments: Sequence[Moment], gold: Gold) -> float:
    """Share of the returned cues that are gold; 0.0 when nothing is returned.

    A cue of the right talk counts once. Moments of other talks count with all their cues, each time: a reader who was
    sent to the wrong talk twice lost time twice.
    """
    right = _union([moment for moment in moments if moment.talk_id == gold.talk_id])
    wrong = sum(moment.last - moment.first + 1 for moment in moments if moment.talk_id != gold.talk_id)
    returned = len(right) + wrong
    return len(right & gold.relevant_refs) / returned if returned else 0.0


def _union(moments: Sequence[Moment]) -> frozenset[CueRef]:
    return frozenset(ref for moment in moments for ref in moment.refs)
