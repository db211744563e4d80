"""Citation recall and precision per claim, after ALCE.

Gao, Yen, Yu, Chen, *Enabling Large Language Models to Generate Text with Citations* (EMNLP 2023), section 3: a claim is
recalled when all its citations together support it; a citation is precise when its claim is recalled and it is not
irrelevant; it is irrelevant when it does not support the claim alone and the others still do without it. ALCE lets an
entailment model decide support; here any judge can be handed in, and gold cues are the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eval.types import Gold, Moment

Judge = Callable[[str, Sequence[Moment]], bool]
"""(claim text, citations) -> do these citations support the claim?"""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A sentence of an answer with its citations."""

    text: str
    citations: tuple[Moment, ...]


def gold_judge(gold: Gold) -> Judge:
    """Support as the annotators saw it: at least one cited cue is gold or fine to cite, whatever the claim says."""
    acceptable = gold.acceptable_refs
    return lambda _text, citations: any(moment.refs & acceptable for moment in citations)


def claim_recall(claim: Claimed, judge: Judge) -> float:
    """1.0 when the citations together support the claim; a claim without citations is not supported."""
    return float(bool(claim.citations) and judge(claim.text, claim.citations))


def citation_verdicts(claim: Claimed, judge: Judge) -> list[float]:
    """One number a citation, 1.0 when it is precise in ALCE's sense."""
    if not claim_recall(claim, judge):
        return [0.0] * len(claim.citations)
    verdicts = []
    for index, citation in enumerate(claim.citations):
        others = claim.citations[:index] + claim.citations[index + 1 :]
        irrelevant = not judge(claim.text, [citation]) and bool(others) and judge(claim.text, others)
        verdicts.append(float(not irrelevant))
    return verdicts


def alce(claims: Sequence[Claimed], judge: Judge) -> tuple[float, float]:
    """Mean claim recall and mean citation precision of one answer; 0.0 each when there is nothing to average."""
    recalls = [claim_recall(claim, judge) for claim in claims]
    verdicts = [verdict for claim in claims for verdict in citation_verdicts(claim, judge)]
    return _mean(recalls), _mean(verdicts)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
