"""A question -> what a user would have seen, asked through the engine. A question that fails is an outcome too."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

from eval.types import ClaimOutcome, FoundMoment, Outcome, Question, Setting
from rag.errors import TalkciteError
from rag.types import Answer, Filters, Hit, Span, Turn

HITS = 10

AnswerMode = Literal["none", "extract", "llm"]


class Asked(Protocol):
    """The part of `rag.engine.Engine` that the evaluation needs."""

    def search(self, query: str, k: int, filters: Filters) -> list[Hit]:
        """The best moments for a query, best first."""
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
    plain = engine.search(question.question, HITS, filters) if question.history or mode == "none" else None
    if mode == "none" and not question.history:
        return Outcome(id=question.id, searched=question.question, hits=_hits(plain or []))
    started = time.perf_counter()
    answer, first_claim_ms = None, None
    history = [Turn(message.role, message.content) for message in question.history]
    for answer in engine.ask(question.question, filters, history):
        if answer.claims and first_claim_ms is None:
            first_claim_ms = (time.perf_counter() - started) * 1000
    total_ms = (time.perf_counter() - started) * 1000
    if answer is None or not answer.done:
        return Outcome(id=question.id, error="the answer ended before it was done")
    found = Outcome(
        id=question.id,
        searched=answer.searched,
        hits=_hits(answer.hits[:HITS]),
        plain_hits=_hits(plain) if question.history and plain is not None else None,
    )
    if mode == "none":
        return found
    timings = dict(answer.timings_ms) | {"total": total_ms}
    if first_claim_ms is not None:
        timings["first claim"] = first_claim_ms
    return found.model_copy(
        update={
            "answered": True,
            "answer": answer.text,
            "claims": tuple(_claim(claim.text, claim.citations, claim.support, answer) for claim in answer.claims),
            "citations": tuple(FoundMoment.of(c.talk, Span(c.first, c.last)) for c in answer.citations),
            "abstained": answer.abstained,
            "confidence": answer.confidence,
            "answered_by": answer.answered_by,
            "notice": answer.notice,
            "timings_ms": {step: round(ms, 2) for step, ms in timings.items()},
            "usage": dict(answer.usage),
        }
    )


def _claim(
    text: str, numbers: Sequence[int], support: Literal["supported", "weak", "unsupported"] | None, answer: Answer
) -> ClaimOutcome:
    """Citation numbers become places (from 1) in `answer.citations`, whatever numbers the answer itself uses."""
    places = {citation.n: place for place, citation in enumerate(answer.citations, start=1)}
    return ClaimOutcome(text=text, citations=tuple(places[n] for n in numbers), support=support)


def _hits(hits: Sequence[Hit]) -> tuple[FoundMoment, ...]:
    return tuple(FoundMoment.of(hit.talk, Span(hit.first, hit.last)) for hit in hits)
