"""nDCG@20 over cues: are the gold cues near the top of what the reader reads?

Järvelin and Kekäläinen, *Cumulated Gain-Based Evaluation of IR Techniques* (TOIS 2002), in the form of trec_eval: gain
= grade, discount = log2(rank + 1). The ranking is the cues of the hits in reading order, each once; a gold cue has
grade 2, one that is fine to cite grade 1. Tests compare it with ir-measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log2

from eval.types import Gold, Moment
from rag.types import CueRef

CUTOFF = 20
GOLD_GRADE, ALSO_OK_GRADE = 2, 1


def ranked_cues(hits: Sequence[Moment]) -> list[CueRef]:
    """The cues of the hits in reading order, each at its first place."""
    refs = (CueRef(hit.talk_id, position) for hit in hits for position in range(hit.first, hit.last + 1))
    return list(dict.fromkeys(refs))


def grades(gold: Gold) -> dict[CueRef, int]:
    """The grade of every cue that has one."""
    return dict.fromkeys(gold.acceptable_refs, ALSO_OK_GRADE) | dict.fromkeys(gold.relevant_refs, GOLD_GRADE)


def ndcg(hits: Sequence[Moment], gold: Gold, cutoff: int = CUTOFF) -> float:
    """DCG of the first `cutoff` cues over the best DCG possible. Needs an answerable question."""
    graded = grades(gold)
    found = _dcg(graded.get(ref, 0) for ref in ranked_cues(hits)[:cutoff])
    return found / _dcg(sorted(graded.values(), reverse=True)[:cutoff])


def _dcg(gains: Iterable[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))
