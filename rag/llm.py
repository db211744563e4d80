"""What every language model is here: messages go in, a stream of text comes out."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from rag.errors import LLMError

Message = dict[str, str]
HEARTBEAT_S = 0.2  # between two pieces of a stream, at most


class SchemaNotTaken(LLMError):
    """The server takes no JSON schema; ask again without one."""


class ContextTooLong(LLMError):
    """The messages are longer than the model can read; ask again with fewer."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A bit of the reply; empty while nothing arrives.

    `cut` is True on the last piece of a reply that ended at the token limit; `usage` counts tokens and comes last.
    `likely` holds the words that could have stood here with their log probabilities, where they were asked for.
    """

    text: str = ""
    cut: bool = False
    usage: Mapping[str, int] = field(default_factory=dict)
    likely: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LLMStatus:
    """Whether a model can answer: "ready", or what keeps it from that.

    While it is being fetched `done` of `total` bytes are there; `detail` says why it failed.
    """

    state: Literal["fetching", "loading", "ready", "failed"]
    done: int = 0
    total: int = 0
    detail: str = ""


class LLM(Protocol):
    """A language model that streams its reply."""

    @property
    def name(self) -> str:
        """The model's name as shown to the user."""
        ...

    @property
    def takes_schema(self) -> bool:
        """False once the server is known to refuse a JSON schema."""
        ...

    @property
    def status(self) -> LLMStatus:
        """Whether it can answer at this moment, as far as is known without asking it."""
        ...

    def stream(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Generator[Delta, None, None]:
        """The reply, piece by piece, an empty one at least four times a second. Raises `LLMError`; closing stops it."""
        ...

    def agrees(self, messages: Sequence[Message]) -> Generator[Delta, None, float | None]:
        """How likely the model says yes to a yes-or-no question, 0..1; None when it can't or need not be asked that.

        Yields and raises like `stream`.
        """
        ...

    def close(self) -> None:
        """Give back connections."""
        ...
