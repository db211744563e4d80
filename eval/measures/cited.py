"""Cited cues against gold: precision, recall, and whether at least one link is right.

Set-based precision and recall as in citation evaluation for question answering (Bohnet et al., *Attributed Question
Answering*, 2022), with gold cues as the judge.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.measures.coverage import span_recall
from eval.types import Gold, Moment


def citation_precision(cited: Sequence[Moment], gold: Gold) -> float:
    """Share of the distinct cited cues that are gold or fine to cite; 0.0 when nothing is cited."""
    refs = frozenset(ref for moment in cited for ref in moment.refs)
    return len(refs & gold.acceptable_refs) / len(refs) if refs else 0.0


def citation_recall(cited: Sequence[Moment], gold: Gold) -> float:
    """Share of the gold spans that a citation touches. Needs an answerable question."""
    return span_recall(cited, gold)


def any_right(cited: Sequence[Moment], gold: Gold) -> float:
    """1.0 when at least one citation lands on a gold cue or one that is fine to cite."""
    return float(any(moment.refs & gold.acceptable_refs for moment in cited))
