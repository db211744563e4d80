"""What programs may ask the API for: the questions and filters of the commands, with limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from rag.schema import MAX_HITS
from rag.types import Filters, Turn
from rag.web.limits import MAX_NAME, MAX_QUESTION, MAX_TURN, MAX_TURNS

_Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION)]
_Name = Annotated[str, StringConstraints(max_length=MAX_NAME)]


class _Filtered(BaseModel):
    """A request that may be restricted to some talks; filters are combined with *and*."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    talk: _Name = ""
    """Only the talk of this id."""
    speaker: _Name = ""
    """Only what this person says."""
    event: _Name = ""
    """Only talks of this event."""
    year: _Name = ""
    """Only talks of this year."""

    @property
    def filters(self) -> Filters:
        """The restrictions of the search."""
        return Filters(talk=self.talk, speaker=self.speaker, event=self.event, year=self.year)


class SearchRequest(_Filtered):
    """A search."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "speculative decoding", "k": 5}]})

    query: _Question
    k: Annotated[int, Field(ge=1, le=MAX_HITS)] | None = None
    """How many moments; the server's RAG_TOP_K when left out."""


class EarlierTurn(BaseModel):
    """One earlier message of the conversation."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    content: Annotated[str, StringConstraints(max_length=MAX_TURN)]


class AskRequest(_Filtered):
    """A question, with the conversation that it follows up."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "How do you keep a key value cache small?"},
                {
                    "question": "And on eight cards?",
                    "year": "2023",
                    "history": [
                        {"role": "user", "content": "How do you keep a key value cache small?"},
                        {"role": "assistant", "content": "We evict the longest sequence."},
                    ],
                },
            ]
        }
    )

    question: _Question
    history: Annotated[list[EarlierTurn], Field(max_length=MAX_TURNS)] = []
    """Earlier turns, oldest first."""

    @property
    def turns(self) -> list[Turn]:
        """The earlier turns as our own records."""
        return [Turn(turn.role, turn.content) for turn in self.history]
