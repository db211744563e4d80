"""Facts of the reference answer that the answer states: nugget recall.

Nuggets are those of the TREC question answering tracks (Voorhees, *Overview of the TREC 2003 Question Answering
Track*), matched without a judge as POURPRE does (Lin and Demner-Fushman, HLT 2005), by the words they share with the
answer. Here a nugget is a clause of the reference answer.
"""

from __future__ import annotations

import re

from eval.measures.words import content_words, numbers

FOUND_SHARE = 0.6
"""Share of a nugget's content words that must occur."""

_CLAUSE = re.compile(r"[;:]|[,.!?](?=\s|$)|\s(?:and|but|so that|because|which|while)\s")


def nuggets(reference: str) -> list[str]:
    """The clauses of a reference answer that hold at least one content word or number."""
    clauses = (clause.strip() for clause in _CLAUSE.split(reference))
    return [clause for clause in clauses if content_words(clause) or numbers(clause)]


def nugget_recall(reference: str, answer: str) -> float | None:
    """Share of the reference's nuggets that the answer states; None when the reference holds none.

    A nugget is stated when all its numbers and at least 60 % of its content words (stemmed) occur in the answer.
    """
    facts = nuggets(reference)
    if not facts:
        return None
    said, said_numbers = content_words(answer), numbers(answer)
    return sum(_stated(fact, said, said_numbers) for fact in facts) / len(facts)


def _stated(fact: str, said: frozenset[str], said_numbers: frozenset[str]) -> bool:
    needed = content_words(fact)
    return numbers(fact) <= said_numbers and len(needed & said) >= FOUND_SHARE * len(needed)
