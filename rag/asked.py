"""What kind of thing does a question ask for? Pure.

A question that asks for a number is not answered by sentences without one, however near their meaning is. Embeddings
and small models miss that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag.facts import numbers

_NUMBER_ASKED = re.compile(
    r"\bhow (?:many|much (?:money|time|memory|space))\b"
    r"|\bwhat (?:(?:is|was) the )?(?:score|price|percentage|number of)\b",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"\b(?:none|nobody|nothing|both|pair|couple|few|several|many|most|all|half|quarter|third|dozens?|"
    r"hundreds?|thousands?|millions?|billions?|zero|single|double|twice|every|unlimited|countless|a lot|lots)\b",
    re.IGNORECASE,
)
# "One" that counts nothing: a pronoun, or one of several things that the sentence goes on to name.
_PRONOUN_ONE = re.compile(
    r"\b(?:(?:the|this|that|each|which|first|second|last|next|other|another|every)\s+)+ones?\b"
    r"|\bone (?:of|thing|way|reason|day)\b",
    re.IGNORECASE,
)


def asks_for_number(question: str) -> bool:
    """True for "how many", "what score" and the like."""
    return bool(_NUMBER_ASKED.search(question))


def gives_what_was_asked(question: str, sentences: Iterable[str]) -> bool:
    """False when the question asks for a number and none of the sentences holds one, not even "several"."""
    if not asks_for_number(question):
        return True
    counted = (_PRONOUN_ONE.sub(" ", sentence) for sentence in sentences)
    return any(numbers(sentence)[0] or _QUANTITY.search(sentence) for sentence in counted)
