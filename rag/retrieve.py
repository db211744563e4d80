"""query -> Hits: both arms, fusion, filters, narrowing to the cues that answer, no overlaps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rag.embed import Vectors
from rag.lexical import stems
from rag.manifest import Manifest
from rag.reader import Generation
from rag.types import Evidence, Filters, Hit, Span, Talk
from rag.vectors import Found

DEPTH = 50  # passages that each arm contributes
MAX_HIT_CUES = 8

_RRF = 60  # Cormack, Clarke, Büttcher (SIGIR 2009): reciprocal rank fusion with k = 60
_NARROW_MARGIN = 2  # cues before and after a passage that narrowing may reach for
_WORD_WEIGHT = 0.5  # of the share of query words in a cue, against the cosine of the cue
_KEEP_ABOVE = 0.6  # a neighbour stays with the best cue when it scores at least this share of it


@dataclass(frozen=True, slots=True)
class _Query:
    """A query as both arms see it; `rarity` weighs its stemmed words."""

    text: str
    vector: Vectors
    rarity: dict[str, float]


def retrieve(generation: Generation, query: str, vector: Vectors, k: int, filters: Filters) -> Evidence:
    """The `k` moments that answer `query` best, and how likely they answer it.

    `vector` is the query's embedding, shape (dim,). Filters go into both arms, before ranking.
    """
    found_by = arms(generation, query, vector, filters)
    dense = found_by["dense"]
    seen = _Query(query, vector, generation.words.rarity(stems(query)))
    hits: list[Hit] = []
    for found in fuse(*found_by.values()):
        hit = _narrow(generation, found, seen, filters.speaker)
        if not any(_overlaps(hit, other) for other in hits):
            hits.append(hit)
        if len(hits) == k:
            break
    return Evidence(tuple(hits), _confidence(generation, hits, dense, seen))


def arms(generation: Generation, query: str, vector: Vectors, filters: Filters) -> dict[str, list[Found]]:
    """The passages that each arm finds by itself, best first: "dense" by meaning, "words" by BM25."""
    chosen = select(generation.manifest, filters)
    dense = (
        generation.vectors.nearest(vector, DEPTH)
        if chosen is None
        else exact(generation, vector, sorted(chosen), filters.speaker, DEPTH)
    )
    return {"dense": dense, "words": generation.words.best(query, DEPTH, talk_ids=chosen, speaker=filters.speaker)}


def apart(generation: Generation, found: Iterable[Found], k: int) -> list[Hit]:
    """The first `k` passages that do not overlap, as they were found: not narrowed."""
    hits: list[Hit] = []
    for passage in found:
        talk = generation.talk(passage.talk_id)[0].talk
        span = Span(passage.first, passage.last)
        hit = Hit(talk, passage.first, passage.last, passage.score, span)
        if not any(_overlaps(hit, other) for other in hits):
            hits.append(hit)
        if len(hits) == k:
            break
    return hits


def select(manifest: Manifest, filters: Filters) -> set[str] | None:
    """Ids of the talks that pass the filters; None when there is no filter.

    Names and events are compared without regard to letter case.
    """
    if not filters:
        return None

    def passes(wanted: str, present: Iterable[str]) -> bool:
        return not wanted or wanted.casefold() in (name.casefold() for name in present)

    return {
        info.id
        for info in manifest.talks.values()
        if passes(filters.talk, [info.id])
        and passes(filters.speaker, info.speakers)
        and passes(filters.event, [info.event])
        and passes(filters.year, [info.year])
    }


def exact(generation: Generation, vector: Vectors, talk_ids: list[str], speaker: str, count: int) -> list[Found]:
    """The passages of these talks nearest to `vector`, by scoring every one of them; score = cosine."""
    found: list[Found] = []
    for talk_id in talk_ids:
        stored, vectors = generation.talk(talk_id)
        scores = vectors.passages @ vector
        found += [
            Found(talk_id, window.first, window.last, float(score))
            for window, score in zip(generation.passages(talk_id), scores, strict=True)
            if not speaker or _speaks(stored.talk, window.first, window.last, speaker)
        ]
    return sorted(found, key=lambda item: -item.score)[:count]


def fuse(*arms: list[Found]) -> list[Found]:
    """Reciprocal rank fusion: passages that several arms rank high come first; the fused score replaces the arm's."""
    scores: dict[tuple[str, int, int], float] = {}
    for arm in arms:
        for rank, found in enumerate(arm, 1):
            key = (found.talk_id, found.first, found.last)
            scores[key] = scores.get(key, 0.0) + 1 / (_RRF + rank)
    return [Found(*key, score) for key, score in sorted(scores.items(), key=lambda item: -item[1])]


def _narrow(generation: Generation, found: Found, query: _Query, speaker: str) -> Hit:
    """The cues in and around a found passage that carry the answer: the link must land on the sentence."""
    stored, vectors = generation.talk(found.talk_id)
    talk = stored.talk
    first = max(0, found.first - _NARROW_MARGIN)
    last = min(len(talk.cues) - 1, found.last + _NARROW_MARGIN)
    scores = vectors.sentences[first : last + 1] @ query.vector
    scores = scores + _WORD_WEIGHT * np.array([_coverage(cue.text, query) for cue in talk.cues[first : last + 1]])
    for offset, cue in enumerate(talk.cues[first : last + 1]):
        if cue.is_sound_label or (speaker and cue.speaker.casefold() != speaker.casefold()):
            scores[offset] = -1.0
    start = stop = int(np.argmax(scores))
    floor = _KEEP_ABOVE * float(scores[start])
    while stop - start + 1 < MAX_HIT_CUES:
        before = scores[start - 1] if start else -1.0
        after = scores[stop + 1] if stop + 1 < len(scores) else -1.0
        if max(before, after) < max(floor, 0.0):
            break
        start, stop = (start - 1, stop) if before > after else (start, stop + 1)
    return Hit(talk, first + start, first + stop, found.score, Span(found.first, found.last))


def _coverage(text: str, query: _Query) -> float:
    """Share of the query's words that a text holds, the rare ones counting more: 0..1."""
    total = sum(query.rarity.values())
    return sum(query.rarity[term] for term in stems(text) & query.rarity.keys()) / total if total else 0.0


def _speaks(talk: Talk, first: int, last: int, speaker: str) -> bool:
    return any(cue.speaker.casefold() == speaker.casefold() for cue in talk.cues[first : last + 1])


def _overlaps(hit: Hit, other: Hit) -> bool:
    return hit.talk.id == other.talk.id and hit.first <= other.last and other.first <= hit.last


def _confidence(generation: Generation, hits: list[Hit], dense: list[Found], query: _Query) -> float:
    """How likely the talks answer the query, 0..1, from both arms' evidence."""
    if not hits or not dense:
        return 0.0
    passage = dense[0].score
    sentence = max(
        float((generation.talk(hit.talk.id)[1].sentences[hit.first : hit.last + 1] @ query.vector).max())
        for hit in hits[:3]
    )
    coverage = max(_coverage(_window_text(hit), query) for hit in hits[:3])
    evidence = 5.0 * passage + 4.0 * sentence + 2.0 * coverage - 5.5
    return 1 / (1 + math.exp(-evidence))


def _window_text(hit: Hit) -> str:
    return " ".join(cue.text for cue in hit.talk.cues[hit.window.first : hit.window.last + 1])
