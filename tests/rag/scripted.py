"""A talk, its hits and a language model for the tests of answering, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.errors import LLMError
from rag.llm import Delta, LLMStatus, Message
from rag.types import Cue, Evidence, Hit, Span, Talk

SENTENCES = (
    "Welcome everyone to the stage.",
    "How do you deal with a cache that keeps on growing?",
    "The cache is like a distributed file system.",
    "We store the cache in host memory and on disk.",
    "It holds 40 gigabytes per server.",
    "Lunch is served at noon in the garden.",
)


def talk(talk_id: str = "t1", sentences: Sequence[str] = SENTENCES, **about: Any) -> Talk:
    """A talk with one sentence every ten seconds, cue ids s1, s2, ..."""
    cues = tuple(Cue(f"s{n + 1}", n * 10_000, n * 10_000 + 9_000, text) for n, text in enumerate(sentences))
    return Talk(talk_id, about.pop("title", "Caches at scale"), cues, **about)


def hit(of: Talk, first: int, last: int, window: tuple[int, int] | None = None) -> Hit:
    """The moment `first`..`last`, found in `window` (default: the whole talk)."""
    return Hit(of, first, last, 1.0, Span(*(window or (0, len(of.cues) - 1))))


def evidence(*hits: Hit, confidence: float = 0.9) -> Evidence:
    return Evidence(hits, confidence)


@dataclass
class ScriptedLLM:
    """Answers each request with the next of `replies`: texts to stream, an error to raise in between, silence as ""."""

    replies: list[list[str | LLMError | Delta]]
    name: str = "scripted"
    takes_schema: bool = True
    asked: list[tuple[tuple[Message, ...], Mapping[str, Any] | None]] = field(default_factory=list)
    closed: int = 0
    sure: float | None = None
    asked_whether: list[tuple[Message, ...]] = field(default_factory=list)
    status: LLMStatus = field(default_factory=lambda: LLMStatus("ready"))

    def stream(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Generator[Delta, None, None]:
        self.asked.append((tuple(messages), schema))
        try:
            for part in self.replies.pop(0):
                if isinstance(part, LLMError):
                    raise part
                yield part if isinstance(part, Delta) else Delta(part)
        finally:
            self.closed += 1

    def agrees(self, messages: Sequence[Message]) -> Generator[Delta, None, float | None]:
        """As sure as the script says; None asks nothing."""
        if self.sure is not None:
            self.asked_whether.append(tuple(messages))
            yield Delta()
        return self.sure

    def close(self) -> None:
        """Nothing to give back."""
