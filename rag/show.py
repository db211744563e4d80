"""Answers and moments as lines for people on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag.links import timecode
from rag.text import one_line
from rag.types import Answer, Hit

if TYPE_CHECKING:
    from rag.wire import Wire


def answer_lines(answer: Answer, wire: Wire) -> Iterator[str]:
    """A complete answer: its sentences with numbers, then what the numbers stand for."""
    if answer.abstained:
        yield f"The talks don't cover this ({answer.talks_searched} searched). Nearest moments:"
        yield ""
        for hit in answer.nearest:
            yield from moment_lines(hit, wire)
        return
    if answer.answered_by == "quotes":
        yield "Quotes from the talks:"
        yield ""
    for claim in answer.claims:
        marks = "".join(f"[{n}]" for n in claim.citations)
        doubt = "" if claim.support in ("supported", None) else f" ({claim.support})"
        yield f"{one_line(claim.text)} {marks}{doubt}".rstrip()
    if answer.missing:
        yield ""
        yield f"Not covered: {one_line(answer.missing)}"
    yield ""
    for citation in answer.citations:
        said = f"{one_line(citation.talk.title)}, {timecode(citation.cues[0].start_ms)}"
        yield f"[{citation.n}] {said}  {wire.url(citation.talk, citation.cues[0])}"


def moment_lines(hit: Hit, wire: Wire) -> Iterator[str]:
    """Where a moment is, and what is said there."""
    from rag.wire import words  # takes a moment, which commands that show no moments must not pay

    first = hit.cues[0]
    yield f"{one_line(hit.talk.title)}, {timecode(first.start_ms)}  {wire.url(hit.talk, first)}"
    yield f"    {one_line(words(hit.cues))}"
    yield ""
