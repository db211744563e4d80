"""The records of the evaluation: what is asked, what counts as right, what came back. Read this file first.

    Question + Talk -> Gold            positions of the cues that answer it
    Question -> engine -> Outcome      what a user would have seen
    Outcome + Gold -> measures         plain numbers, one row a question

`Question` and `Outcome` are read from and written to JSON lines, hence pydantic; what measures work on are plain
tuples. Positions, spans and times are those of `rag.types`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rag import links
from rag.types import CueRef, Span, Talk
from rag.wire import words

Setting = Literal["scope", "talk", "corpus"]
"""How the questions of a run were asked: each in its own scope, all within their talk, or over all talks."""

CueId = Annotated[str, Field(min_length=1)]


class Message(BaseModel):
    """One earlier message of a follow-up question."""

    model_config = ConfigDict(frozen=True)

    role: Literal["user", "assistant"]
    content: str


class Question(BaseModel):
    """A line of `questions.jsonl`.

    `relevant` holds the inclusive spans of cue ids that answer it; empty when the talk does not. `also_ok` spans are
    fine to cite but not needed. `scope` tells whether it makes sense over all talks ("corpus") or only once the talk is
    known. `checked` is false on drafts that no person has looked at.
    """

    model_config = ConfigDict(frozen=True)

    id: Annotated[str, Field(min_length=1)]
    talk_id: Annotated[str, Field(min_length=1)]
    question: Annotated[str, Field(min_length=1)]
    answer: str = ""
    relevant: tuple[tuple[CueId, CueId], ...]
    also_ok: tuple[tuple[CueId, CueId], ...] = ()
    type: Annotated[str, Field(min_length=1)]
    scope: Literal["talk", "corpus"]
    history: tuple[Message, ...] = ()
    hand_written: bool = False
    note: str = ""
    checked: bool = True

    @model_validator(mode="after")
    def _history_where_needed(self) -> Self:
        if self.type == "follow-up" and not self.history:
            raise ValueError("a follow-up needs `history`, the earlier turns")
        return self

    @property
    def answerable(self) -> bool:
        """True when the talk answers it."""
        return bool(self.relevant)


class Moment(NamedTuple):
    """Consecutive cues of a talk, positions `first` to `last` included: a hit or a citation as measures see it."""

    talk_id: str
    first: int
    last: int

    @property
    def refs(self) -> frozenset[CueRef]:
        """Its cues, named across talks."""
        return frozenset(CueRef(self.talk_id, position) for position in range(self.first, self.last + 1))


@dataclass(frozen=True, slots=True)
class Gold:
    """Where a question is answered: spans of positions in one talk. Empty `relevant` means: nowhere."""

    talk_id: str
    relevant: tuple[Span, ...]
    also_ok: tuple[Span, ...] = ()

    @property
    def relevant_refs(self) -> frozenset[CueRef]:
        """All cues of the gold spans."""
        return frozenset(ref for span in self.relevant for ref in Moment(self.talk_id, *span).refs)

    @property
    def acceptable_refs(self) -> frozenset[CueRef]:
        """Gold cues and those that are fine to cite."""
        return self.relevant_refs | frozenset(ref for span in self.also_ok for ref in Moment(self.talk_id, *span).refs)


class FoundMoment(BaseModel):
    """A hit or citation with what a report shows of it. Cue ids, not positions: they mean the same in every library."""

    model_config = ConfigDict(frozen=True)

    talk_id: str
    first_cue: str
    last_cue: str
    start_ms: int
    end_ms: int
    text: str = ""
    url: str = ""
    speakers: tuple[str, ...] = ()

    @classmethod
    def of(cls, talk: Talk, span: Span) -> FoundMoment:
        """The moment at positions `span` of `talk`."""
        cues = talk.cues[span.first : span.last + 1]
        return cls(
            talk_id=talk.id,
            first_cue=cues[0].id,
            last_cue=cues[-1].id,
            start_ms=cues[0].start_ms,
            end_ms=max(cue.end_ms for cue in cues),
            text=words(cues),
            url=links.link(talk, cues[0].id, cues[0].start_ms),
            speakers=tuple(dict.fromkeys(cue.speaker for cue in cues if cue.speaker)),
        )

    @property
    def row(self) -> tuple[str, str, str]:
        """The form of run.jsonl."""
        return self.talk_id, self.first_cue, self.last_cue


class ClaimOutcome(BaseModel):
    """One sentence of an answer with the numbers (from 1) of its citations and the verdict shown beside it."""

    model_config = ConfigDict(frozen=True)

    text: str
    citations: tuple[int, ...] = ()
    support: Literal["supported", "weak", "unsupported"] | None = None


class Outcome(BaseModel):
    """What came back for one question.

    `confidence` is None and `abstained` false when only the search was asked. `arms` holds the hits of each search arm
    alone; `plain_hits` those of a follow-up searched word for word, without its history. `error` is "" unless asking
    failed; then everything else is empty and the question counts as missed.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    searched: str = ""
    hits: tuple[FoundMoment, ...] = ()
    arms: dict[str, tuple[FoundMoment, ...]] = {}
    plain_hits: tuple[FoundMoment, ...] | None = None
    answered: bool = False
    answer: str = ""
    claims: tuple[ClaimOutcome, ...] = ()
    citations: tuple[FoundMoment, ...] = ()
    abstained: bool = False
    confidence: float | None = None
    answered_by: str = ""
    notice: str = ""
    timings_ms: dict[str, float] = {}
    usage: dict[str, int] = {}
    error: str = ""

    def run_row(self) -> dict[str, object]:
        """The line of run.jsonl: what any scorer needs, nothing else."""
        row: dict[str, object] = {"id": self.id, "hits": [hit.row for hit in self.hits]}
        if self.answered or self.error:
            row |= {"cited": [citation.row for citation in self.citations], "abstained": self.abstained}
            row["score"] = self.confidence
        if self.error:
            row["failed"] = self.error
        return row


class Row(BaseModel):
    """A line of per_question.jsonl: a question, what counts as right, what came back, and every measure of it.

    `gold` and `also_ok` are spelt out as moments, so that reports and comparisons need no library.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    data: str
    setting: Setting
    type: str
    scope: Literal["talk", "corpus"]
    talk_id: str
    question: str
    history: tuple[Message, ...] = ()
    reference: str = ""
    note: str = ""
    gold: tuple[FoundMoment, ...] = ()
    also_ok: tuple[FoundMoment, ...] = ()
    measures: dict[str, float] = {}
    ungrounded: tuple[str, ...] = ()
    outcome: Outcome

    @property
    def answerable(self) -> bool:
        """True when the talk answers it."""
        return bool(self.gold)

    def slim(self) -> Row:
        """Without what only measures need: hits after the third, hits of single arms. outcomes.jsonl keeps them."""
        outcome = self.outcome.model_copy(update={"hits": self.outcome.hits[:3], "arms": {}, "plain_hits": None})
        return self.model_copy(update={"outcome": outcome})
