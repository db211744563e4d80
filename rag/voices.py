"""Does a question ask what one of the speakers says about something? Pure.

The moments nearest to "What does Ada Byron say about caches?" are those in which she is introduced: the name counts
more than the matter. So the matter is searched for, in what she says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SAYS = (
    r"(?:say|said|saying|think|tell us|told us|talk|mention|explain|recommend|suggest|advise|believe|argue|claim"
    r"|report)"
)
_VIEW = r"(?:views?|opinions?|take|thoughts?|advice|position)"
_ASKS = tuple(
    re.compile(rf"(?P<before>[^:]{{1,200}}: )?\W*{asked}[\s?.!…]*$", re.IGNORECASE)
    for asked in (
        rf"what (?:did|does|has|had|is|was|would) (?P<who>.{{2,80}}?) (?:have to )?{_SAYS}"
        r"(?: about| of| on| regarding| to say about)? (?P<topic>.+?)",
        rf"what (?:is|are|was|were) (?P<who>.{{2,80}}?)['’]s? {_VIEW} (?:on|of|about) (?P<topic>.+?)",
    )
)
_POINTING = re.compile(r"(?:it|this|that|them|these|those|so|him|her|there)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Voice:
    """Somebody who is asked about, as the library names them, and what they are asked to have spoken of."""

    speaker: str
    topic: str


def voice_in(question: str, speakers: Iterable[str]) -> Voice | None:
    """Whose words `question` asks for; None when it names no speaker, more than one, or nothing to speak of.

    A part of the name will do where it fits a single speaker.
    """
    asked = next((match for pattern in _ASKS if (match := pattern.match(question))), None)
    if asked is None or _POINTING.fullmatch(asked["topic"]):
        return None
    wanted = {word.casefold() for word in _WORD.findall(asked["who"])}
    named = {speaker for speaker in speakers if wanted <= {word.casefold() for word in _WORD.findall(speaker)}}
    exact = {speaker for speaker in named if speaker.casefold() == asked["who"].strip().casefold()} or named
    if not wanted or len(exact) != 1:
        return None
    return Voice(exact.pop(), f"{asked['before'] or ''}{asked['topic']}")
