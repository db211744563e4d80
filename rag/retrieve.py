"""query -> Hits: both arms, fusion, filters, narrowing to the cues that answer, no overlaps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from rag.embed import Vectors
from rag.orders import is_order, speech_at
from rag.query import Query, Wording, seek
from rag.reader import Generation
from rag.types import Evidence, Filters, Hit, Span, Talk, Window
from rag.vectors import Found

DEPTH = 50  # passages that each arm contributes
MAX_HIT_CUES = 8

# Logistic model of "the talks answer this"; where the numbers come from: docs/experiments.md.
_CONFIDENCE_PASSAGE, _CONFIDENCE_SENTENCE, _CONFIDENCE_COVERAGE, _CONFIDENCE_OFFSET = 5.0, 4.0, 2.0, 3.5

# What the evidence for a passage counts: its cosine, that of its best sentence, its BM25 score against the best one's,
# and the share of the query's words that it holds.
_PASSAGE_WEIGHT, _SENTENCE_WEIGHT, _BM25_WEIGHT, _COVERAGE_WEIGHT = 2.0, 2.0, 0.5, 1.0

_MARGIN = 1  # spoken cues before and after a passage that narrowing may reach for
_WORD_WEIGHT = 0.5  # of the share of query words in a cue, against the cosine of the cue


def retrieve(
    generation: Generation, wording: Wording, k: int, filters: Filters, *, is_to_answer: bool = False
) -> Evidence:
    """The `k` moments that match a query best, and how likely they answer it.

    Filters go into both arms, before ranking. With `is_to_answer` captions that give orders are no moments.
    """
    query = seek(wording, generation.words, generation.select(filters))
    found_by = arms(generation, query, filters, is_to_answer=is_to_answer)
    hits: list[Hit] = []
    for found in rank(generation, query, found_by["dense"], found_by["words"]):
        hit = moment(generation, found, query, filters.speaker)
        if hit and (free := _free_part(hit, hits)):
            hits.append(free)
        if len(hits) == k:
            break
    told = " ".join(filter(None, (notice(generation, query, filters), _untold(hits) if filters.speaker else "")))
    return Evidence(tuple(hits), _confidence(generation, hits, query), told)


def _untold(hits: Sequence[Hit]) -> str:
    """In which talks nobody knows who said a moment; "" when it is known of all."""
    titles = dict.fromkeys(f"“{hit.talk.title}”" for hit in hits if not hit.talk.tells_speakers)
    return f"The captions of {', '.join(titles)} don't tell who speaks, so all of it was searched." if titles else ""


def notice(generation: Generation, query: Query, filters: Filters) -> str:
    """Which part of the index could not be used, and what was searched besides the query; "" when there is nothing."""
    # Chosen talks are always compared one by one, so that Chroma is not missed.
    notices = (generation.vectors.notice if not filters else "", generation.words.notice, query.notice)
    return " ".join(filter(None, notices))


def arms(
    generation: Generation, query: Query, filters: Filters, *, is_to_answer: bool = False
) -> dict[str, list[Found]]:
    """The passages that each arm finds by itself, best first: "dense" by meaning, "words" by BM25.

    With `is_to_answer` without those of captions that give orders, however many there are.
    """
    chosen = generation.select(filters)

    def dense(count: int) -> list[Found]:
        if chosen is None:
            return generation.vectors.nearest(query.vector, count)
        return exact(generation, query.vector, sorted(chosen), filters.speaker, count)

    def words(count: int) -> list[Found]:
        return by_words(generation, query, count, filters)

    if not is_to_answer:
        return {"dense": dense(DEPTH), "words": words(DEPTH)}
    return {"dense": without_orders(generation, dense, DEPTH), "words": without_orders(generation, words, DEPTH)}


def without_orders(generation: Generation, find: Callable[[int], list[Found]], count: int) -> list[Found]:
    """The first `count` passages of what is said, out of as many as that takes: orders must not crowd them out."""
    asked = count
    while True:
        found = find(asked)
        said = [one for one in found if not is_order(generation.talk(one.talk_id)[0].talk.cues[one.first].text)]
        if len(said) >= count or len(found) < asked:
            return said[:count]
        asked *= 2


def by_words(
    generation: Generation, query: Query, count: int, filters: Filters, *, every_word: bool = False
) -> list[Found]:
    """The passages that hold the words of the query, in any of its spellings, best first; score = BM25.

    With `every_word` only those that hold all of them.
    """
    chosen = generation.select(filters)
    best: dict[tuple[str, int], Found] = {}
    for text in query.texts:
        for found in generation.words.best(
            text, count, talk_ids=chosen, speaker=filters.speaker, every_word=every_word, alike=query.alike
        ):
            place = (found.talk_id, found.first)
            best[place] = max(best.get(place, found), found, key=lambda item: item.score)
    return sorted(best.values(), key=lambda found: -found.score)[:count]


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


def exact(generation: Generation, vector: Vectors, talk_ids: list[str], speaker: str, count: int) -> list[Found]:
    """The passages of these talks nearest to `vector`, by scoring every one of them; score = cosine."""
    if not talk_ids:
        return []
    scores = [_scores(generation, talk_id, vector, speaker) for talk_id in talk_ids]
    ends = np.cumsum([len(some) for some in scores])
    everything = np.concatenate(scores)
    found = []
    for place in np.argsort(-everything, kind="stable")[:count]:
        if everything[place] == -np.inf:
            break
        talk = int(np.searchsorted(ends, place, side="right"))
        window = generation.passages(talk_ids[talk])[int(place - ends[talk])]  # counted back from the talk's end
        found.append(Found(talk_ids[talk], window.first, window.last, float(everything[place])))
    return found


def _scores(generation: Generation, talk_id: str, vector: Vectors, speaker: str) -> Vectors:
    """Cosine of each passage of a talk, -inf for those in which `speaker`, if any, says nothing."""
    stored, vectors = generation.talk(talk_id)
    scores: Vectors = vectors.passages @ vector
    if speaker:
        said = stored.talk.said_by(speaker)
        speaks = [any(map(said, passage.cues)) for passage in generation.passages(talk_id)]
        scores = np.where(speaks, scores, np.float32(-np.inf)).astype(np.float32)
    return scores


def rank(generation: Generation, query: Query, dense: list[Found], words: list[Found]) -> list[Found]:
    """The passages of both arms by the weighted sum of their evidence, best first; that sum becomes the score.

    Scores are summed, not ranks: how much better one passage is than the next is evidence too.
    """
    best_bm25 = max((found.score for found in words), default=1.0) or 1.0
    bm25 = {(found.talk_id, found.first): found.score / best_bm25 for found in words}
    places = sorted({(found.talk_id, found.first, found.last) for found in (*dense, *words)})
    ranked = [
        Found(
            *place,
            _PASSAGE_WEIGHT * passage
            + _SENTENCE_WEIGHT * sentence
            + _BM25_WEIGHT * bm25.get(place[:2], 0.0)
            + _COVERAGE_WEIGHT * coverage,
        )
        for place, (passage, sentence, coverage) in zip(places, _likeness(generation, query, places), strict=True)
    ]
    return sorted(ranked, key=lambda found: -found.score)


def moment(generation: Generation, found: Found, query: Query, speaker: str) -> Hit | None:
    """The sentence of a found passage that answers best, where the link must land, and what is said from there on.

    None when `speaker` says nothing of it.
    """
    stored, vectors = generation.talk(found.talk_id)
    talk = stored.talk
    said = talk.said_by(speaker) if speaker else None

    def may_be_shown(position: int) -> bool:
        return not talk.cues[position].is_sound_label and (said is None or said(position))

    near = _with_margin(talk, generation.passage(found.talk_id, found.first))
    cosines = vectors.sentences[near] @ query.vector
    scores = {
        position: float(cosine) + _WORD_WEIGHT * query.coverage([talk.cues[position]])
        for position, cosine in zip(near, cosines, strict=True)
        if may_be_shown(position)
    }
    if not scores:
        return None
    first = last = max(scores, key=scores.__getitem__)
    room = MAX_HIT_CUES - 1
    while room and last + 1 < len(talk.cues) and (not speaker or may_be_shown(last + 1)):
        last += 1
        room -= not is_order(talk.cues[last].text)  # which take no room from what answers
    return Hit(talk, first, last, found.score, Span(found.first, found.last))


def _with_margin(talk: Talk, passage: Window) -> list[int]:
    """The cues of a passage and the next spoken ones on either side; an order is looked at by itself."""
    if is_order(talk.cues[passage.first].text):
        return list(passage.cues)

    before = speech_at(talk, range(passage.first - 1, -1, -1), _MARGIN)
    after = speech_at(talk, range(passage.last + 1, len(talk.cues)), _MARGIN)
    return [*reversed(before), *passage.cues, *after]


def _free_part(hit: Hit, others: list[Hit]) -> Hit | None:
    """The longest stretch of a moment that no other one covers; None when less than half of it is free."""
    taken = {p for other in others if other.talk.id == hit.talk.id for p in range(other.first, other.last + 1)}
    stretches: list[list[int]] = [[]]
    for position in range(hit.first, hit.last + 1):
        if position in taken:
            stretches.append([])
        else:
            stretches[-1].append(position)
    longest = max(stretches, key=len)
    if 2 * len(longest) < len(hit.cues):
        return None
    return replace(hit, first=longest[0], last=longest[-1])


def _overlaps(hit: Hit, other: Hit) -> bool:
    return hit.talk.id == other.talk.id and hit.first <= other.last and other.first <= hit.last


def _confidence(generation: Generation, hits: list[Hit], query: Query) -> float:
    """How likely the talks answer the query, 0..1, from the evidence for the best three moments."""
    if not hits:
        return 0.0
    best = _likeness(generation, query, [(hit.talk.id, *hit.window) for hit in hits[:3]])
    passage, sentence, coverage = (max(values) for values in zip(*best, strict=True))
    evidence = (
        _CONFIDENCE_PASSAGE * passage
        + _CONFIDENCE_SENTENCE * sentence
        + _CONFIDENCE_COVERAGE * coverage
        - _CONFIDENCE_OFFSET
    )
    return 1 / (1 + math.exp(-evidence))


def _likeness(
    generation: Generation, query: Query, places: Sequence[tuple[str, int, int]]
) -> list[tuple[float, float, float]]:
    """For each passage (talk id, first and last cue) its cosine, that of its best sentence, and its share of the words.

    All vectors are compared at once: one by one, numpy's calls would cost more than the comparing.
    """
    if not places:
        return []
    passages, sentences, coverages = [], [], []
    for talk_id, first, last in places:
        stored, vectors = generation.talk(talk_id)
        passages.append(vectors.passages[generation.row(talk_id, first)])
        cues = generation.passage(talk_id, first).cues
        is_whole = len(cues) == last - first + 1
        # A slice where it does: picking rows takes several times as long.
        sentences.append(vectors.sentences[first : last + 1] if is_whole else vectors.sentences[list(cues)])
        coverages.append(query.coverage([stored.talk.cues[at] for at in cues]))
    starts = np.cumsum([0, *map(len, sentences[:-1])])
    cosines = np.stack(passages) @ query.vector
    best = np.maximum.reduceat(np.concatenate(sentences) @ query.vector, starts)
    return list(zip(cosines.tolist(), best.tolist(), coverages, strict=True))
