"""Words, numbers and names of a text, the way the answer measures compare them.

Stemming is Snowball's English stemmer (Porter 2001).
"""

from __future__ import annotations

import re

import snowballstemmer  # type: ignore[import-untyped]

_STEMMER = snowballstemmer.stemmer("english")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]['\"”’)]*\s+|\n)['\"“‘(]*$")
_UP_TO_TWENTY = (
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
)
_TENS = {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
_SPELT = {word: str(value) for value, word in enumerate(_UP_TO_TWENTY.split())} | _TENS
# "one" is a pronoun as often as a number.
_AMBIGUOUS = {"one", "zero"}
_FUNCTION_WORDS = """
    a about above after again all also am an and any are as at be because been before being but by can could did do does
    doing down during each either even every few for from get gets got had has have having he her here hers him his how
    i if in into is it its itself just like made make makes many may me might more most much must my no nor not of off
    on one only or other our out over own said say says she should so some such than that the their them then there
    these they thing things think thinks this those through to too under until up us use used using very was we were
    what when where whether which while who whom why will with would yes you your
"""
_STOPPED = frozenset(_FUNCTION_WORDS.split())


def words(text: str) -> frozenset[str]:
    """All words in small letters, without a possessive 's."""
    return frozenset(match[0].lower().replace("’", "'").removesuffix("'s") for match in _WORD.finditer(text))


def content_words(text: str) -> frozenset[str]:
    """The stems of the words that carry meaning: no function words, no numbers."""
    kept = (word for word in words(text) if word not in _STOPPED and word not in _SPELT)
    return frozenset(_STEMMER.stemWords(list(kept)))


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text without thousands separators; spelt ones up to ninety as digits ("one" left out)."""
    digits = {match[0].rstrip(",").replace(",", "") for match in _NUMBER.finditer(text)}
    spelt = {_SPELT[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _SPELT and word not in _AMBIGUOUS}
    return frozenset(digits | spelt)


def names(text: str) -> frozenset[str]:
    """Words written with a capital inside a sentence, acronyms and mixed-case words anywhere: likely names."""
    found = set()
    for match in _WORD.finditer(text):
        word = re.sub(r"['’]s?$", "", match[0].removesuffix("'s").removesuffix("’s"))
        if len(word) < 2 or word.startswith(("I'", "I’")) or word.lower() in _STOPPED:
            continue
        shouting_or_mixed = any(letter.isupper() for letter in word[1:])
        inside = word[0].isupper() and not _SENTENCE_START.search(text[: match.start()])
        if shouting_or_mixed or inside:
            found.add(word)
    return frozenset(found)
