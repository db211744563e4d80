"""A question -> what a user would have seen, asked through the engine. A question that fails is an outcome too."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

from eval.types import ClaimOutcome, FoundMoment, Outcome, Question, Setting
from rag.errors import LLMError, TalkciteError
from rag.rewrite import rewrite
from rag.types import Answer, CheckedClaim, Filters, Hit, Span, Turn

HITS = 10

AnswerMode = Literal["none", "extract", "llm"]


class Asked(Protocol):
    """The part of `rag.engine.Engine` that the evaluation needs."""

    def search(self, query: str, k: int, filters: Filters = ...) -> list[Hit]:
        """The best moments for a query, best first."""
        ...

    def arms(self, query: str, k: int, filters: Filters = ...) -> dict[str, list[Hit]]:
        """What each search arm finds alone."""
        ...

    def ask(self, question: str, filters: Filters = ..., history: Sequence[Turn] = ...) -> Iterator[Answer]:
        """Growing snapshots of an answer; the last one is done."""
        ...


def ask(engine: Asked, question: Question, setting: Setting, mode: AnswerMode) -> Outcome:
    """Ask one question.

    An expected failure (any `TalkciteError`) becomes an outcome with `error`; a bug in the code raises as ever.
    """
    filters = Filters(talk=question.talk_id) if asks_within_talk(question, setting) else Filters()
    try:
        return _ask(engine, question, filters, mode)
    except TalkciteError as error:
        return Outcome(id=question.id, error=f"{type(error).__name__}: {error}")


def asks_within_talk(question: Question, setting: Setting) -> bool:
    """True when the question is asked with its talk as filter."""
    return setting == "talk" or (setting == "scope" and question.scope == "talk")


def _ask(engine: Asked, question: Question, filters: Filters, mode: AnswerMode) -> Outcome:
    history = [Turn(message.role, message.content) for message in question.history]
    plain = _hits(engine.search(question.question, HITS, filters)) if history else None
    if mode == "none":
        searched = rewrite(question.question, history)
        found = _hits(engine.search(searched, HITS, filters))
        alone = _arms(engine, searched, filters)
        return Outcome(id=question.id, searched=searched, hits=found, arms=alone, plain_hits=plain)
    # A reader sees the snapshots grow; only the last one is judged.
    answer = deque(engine.ask(question.question, filters, history), maxlen=1).pop()
    if not answer.done:
        raise LLMError("the answer ended before it was done")
    return Outcome(
        id=question.id,
        searched=answer.searched,
        hits=_hits(answer.hits[:HITS]),
        arms=_arms(engine, answer.searched, filters),
        plain_hits=plain,
        answered=True,
        answer=answer.text,
        claims=tuple(_claim(claim, answer) for claim in answer.claims),
        citations=tuple(FoundMoment.of(cited.talk, Span(cited.first, cited.last)) for cited in answer.citations),
        abstained=answer.abstained,
        confidence=answer.confidence,
        answered_by=answer.answered_by,
        notice=answer.notice,
        timings_ms=answer.timings_ms,
        usage=answer.usage,
    )


def _arms(engine: Asked, searched: str, filters: Filters) -> dict[str, tuple[FoundMoment, ...]]:
    return {name: _hits(hits) for name, hits in engine.arms(searched, HITS, filters).items()}


def _claim(claim: CheckedClaim, answer: Answer) -> ClaimOutcome:
    """Citation numbers become places (from 1) in `answer.citations`, whatever numbers the answer itself uses."""
    places = {citation.n: place for place, citation in enumerate(answer.citations, start=1)}
    return ClaimOutcome(text=claim.text, citations=tuple(places[n] for n in claim.citations), support=claim.support)


def _hits(hits: Sequence[Hit]) -> tuple[FoundMoment, ...]:
    return tuple(FoundMoment.of(hit.talk, Span(hit.first, hit.last)) for hit in hits)
