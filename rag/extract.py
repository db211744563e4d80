"""The answer without a language model: the quotes that answer best.

One to five sentences or short runs, word for word, the most direct one first; those of one talk follow in time order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rag.embed import Embedder, Vectors
from rag.orders import is_answerable_speech
from rag.types import Claim, Cue, CueRef, Hit, Talk

MAX_QUOTES = 5
_MAX_CHARS = 320
_MAX_CUES = 4
# A quote is kept when it scores at least this share of the best one, and a neighbour joins its quote likewise.
_KEEP = 0.75
_JOIN = 0.8
# From this share of the best score on, an earlier quote of the same talk may lead.
_AS_GOOD = 0.95
_ANSWER_CUES = 2
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
    considered = hits[:MAX_QUOTES]
    reach = [range(hit.first, min(hit.last + _MAX_CUES, len(hit.talk.cues))) for hit in considered]
    # One call for all sentences: the model's fixed cost is most of the time.
    texts = [hit.talk.cues[at].text for hit, positions in zip(considered, reach, strict=True) for at in positions]
    vectors = embedder.encode_passages(texts)
    scores = vectors @ embedder.encode_query(query)
    found: list[_Quote] = []
    start = 0
    for rank, (hit, positions) in enumerate(zip(considered, reach, strict=True)):
        rows = slice(start, start + len(positions))
        found.append(_quote(hit, scores[rows], vectors[rows], 1 - _RANK_DISCOUNT * rank))
        start = rows.stop
    best = max(quote.score for quote in found)
    kept: list[_Quote] = []
    for quote in sorted(found, key=lambda item: -item.score):
        repeats = any(_overlap(quote, other) or float(quote.vector @ other.vector) > _SAME for other in kept)
        if quote.score >= _KEEP * best and not repeats:
            kept.append(quote)
    return [_claim(quote) for quote in _in_order(kept)]


def _in_order(kept: list[_Quote]) -> list[_Quote]:
    """Talks in the order of their best quote, time order within.

    The best quote leads: what its talk says before it is left out, unless it is about as good.
    """
    order = list(dict.fromkeys(quote.talk.id for quote in kept))
    equals = [quote for quote in kept if quote.talk.id == order[0] and quote.score >= _AS_GOOD * kept[0].score]
    lead = min(equals, key=lambda quote: quote.first)
    later = [quote for quote in kept if quote.talk.id != order[0] or quote.first >= lead.first]
    return sorted(later, key=lambda quote: (order.index(quote.talk.id), quote.first))


def _quote(hit: Hit, scores: Vectors, vectors: Vectors, weight: float) -> _Quote:
    """The run of sentences in and right after the hit that answers best.

    `scores` and `vectors` belong to the cues from `hit.first` on, a few past its end included.
    """
    cues = hit.talk.cues
    anchor = int(np.argmax(scores[: hit.last - hit.first + 1]))
    first = last = hit.first + anchor
    if cues[first].text.rstrip().endswith("?"):
        # A question asked on stage is nearest to the one asked here; what answers it comes next.
        last = min(first + _ANSWER_CUES, len(cues) - 1)
    reach = hit.first + len(scores) - 1
    while last < reach and scores[last + 1 - hit.first] >= _JOIN * scores[anchor] and _fits(cues, first, last + 1):
        last += 1
    while last + 1 < len(cues) and not _ends_sentence(cues[last]) and _fits(cues, first, last + 1):
        last += 1
    while first > 0 and _continues(cues[first - 1], cues[first]) and _fits(cues, first - 1, last):
        first -= 1
    return _Quote(hit.talk, first, last, float(scores[anchor]) * weight, vectors[anchor])


def _ends_sentence(cue: Cue) -> bool:
    return bool(_SENTENCE_END.search(cue.text))


def _continues(before: Cue, cue: Cue) -> bool:
    """True when a cue goes on with the sentence of the one before."""
    return cue.text[:1].islower() and not before.is_sound_label and not _ends_sentence(before)


def _fits(cues: Sequence[Cue], first: int, last: int) -> bool:
    return last - first < _MAX_CUES and sum(len(cue.text) for cue in cues[first : last + 1]) <= _MAX_CHARS


def _overlap(a: _Quote, b: _Quote) -> bool:
    return a.talk.id == b.talk.id and a.first <= b.last and b.first <= a.last


def _claim(quote: _Quote) -> Claim:
    spoken = [at for at in range(quote.first, quote.last + 1) if is_answerable_speech(quote.talk.cues[at])]
    text = " ".join(quote.talk.cues[at].text for at in spoken)
    return Claim(text, tuple(CueRef(quote.talk.id, at) for at in spoken))
