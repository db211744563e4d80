"""Follow-up + history -> a question that stands alone, by rule. Pure.

Only a question that leans on what was said before is changed: it gets the content words of the user's last question
that it lacks. The reader sees what was searched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.types import Turn

_OPENING = re.compile(
    r"^\W*(?:and|so|but|or|then|what about|how about|why|really|also|ok|okay|tell me more|more)\b", re.I
)
_LEANING = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|there|then|one|ones|other|others|"
    r"another|same|else|former|latter|above|previous|earlier|before)\b",
    re.I,
)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_SMALL = frozenset(
    (
        "a about am an and any are as at be been but by can could did do does for from had has have he her him his "
        "how i if in is it its me more my no not of on or our please say says she should so some tell than that "
        "the their them then there these they this those to us was we were what when where which who whose why "
        "will with would you your "
    ).split()
)
_SHORT = 4
_MAX_BORROWED = 12


def rewrite(question: str, history: Sequence[Turn]) -> str:
    """The question to search for: the same one unless it depends on the conversation."""
    asked = [turn.content for turn in history if turn.role == "user" and turn.content.strip()]
    if not asked or not leans_on_history(question):
        return question
    own = {word.lower() for word in _WORD.findall(question)}
    borrowed = [word for word in _WORD.findall(asked[-1]) if word.lower() not in _SMALL | own]
    if not borrowed:
        return question
    return f"{' '.join(dict.fromkeys(borrowed[:_MAX_BORROWED]))}: {question}"


def leans_on_history(question: str) -> bool:
    """True for a question that says "it", "the other one" or "and why", or has too few words to stand alone."""
    words = [word for word in _WORD.findall(question) if word.lower() not in _SMALL]
    return bool(_OPENING.search(question) or _LEANING.search(question)) or len(words) < _SHORT // 2
