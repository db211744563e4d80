"""Follow-up + history -> a question that stands alone, by rule. Pure.

Only a question that leans on what was said before is changed: it gets the content words of the user's last question
that it lacks. The reader sees what was searched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.types import Turn

_OPENING = re.compile(r"^\W*(?:and|so|but|or|then|what about|how about|really|also|ok|okay|tell me more|more)\b", re.I)
_LEANING = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|there|then|one|ones|other|others|"
    r"another|same|else|former|latter|above|previous|earlier|before|such)\b",
    re.I,
)
# The same words where they point at nothing that was said before.
_HARMLESS = re.compile(
    r"""
    \b(?:is|are|was|were)\s+there\b(?!\W*$)
    | \bthere\b(?=\s+(?:is|are|was|were|be|might|may|will|would|could|should|has|have)\b)
    | \bit\b(?=\s+(?:takes?|took)\b.*\bto\b) | \bit\b(?=\s+(?:important|possible|necessary|true|better|worth|clear)\b)
    | \b(?<!the\s)(?<!this\s)(?<!that\s)(?<!which\s)one\b(?!\W*$) | \bone\b(?=\s+of\b)  # a number
    | \b(?<!the\s)(?:others?|another)\b(?!\W*$)
    | \b(?:before|above)\b(?!\W*$) | (?:(?<=\band\s)|(?<=,\s))then\b
    | \b(?:same|earlier)\b(?=[\s-]+(?!as\b|for\b|in\b|with\b|when\b|you\b|and\b)\w)
    | \bsuch\b(?=\s+as\b)
    | \bthose\b(?=\s+(?:who|that|which|of|in|on|not|with)\b)
    """,
    re.I | re.X,
)
# "that" behind such a word begins a clause ("the proof that caches help", "who says that …"), unless no clause can
# begin there ("who measured that in Berlin?").
_CLAUSE = re.compile(
    r"\b(?P<word>[^\W_]+)\s+that\b(?=\s+(?!in\b|on\b|at\b|for\b|with\b|from\b|by\b|when\b|if\b|and\b)\w)", re.I
)
_SAYS = frozenset(("say", "says", "tell"))
_WHO_IS = re.compile(r"^\W*(?:[Ww]hat|[Ww]ho) (?:is|are|was|were) [A-Z]")
# Who or what a pronoun can stand for within the question: a name, or a noun with an article or number.
_NOUN = re.compile(r"(?<=\s)(?:(?:the|an?|each|every|all|some|two|three|both|\d+)\s+[^\W_]+|[A-Z][^\W_]+)")
_POSSESSIVE = re.compile(r"\b(?:its|their|his|her)\b", re.I)
_PERSONAL = re.compile(r"\b(?:it|they|them|he|him|she|her|theirs|hers|ones)\b", re.I)
_NEW_CLAUSE = re.compile(
    r"[,:]|\b(?:when|while|if|because|after|before|until|once|since|that|which|who|whether|how|what|why|as|and|but|so)\b",
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
# Words of its own that a question needs to stand alone although it says "it"; with no more than one it never does.
_STANDS_ALONE = 3
_SAYS_NOTHING = 1
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
    """True for a question that says "it", "the other one" or "and why", or has too few words to stand alone.

    A question with enough words of its own may say "it" of something that it names itself.
    """
    words = [word for word in _WORD.findall(question) if word.lower() not in _SMALL]
    if _OPENING.search(question) or (len(words) <= _SAYS_NOTHING and not _WHO_IS.search(question)):
        return True
    if len(words) < _STANDS_ALONE:
        return bool(_LEANING.search(question))
    text = _HARMLESS.sub(" ", question)
    text = _CLAUSE.sub(lambda match: match[0] if match["word"].lower() in _SMALL - _SAYS else match["word"], text)
    return any(not _is_bound(text, match) for match in _LEANING.finditer(text))


def _is_bound(text: str, leaning: re.Match[str]) -> bool:
    """True for a pronoun that stands for something earlier in the question.

    A possessive may do so anywhere behind it ("Ada's view of her team"), others only in a clause of their own: "What
    did the assistant make up for them?" asks about somebody else.
    """
    noun = _NOUN.search(text, 0, leaning.start())
    if noun is None:
        return False
    if _POSSESSIVE.fullmatch(leaning[0]):
        return True
    return bool(_PERSONAL.fullmatch(leaning[0]) and _NEW_CLAUSE.search(text, noun.end(), leaning.start()))
