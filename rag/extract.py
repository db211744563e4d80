"""The answer without a language model: the quotes that answer best. Pure.

A moment starts at the sentence that answers, so the quotes are the first sentences of the best moments, word for word,
one to five of them. The best one leads; the others follow talk by talk in time order. A broad question is answered by
the moments in the order in which they were found, up to eight.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rag.asked import asks_for_number, holds_number
from rag.lexical import stems
from rag.orders import is_order
from rag.types import Claim, Cue, CueRef, Hit

MAX_QUOTES = 5
MAX_WALK = 8
_MAX_CHARS = 320
_MAX_CUES = 4
_REACH = 50  # cues before and after a moment's first: a sentence may go on behind orders to an assistant
# A moment is quoted when it scores at least this share of the best one; docs/experiments.md has the measurements.
_KEEP = 0.8
_ANSWER_CUES = 2
_NUMBER_CUES = 3
# Two quotes that share more of their words than this say the same.
_SAME = 0.7
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")


def quotes(question: str, hits: Sequence[Hit]) -> list[Claim]:
    """The best quotes as claims that cite their own cues; empty without hits.

    Where a number is asked for, a moment's first sentence with a number is quoted rather than the one before it.
    """
    kept: list[Claim] = []
    for hit in hits[:MAX_QUOTES]:
        claim = _claim(_from_number(hit) if asks_for_number(question) else hit)
        if claim.cues and hit.score >= _KEEP * hits[0].score and not any(_repeats(claim, other) for other in kept):
            kept.append(claim)
    talks = list(dict.fromkeys(claim.cues[0].talk_id for claim in kept))
    rest = sorted(kept[1:], key=lambda claim: (talks.index(claim.cues[0].talk_id), claim.cues[0].position))
    return [*kept[:1], *rest]


def walk(hits: Sequence[Hit]) -> list[Claim]:
    """Quotes of up to eight moments, evenly spread over all of them, in their order; empty without hits."""
    kept: list[Claim] = []
    count = min(len(hits), MAX_WALK)
    for part in range(count):
        claim = _claim(hits[len(hits) * part // count])
        if claim.cues and not any(_repeats(claim, other) for other in kept):
            kept.append(claim)
    return kept


def _claim(hit: Hit) -> Claim:
    spoken = [at for at in _quoted(hit) if not hit.talk.cues[at].is_sound_label]
    text = " ".join(hit.talk.cues[at].text for at in spoken)
    if not any(map(str.isalnum, text)):
        return Claim("", ())
    return Claim(text, tuple(CueRef(hit.talk.id, at) for at in spoken))


def _from_number(hit: Hit) -> Hit:
    """The moment from its first sentence with a number on, where one follows soon."""
    said = [at for at in range(hit.first, hit.last + 1) if not is_order(hit.talk.cues[at].text)]
    for position in said[: _NUMBER_CUES + 1]:
        if holds_number(hit.talk.cues[position].text):
            return replace(hit, first=position)
    return hit


def _quoted(hit: Hit) -> Sequence[int]:
    """The cues of the sentence that a moment starts with, whole, and of what answers it where it is a question."""
    if is_order(hit.talk.cues[hit.first].text):
        return ()
    near = range(max(0, hit.first - _REACH), min(hit.first + _REACH, len(hit.talk.cues)))
    positions = [at for at in near if not is_order(hit.talk.cues[at].text)]
    cues = [hit.talk.cues[at] for at in positions]
    first = last = positions.index(hit.first)
    if cues[first].text.rstrip().endswith("?"):
        # A question asked on stage is nearest to the one asked here; what answers it comes next.
        last = min(first + _ANSWER_CUES, len(cues) - 1)
    while last + 1 < len(cues) and not _ends_sentence(cues[last]) and _fits(cues, first, last + 1):
        last += 1
    while first > 0 and _continues(cues[first - 1], cues[first]) and _fits(cues, first - 1, last):
        first -= 1
    return positions[first : last + 1]


def _ends_sentence(cue: Cue) -> bool:
    return bool(_SENTENCE_END.search(cue.text))


def _continues(before: Cue, cue: Cue) -> bool:
    """True when a cue goes on with the sentence of the one before."""
    return cue.text[:1].islower() and not before.is_sound_label and not _ends_sentence(before)


def _fits(cues: Sequence[Cue], first: int, last: int) -> bool:
    return last - first < _MAX_CUES and sum(len(cue.text) for cue in cues[first : last + 1]) <= _MAX_CHARS


def _repeats(claim: Claim, other: Claim) -> bool:
    words, others = stems(claim.text), stems(other.text)
    return not set(claim.cues).isdisjoint(other.cues) or len(words & others) > _SAME * len(words | others)
