"""Broad question -> one moment of each chapter, or of each talk, in the order in which they are told."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise

from rag.broad import Mentions, WholeTalk, named
from rag.manifest import TalkInfo
from rag.orders import is_answerable_speech
from rag.query import Wording, seek
from rag.reader import Generation
from rag.retrieve import MAX_HIT_CUES, arms, by_words, moment, notice, rank, without_orders
from rag.types import Evidence, Filters, Hit, Span, Talk
from rag.vectors import Found

MAX_TALKS = 8
MAX_STRETCHES = 20
# Where no chapters are known: docs/experiments.md has the measurements.
_STRETCH_CUES = 15
_MIN_STRETCHES = 8
_MIN_WORDS = 6  # "Yeah, exactly." is often near the middle of a stretch and says nothing
_DEPTH = 1_000  # passages looked at for those that hold all words of a topic
_PER_TALK = 3
# A talk without all words of a topic mentions it when a passage is this near: docs/experiments.md.
_MENTIONED = 0.5


def overview(
    generation: Generation, asked: WholeTalk | Mentions, word: Callable[[str], Wording], filters: Filters
) -> Evidence | None:
    """The moments that answer a broad question together; None when it has to be searched like any other.

    `word` makes a text ready to be searched for.
    """
    if isinstance(asked, WholeTalk):
        return whole_talk(generation, asked, filters)
    return mentions(generation, asked, word, filters)


def whole_talk(generation: Generation, asked: WholeTalk, filters: Filters) -> Evidence | None:
    """A moment of each chapter of the talk that is meant; of each talk where several may be meant, with a notice.

    None when the question names something that is no talk, or nothing is said: it is then a question like any other.
    """
    chosen = generation.select(filters)
    talks = named(asked, (info for info in generation.manifest.talks.values() if chosen is None or info.id in chosen))
    if not talks:
        return None
    if len(talks) == 1:
        talk = generation.talk(talks[0].id)[0].talk
        hits = _central_moments(generation, talk.id, stretches(talk), filters.speaker)
        return Evidence(tuple(hits), 1.0, in_order=True) if hits else None
    shown = sorted(talks, key=_by_date)[:MAX_TALKS]
    parts = ((info.id, [Span(0, info.cues - 1)]) for info in shown)
    hits = [hit for talk_id, whole in parts for hit in _central_moments(generation, talk_id, whole, filters.speaker)]
    if not hits:
        return None
    many = f"{len(talks)} talks" if len(shown) == len(talks) else f"{len(shown)} of {len(talks)} talks"
    advice = f"One moment of each of {many}; choose a talk, or name it in the question, to have it summed up."
    return Evidence(tuple(hits), 1.0, advice, in_order=True)


def mentions(
    generation: Generation, asked: Mentions, word: Callable[[str], Wording], filters: Filters
) -> Evidence | None:
    """The best moment of each talk that mentions the topic, the best talk first, or the oldest.

    None when only one talk is searched, or none mentions the topic.
    """
    chosen = generation.select(filters)
    if len(generation.manifest.talks if chosen is None else chosen) == 1:
        return None
    query = seek(word(asked.topic), generation.words, chosen)

    def with_every_word(count: int) -> list[Found]:
        return by_words(generation, query, count, filters, every_word=True)

    words = without_orders(generation, with_every_word, _DEPTH)
    dense = arms(generation, query, filters, is_to_answer=True)["dense"]
    near = [found for found in dense if found.score >= _MENTIONED]
    best: dict[str, Found] = {}
    for found in rank(generation, query, _few_per_talk(near), _few_per_talk(words)):
        best.setdefault(found.talk_id, found)
    if not best:
        return None
    talks = list(best)[:MAX_TALKS]
    if asked.by_date:
        talks.sort(key=lambda talk_id: _by_date(generation.manifest.talks[talk_id]))
    moments = (moment(generation, best[talk_id], query, filters.speaker) for talk_id in talks)
    hits = tuple(hit for hit in moments if hit)
    more = f"{len(best)} talks mention this; these are the {len(talks)} nearest." if len(best) > len(talks) else ""
    return Evidence(hits, 1.0, " ".join(filter(None, (more, notice(generation, query, filters)))), in_order=True)


def _few_per_talk(passages: Sequence[Found]) -> list[Found]:
    """The first passages of each talk, so that a talk that speaks of nothing else costs no more than the others."""
    taken: dict[str, int] = {}
    kept = []
    for found in passages:
        taken[found.talk_id] = taken.get(found.talk_id, 0) + 1
        if taken[found.talk_id] <= _PER_TALK:
            kept.append(found)
    return kept


def _by_date(info: TalkInfo) -> tuple[bool, str, str]:
    """Sorts the oldest first, and those of unknown date last, by title."""
    return not info.date, info.date, info.title.casefold()


def stretches(talk: Talk) -> list[Span]:
    """The chapters of a talk as positions of cues, or evenly long parts of it where none are known; at most 20."""
    count = len(talk.cues)
    starts = _chapter_starts(talk)
    if len(starts) < 2:
        parts = min(count, MAX_STRETCHES, max(_MIN_STRETCHES, round(count / _STRETCH_CUES)))
        starts = [count * part // parts for part in range(parts)]
    if len(starts) > MAX_STRETCHES:
        starts = [starts[len(starts) * part // MAX_STRETCHES] for part in range(MAX_STRETCHES)]
    return [Span(first, after - 1) for first, after in pairwise([*starts, count])]


def _chapter_starts(talk: Talk) -> list[int]:
    """The position at which each chapter that holds a cue starts; what is said before the first belongs to it."""
    times = [cue.start_ms for cue in talk.cues]
    starts = {bisect_left(times, chapter.start_ms) for chapter in talk.chapters} - {len(times)}
    return [0, *sorted(starts)[1:]] if starts else []


def _central_moments(generation: Generation, talk_id: str, parts: Sequence[Span], speaker: str) -> list[Hit]:
    """The central moment of each part of a talk in which something is said, by that speaker if one is given."""
    moments = (_central(generation, talk_id, part, speaker) for part in parts)
    return [hit for hit in moments if hit]


def _central(generation: Generation, talk_id: str, part: Span, speaker: str) -> Hit | None:
    """The sentence nearest to all that is said in a part of a talk, and what is said from there on."""
    stored, vectors = generation.talk(talk_id)
    cues = stored.talk.cues
    said = stored.talk.said_by(speaker) if speaker else None

    def may_be_shown(at: int) -> bool:
        return is_answerable_speech(cues[at]) and (said is None or said(at))

    spoken = [at for at in range(part.first, part.last + 1) if may_be_shown(at)]
    if not spoken:
        return None
    telling = [at for at in spoken if len(cues[at].text.split()) >= _MIN_WORDS and "?" not in cues[at].text] or spoken
    nearness = vectors.sentences[telling] @ vectors.sentences[spoken].mean(axis=0)
    best = int(nearness.argmax())
    first = last = telling[best]
    while last < min(first + MAX_HIT_CUES - 1, part.last) and (not speaker or may_be_shown(last + 1)):
        last += 1
    return Hit(stored.talk, first, last, float(nearness[best]), part)
