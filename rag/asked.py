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
    r"\b(?:no|none|nobody|nothing|one|two|three|both|pair|couple|few|several|some|many|most|all|half|quarter|third|dozens?|"
    r"hundreds?|thousands?|millions?|billions?|zero|single|double|twice|every|unlimited|countless|a lot|lots)\b",
    re.IGNORECASE,
)


def gives_what_was_asked(question: str, sentences: Iterable[str]) -> bool:
    """False when the question asks for a number and none of the sentences holds one, not even "several"."""
    if not _NUMBER_ASKED.search(question):
        return True
    return any(numbers(sentence)[0] or _QUANTITY.search(sentence) for sentence in sentences)
