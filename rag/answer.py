"""ask(): question -> search -> claims -> a checked answer, as a growing snapshot."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from rag.asked import asks_for_number, gives_what_was_asked
from rag.broad import broad
from rag.cite import Numbering
from rag.embed import Embedder
from rag.errors import LLMError
from rag.extract import quotes, walk
from rag.llm import LLM
from rag.prompt import DEFAULT_BUDGET
from rag.rewrite import rewrite
from rag.support import StoredVector, nothing_stored
from rag.types import Answer, CheckedClaim, Evidence, Turn
from rag.write import Declined, written

_log = logging.getLogger(__name__)

# Below this confidence quotes refuse; from the other on, quotes are shown even when the model finds no answer.
# Set with MiniLM on the questions over the panel and podcasts: docs/experiments.md, "When quotes refuse".
REFUSE_BELOW = 0.5
OVERRULE_FROM = 0.8
_NEAREST = 3


def ask(
    question: str,
    *,
    retrieve: Callable[[str], Evidence],
    embedder: Embedder,
    llm: LLM | None = None,
    history: Sequence[Turn] = (),
    talks_searched: int = 0,
    budget: int = DEFAULT_BUDGET,
    stored: StoredVector = nothing_stored,
) -> Iterator[Answer]:
    """Growing snapshots of the answer; the last has `done` set.

    `budget` limits what a model reads, in tokens; `stored` as in `SupportCheck`.

    While a model is silent the same snapshot comes again several times a second, so that a caller can stop: closing
    the iterator ends the model's request. A failing model raises nothing: the answer is then made of quotes and its
    `notice` says why.
    """
    started = time.perf_counter()
    searched = question if broad(question) else rewrite(question, history)
    evidence = retrieve(searched)
    answer = Answer(
        question=question,
        searched=searched,
        confidence=evidence.confidence,
        hits=evidence.hits,
        talks_searched=talks_searched,
        timings_ms={"search": _ms_since(started)},
    )
    yield replace(answer, notice=evidence.notice)
    first_claim: dict[str, float] = {}
    write = partial(
        written,
        embedder=embedder,
        history=history if searched != question else (),
        budget=budget,
        in_order=evidence.in_order,
        stored=stored,
    )
    for snapshot in _answers(answer, evidence.in_order, llm, write):
        if snapshot.claims and not first_claim:
            first_claim = {"first_claim": _ms_since(started)}
        notice = " ".join(filter(None, (evidence.notice, snapshot.notice)))
        answer = replace(snapshot, notice=notice, timings_ms={**snapshot.timings_ms, **first_claim})
        yield answer
    yield replace(answer, done=True, timings_ms={**answer.timings_ms, "total": _ms_since(started)})


def _answers(
    answer: Answer, in_order: bool, llm: LLM | None, write: Callable[[Answer, LLM], Iterator[Answer]]
) -> Iterator[Answer]:
    """Snapshots of the written answer, or the quotes; `in_order` as in `Evidence`."""
    if llm is None or not answer.hits:
        yield _quoted(answer, in_order)
        return
    try:
        yield from write(answer, llm)
    except Declined as declined:
        # The confidence is about the topic: a number that the model did not find there is not in the quotes either.
        strong = answer.confidence >= OVERRULE_FROM and not declined.is_measured
        if strong and not asks_for_number(answer.question):
            yield replace(_quoted(answer, in_order), notice=f"{llm.name} found no answer; these quotes come closest.")
        else:
            yield replace(_refused(answer), missing=str(declined), answered_by=llm.name, usage=dict(declined.usage))
    except LLMError as error:
        _log.info("quotes instead of a written answer: %s", error)
        yield replace(_quoted(answer, in_order), notice=f"Quotes instead of a written answer: {error}.")


def _quoted(answer: Answer, in_order: bool) -> Answer:
    """The answer as quotes, or the refusal when the talks are unlikely to answer."""
    if answer.confidence < REFUSE_BELOW:
        return _refused(answer)
    found = walk(answer.hits) if in_order else quotes(answer.question, answer.hits)
    if not gives_what_was_asked(answer.question, (claim.text for claim in found)):
        return _refused(answer)
    numbering = Numbering(hit.talk for hit in answer.hits)
    claims = tuple(CheckedClaim(claim.text, numbering.cite(claim.cues), "supported") for claim in found)
    return replace(answer, claims=claims, citations=numbering.citations)


def _refused(answer: Answer) -> Answer:
    return replace(answer, abstained=True, nearest=answer.hits[:_NEAREST])


def _ms_since(started: float) -> float:
    """Milliseconds since `started`, to a tenth."""
    return round((time.perf_counter() - started) * 1000, 1)
