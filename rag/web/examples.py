"""Example questions for the start page, taken from the talks themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rag.manifest import TalkInfo
from rag.types import Talk
from rag.web.chat import spoken_by

_WANTED = 4
# Reading a talk takes a moment; a few are enough to choose from.
_TALKS_READ = 8
_LENGTH = range(30, 111)
_LONGEST_TITLE = 80
_ASKS = re.compile(r"(what|how|why|when|which|who|where)\b", re.IGNORECASE)
# Words that only make sense in the conversation they were said in.
_POINTS_ELSEWHERE = re.compile(
    r"\b(this|that|these|those|it|its|you|your|we|our|i|my|they|them|their|he|she|here|there)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_PART = re.compile(r"[^\w\s'’-]+")
_ARTICLES = frozenset("a an the our my your its his her".split())
# Words that are no subject, however often they are said.
_COMMON = frozenset(
    (
        "about actually after again all almost already also always and another anyone anything are around back "
        "basically because been before being better between bit both but called came can cannot come could course "
        "day days did different doing done down each easy else enough even ever every everyone everything exactly "
        "example fact few first for found four from get gets getting give given goes going gonna good great guess "
        "guys half happen happens has have having here how hundred idea interesting into its just keep kind kinda "
        "know last less let like little long look looking lot lots made make makes making many maybe mean means "
        "might million more most much must need never new next nobody not nothing now number okay one only other "
        "our out over own part people per percent perhaps place point pretty probably problem put question quite "
        "really right said same say saying says second see seen sense should side since single six small some "
        "somebody someone something sometimes soon start started still stuff such super sure take takes talk "
        "talking tell ten than thank thanks that the their them then there these they thing things think thinking "
        "this those thought thousand three through time times today together told too took try trying turn turned "
        "two uh um under until use used using usually very wanna want wanted was way ways week well went were what "
        "when where whether which while who whole whom whose why will with within without word words work working "
        "works would yeah year years yes you your yourself"
    ).split()
)
_SHORTEST = 5  # letters of a word that is a subject by itself
_RECURS = 3  # a subject comes up in at least so many sentences


def example_questions(talks: Iterable[TalkInfo], read: Callable[[str], Talk]) -> list[str]:
    """Up to four questions that the talks can answer, of four talks where there are as many.

    A question that someone asks in a talk, and that stands by itself, is usually answered right after. Of the other
    talks the question names what they return to and the rest do not mention, and who says most about it. The last asks
    for a whole talk.
    """
    spread = sorted(talks, key=lambda talk: talk.date, reverse=True)[:_TALKS_READ]
    opened = [talk for talk in (read(info.id) for info in spread) if talk.cues]
    vocabularies = [_vocabulary(talk) for talk in opened]
    found = []
    for talk, vocabulary in zip(opened, vocabularies, strict=True):
        others = [other for other in vocabularies if other is not vocabulary]
        question = _asked_in(talk) or _about(talk, vocabulary, others)
        if question:
            found.append(question)
    return found[: _WANTED - 1] + [question for talk in opened if (question := _overview_of(talk))][:1]


def _asked_in(talk: Talk) -> str:
    """The first question of `talk` that can be understood without it, "" when there is none."""
    for cue in talk.cues:
        text = cue.text.strip()
        if text.endswith("?") and len(text) in _LENGTH and _ASKS.match(text) and not _POINTS_ELSEWHERE.search(text):
            return text
    return ""


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """A talk's words and pairs of words: in how many sentences, how they are written, how often with an article."""

    sentences: Counter[str] = field(default_factory=Counter)
    written: dict[str, Counter[str]] = field(default_factory=dict)
    with_article: Counter[str] = field(default_factory=Counter)


def _about(talk: Talk, vocabulary: _Vocabulary, others: Sequence[_Vocabulary]) -> str:
    """A question for what recurs most in `talk` against the other talks, "" when nothing does."""

    def distinction(subject: str) -> tuple[bool, float, int]:
        elsewhere = sum(other.sentences[subject] for other in others)
        return " " in subject, vocabulary.sentences[subject] / (1 + elsewhere), len(subject)

    subjects = [subject for subject, count in vocabulary.sentences.items() if count >= _RECURS]
    if not subjects:
        return ""
    subject = max(subjects, key=distinction)
    takes_article = vocabulary.with_article[subject] * 2 > vocabulary.sentences[subject]
    if not takes_article and vocabulary.sentences[f"{subject}s"]:
        subject = f"{subject}s"
    named = vocabulary.written[subject].most_common(1)[0][0]
    named = f"the {named}" if takes_article else named
    voices = Counter(speaker for cue in talk.cues if subject in cue.text.lower() for speaker in spoken_by(talk, [cue]))
    return (
        f"What does {max(voices, key=voices.__getitem__)} say about {named}?"
        if voices
        else f"What is said about {named}?"
    )


def _overview_of(talk: Talk) -> str:
    """A question for the whole talk, by the main part of its title; "" for a title that no one would type."""
    title = re.split(r":|\s[-–—]\s", talk.title)[0].strip()
    return f"What are the main points of {title}?" if 0 < len(title) <= _LONGEST_TITLE and "?" not in title else ""


def _vocabulary(talk: Talk) -> _Vocabulary:
    found = _Vocabulary()
    for cue in talk.cues:
        seen = set()
        for part in _PART.split(cue.text):
            words = _WORD.findall(part)
            for place, word in enumerate(words):
                pair = f"{word} {words[place + 1]}" if place + 1 < len(words) else ""
                for subject in filter(_is_subject, (word, pair)):
                    key = subject.lower()
                    # At the beginning of a sentence a capital tells nothing.
                    found.written.setdefault(key, Counter())[subject] += 1 if place else 0
                    if key not in seen and place and words[place - 1].lower() in _ARTICLES:
                        found.with_article[key] += 1
                    seen.add(key)
        found.sentences.update(seen)
    return found


def _is_subject(text: str) -> bool:
    words = text.lower().split()
    if not words or any(word in _COMMON or "'" in word or "’" in word or len(word) < 3 for word in words):
        return False
    return len(words) > 1 or len(text) >= _SHORTEST
