"""hit@k: is a right moment among the first k?

Known as success@k (Manning, Raghavan, Schütze, *Introduction to Information Retrieval*, 2008, ch. 8); a moment is right
as in temporal grounding, by overlap with the annotated span (Gao et al., *TALL*, ICCV 2017), here counted in cues.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eval.types import Gold, Moment
from rag.types import Span


def touches(moment: Moment, talk_id: str, spans: Iterable[Span]) -> bool:
    """True when the moment shares at least one cue with one of the spans of `talk_id`."""
    return moment.talk_id == talk_id and any(moment.first <= last and first <= moment.last for first, last in spans)


def hit_at(hits: Sequence[Moment], gold: Gold, k: int, *, also_ok: bool = False) -> float:
    """1.0 when one of the first `k` hits touches a gold span (or, with `also_ok`, an acceptable one), else 0.0."""
    spans = gold.relevant + gold.also_ok if also_ok else gold.relevant
    return float(any(touches(hit, gold.talk_id, spans) for hit in hits[:k]))
