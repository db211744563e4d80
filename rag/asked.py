"""What kind of thing does a question ask for, and is a sentence of that kind? Pure.

A question that asks for a number is not answered by sentences without one, and none is answered by being asked again,
however near the meaning is. Embeddings and small models miss that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag.facts import numbers
from rag.lexical import stems

_NUMBER_ASKED = re.compile(
    r"\bhow (?:many|much|large|big|long|often|far|old|fast|high)\b"
    r"|\b(?:what|which) (?:(?:is|was|were|are) the )?"
    r"(?:score|price|cost|percentage|share|size|number|amount|year|height|rate|length|duration|age)\b"
    r"|\bin which year\b|\bwhat does .+ cost\b",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"\b(?:none|nobody|nothing|both|pair|couple|few|several|many|most|all|half|quarter|third|dozens?|"
    r"hundreds?|thousands?|millions?|billions?|zero|single|double|twice|every|unlimited|countless|a lot|lots|"
    r"always|never|rarely|hourly|daily|weekly|monthly|yearly|forever|overnight|instantly)\b",
    re.IGNORECASE,
)
# What tells how long, how often or when without a number.
_TIME_ASKED = re.compile(r"\bhow (?:long|often|old)\b|\b(?:length|duration|age)\b", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:an?|each|once an?|per) (?:second|minute|hour|day|night|morning|evening|week(?:end)?|month|year|decade)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b\w+(?:ties|teens)\b",
    re.IGNORECASE,
)
# Numbers that count nothing: "one" as a pronoun, steps, and the version in a name ("Qwen 2.5").
_NO_COUNT = re.compile(
    r"\b(?:(?:the|this|that|each|which|first|second|last|next|other|another|every)\s+)+ones?\b"
    r"|\bone (?:of|thing|way|reason|day)\b"
    r"|\b(?:step|phase|stage|level|day|version|chapter) (?:zero|one|two|three|\d+(?:\.\d+)*)\b"
    r"|\bsecond-?\w*\b|\bfirst\b",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\b[A-Z][\w-]*[ -]v?\d+(?:\.\d+)*\b(?: (?:and|or)(?: I think)? \d+\.\d+)?")
# "Does Ann use it?" and "Ann or Bob?" may be answered with the question's own words.
_CHOICE_ASKED = re.compile(
    r"^\W*(?:(?:and|so|but) )?(?:am|are|can|could|did|do|does|had|has|have|is|may|might|should|was|were|will|would)\b"
    r"|\bor\b",
    re.IGNORECASE,
)


def asks_for_number(question: str) -> bool:
    """True for "how many", "what score" and the like."""
    return bool(_NUMBER_ASKED.search(question))


def gives_what_was_asked(question: str, sentences: Iterable[str]) -> bool:
    """False when the question asks for a number and none of the sentences holds one, not even "several".

    "An hour" and "on Fridays" answer how long and how often.
    """
    if not asks_for_number(question):
        return True
    tells_time = _TIME_ASKED.search(question)
    return any(holds_number(sentence) or (tells_time and _TIME.search(sentence)) for sentence in sentences)


def only_repeats(question: str, sentence: str) -> bool:
    """True for a sentence that is a question itself, or that says no more than what was asked."""
    if sentence.rstrip().endswith(("?", "？")):
        return True
    words = stems(sentence)  # none in scripts without spaces
    return bool(words) and not _CHOICE_ASKED.search(question) and words <= stems(question)


def holds_number(sentence: str) -> bool:
    """True for a sentence that counts or measures something, in figures or in words."""
    counted = _NO_COUNT.sub(" ", _VERSION.sub(" ", sentence))
    return bool(numbers(counted)[0] or _QUANTITY.search(counted))
