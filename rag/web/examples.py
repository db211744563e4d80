"""Example questions for the start page, taken from the talks themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rag.manifest import TalkInfo
from rag.types import Talk

_WANTED = 4
# Reading a talk takes a moment; the newest few are enough to choose from.
_TALKS_READ = 8
_LENGTH = range(30, 111)
_ASKS = re.compile(r"(what|how|why|when|which|who|where)\b", re.IGNORECASE)
# Words that only make sense in the conversation they were said in.
_POINTS_ELSEWHERE = re.compile(
    r"\b(this|that|these|those|it|you|your|we|our|i|they|them|he|she|here|there)\b", re.IGNORECASE
)


def example_questions(talks: Iterable[TalkInfo], read: Callable[[str], Talk]) -> list[str]:
    """Up to four questions that the talks can answer.

    A question that someone asks in a talk, and that stands by itself, is usually answered right after. Talks without
    one are asked for what they say about their subject.
    """
    found: list[str] = []
    for listed in list(talks)[:_TALKS_READ]:
        if len(found) == _WANTED:
            break
        talk = read(listed.id)
        if talk.cues:
            found.append(_asked_in(talk) or f"What are the main points of “{talk.title}”?")
    return found


def _asked_in(talk: Talk) -> str:
    """The first question of `talk` that can be understood without it, "" when there is none."""
    for cue in talk.cues:
        text = cue.text.strip()
        if text.endswith("?") and len(text) in _LENGTH and _ASKS.match(text) and not _POINTS_ELSEWHERE.search(text):
            return text
    return ""
