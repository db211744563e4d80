"""Example questions for the start page, taken from the talks themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rag.manifest import TalkInfo
from rag.types import Talk
from rag.web.chat import spoken_by

_WANTED = 4
# Reading a talk takes a moment; a few are enough to choose from.
_TALKS_READ = 8
_LENGTH = range(30, 111)
_ASKS = re.compile(r"(what|how|why|when|which|who|where)\b", re.IGNORECASE)
# Words that only make sense in the conversation they were said in.
_POINTS_ELSEWHERE = re.compile(
    r"\b(this|that|these|those|it|its|you|your|we|our|i|my|they|them|their|he|she|here|there)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{5,}")
# A subject comes up in at least this many sentences.
_RECURS = 3


def example_questions(talks: Iterable[TalkInfo], read: Callable[[str], Talk]) -> list[str]:
    """Up to four questions that the talks can answer, of four talks where there are as many.

    A question that someone asks in a talk, and that stands by itself, is usually answered right after. Of the other
    talks the question names what they return to and the rest do not mention.
    """
    spread = sorted(talks, key=lambda talk: talk.date, reverse=True)[:_TALKS_READ]
    opened = [talk for talk in (read(info.id) for info in spread) if talk.cues]
    vocabularies = [_sentences_with(talk) for talk in opened]
    found = []
    for talk, vocabulary in zip(opened, vocabularies, strict=True):
        others = [other for other in vocabularies if other is not vocabulary]
        question = _asked_in(talk) or _about(talk, vocabulary, others)
        if question:
            found.append(question)
    return found[:_WANTED]


def _asked_in(talk: Talk) -> str:
    """The first question of `talk` that can be understood without it, "" when there is none."""
    for cue in talk.cues:
        text = cue.text.strip()
        if text.endswith("?") and len(text) in _LENGTH and _ASKS.match(text) and not _POINTS_ELSEWHERE.search(text):
            return text
    return ""


def _about(talk: Talk, vocabulary: Counter[str], others: Sequence[Counter[str]]) -> str:
    """A question for the word that recurs most in `talk` against the other talks, "" when none does."""

    def distinction(word: str) -> tuple[float, int]:
        elsewhere = sum(other[word] for other in others)
        return vocabulary[word] / (1 + elsewhere), len(word)

    subjects = [word for word, count in vocabulary.items() if count >= _RECURS]
    if not subjects:
        return ""
    subject = max(subjects, key=distinction)
    speakers = spoken_by(talk, talk.cues)
    return (
        f"What does {speakers[0]} say about “{subject}”?" if len(speakers) == 1 else f"What is said about “{subject}”?"
    )


def _sentences_with(talk: Talk) -> Counter[str]:
    """How many sentences of `talk` each longer word occurs in."""
    return Counter(word for cue in talk.cues for word in {found.lower() for found in _WORD.findall(cue.text)})
