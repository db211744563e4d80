"""The answer without a language model: the quotes that answer best.

One to five sentences or short runs, word for word, the most direct one first; those of one talk follow in time order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rag.embed import Embedder, Vectors
from rag.types import Claim, CueRef, Hit, Talk

MAX_QUOTES = 5
_MAX_CHARS = 320
_MAX_CUES = 4
# A quote is kept when it scores at least this share of the best one, and a neighbour joins its quote likewise.
_KEEP = 0.75
_JOIN = 0.8
# Two quotes nearer than this say the same.
_SAME = 0.85
_RANK_DISCOUNT = 0.03
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")


class _Quote(NamedTuple):
    talk: Talk
    first: int
    last: int
    score: float
    vector: Vectors


def quotes(query: str, hits: Sequence[Hit], embedder: Embedder) -> list[Claim]:
    """The best quotes as claims that cite their own cues; empty without hits."""
    if not hits:
        return []
    asked = embedder.encode_query(query)
    found = [_quote(hit, asked, embedder, rank) for rank, hit in enumerate(hits[:MAX_QUOTES])]
    best = max(quote.score for quote in found)
    kept: list[_Quote] = []
    for quote in sorted(found, key=lambda item: -item.score):
        repeats = any(_overlap(quote, other) or float(quote.vector @ other.vector) > _SAME for other in kept)
        if quote.score >= _KEEP * best and not repeats:
            kept.append(quote)
    return [_claim(quote) for quote in _in_order(kept)]


def _in_order(kept: list[_Quote]) -> list[_Quote]:
    """Talks in the order of their best quote, time order within. The best quote leads, so what its talk says before
    it goes, unless it is about as good."""
    order = list(dict.fromkeys(quote.talk.id for quote in kept))
    lead = min((quote for quote in kept if quote.talk.id == order[0] and quote.score >= 0.95 * kept[0].score),
               key=lambda quote: quote.first)  # fmt: skip
    later = [quote for quote in kept if quote.talk.id != order[0] or quote.first >= lead.first]
    return sorted(later, key=lambda quote: (order.index(quote.talk.id), quote.first))


def _quote(hit: Hit, asked: Vectors, embedder: Embedder, rank: int) -> _Quote:
    """The run of sentences in and right after the hit that answers best."""
    talk = hit.talk
    positions = range(hit.first, min(hit.last + _MAX_CUES, len(talk.cues)))
    vectors = embedder.encode_passages([talk.cues[at].text for at in positions])
    scores = [float(score) for score in vectors @ asked]
    inside = [at - hit.first for at in range(hit.first, hit.last + 1)]
    anchor = max(inside, key=lambda at: scores[at])
    first = last = hit.first + anchor
    if talk.cues[first].text.rstrip().endswith("?") and first + 1 < len(talk.cues):
        # The question on stage is nearest to the question asked; what answers it comes next.
        first, last = first, min(first + 2, len(talk.cues) - 1)
    while (
        last + 1 in positions
        and _fits(talk, first, last + 1)
        and scores[last + 1 - hit.first] >= _JOIN * scores[anchor]
    ):
        last += 1
    while last + 1 < len(talk.cues) and not _SENTENCE_END.search(talk.cues[last].text) and _fits(talk, first, last + 1):
        last += 1
    while first > 0 and not _SENTENCE_END.search(talk.cues[first - 1].text) and _fits(talk, first - 1, last):
        if talk.cues[first - 1].is_sound_label or not talk.cues[first].text[:1].islower():
            break
        first -= 1
    return _Quote(talk, first, last, scores[anchor] * (1 - _RANK_DISCOUNT * rank), np.asarray(vectors[anchor]))


def _fits(talk: Talk, first: int, last: int) -> bool:
    return last - first < _MAX_CUES and sum(len(cue.text) for cue in talk.cues[first : last + 1]) <= _MAX_CHARS


def _overlap(a: _Quote, b: _Quote) -> bool:
    return a.talk.id == b.talk.id and a.first <= b.last and b.first <= a.last


def _claim(quote: _Quote) -> Claim:
    spoken = [at for at in range(quote.first, quote.last + 1) if not quote.talk.cues[at].is_sound_label]
    text = " ".join(quote.talk.cues[at].text for at in spoken)
    return Claim(text, tuple(CueRef(quote.talk.id, at) for at in spoken))
