"""Reciprocal rank of the first right hit; its mean over questions is the MRR.

Voorhees, *The TREC-8 Question Answering Track Report* (1999); cut at rank 10 as in MS MARCO.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.measures.hit import touches
from eval.types import Gold, Moment

CUTOFF = 10


def reciprocal_rank(hits: Sequence[Moment], gold: Gold) -> float:
    """1 / rank (from 1) of the first hit that touches a gold span; 0.0 when none of the first 10 does."""
    ranks = (rank for rank, hit in enumerate(hits[:CUTOFF], start=1) if touches(hit, gold.talk_id, gold.relevant))
    return 1.0 / first if (first := next(ranks, None)) else 0.0
