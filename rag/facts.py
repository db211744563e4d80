"""Numbers, units and names of a claim: which of them does a text not hold? Pure.

Words are compared as captions write them: numbers may be spelled out, names misheard ("KB cache" for "KV cache") or
split ("OS world"). Meaning is not looked at here; `rag.support` does that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from text_to_num import alpha2digit  # type: ignore[import-untyped]

_NUMBER_LANGUAGES = {"en", "de", "fr", "es", "pt", "it", "ru", "nl"}
_NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z]-)([$€£]?)(\d{1,3}(?:[,\u202f'’]\d{3})+|\d+)((?:\.\d+)?)\s?([a-zA-Z%°]*)")
_SCALES = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "millions": 1e6,
    "b": 1e9, "bn": 1e9, "billion": 1e9, "billions": 1e9, "t": 1e12, "trillion": 1e12,
}  # fmt: skip
_POWERS = (100.0, 1e3, 1e6, 1e9, 1e12)
# Units that a claim may not change; each word maps to one that stands for all its spellings.
_UNITS = {
    word: words.split()[0]
    for words in (
        "% percent per cent pct percentage", "$ dollar dollars usd bucks", "€ euro euros eur", "£ pound pounds gbp",
        "ms millisecond milliseconds", "s sec secs second seconds", "min mins minute minutes", "h hr hrs hour hours",
        "day days", "week weeks", "month months", "year years", "decade decades", "century centuries",
        "kb kilobyte kilobytes", "mb megabyte megabytes meg megs", "gb gigabyte gigabytes gig gigs",
        "tb terabyte terabytes", "byte bytes", "bit bits", "km kilometer kilometers kilometre kilometres",
        "mile miles", "kg kilogram kilograms kilo kilos",
        "degree degrees °", "watt watts w", "kw kilowatt kilowatts", "gw gigawatt gigawatts",
        "mhz megahertz", "ghz gigahertz",
        "sat sats satoshi satoshis", "btc bitcoin bitcoins",
    )
    for word in words.split()
}  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:[.'’&+-][^\W_]+)*")
_PART = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:…]\s+|[\"“(\[]\s*)$")
# Capitalised words that are no names wherever they stand.
_COMMON = frozenset("ok okay mr mrs ms dr prof".split())
_PRONOUNS = frozenset("i we you he she it they that there".split())
# Words that often begin a sentence; anything else there counts as a name when the talk never writes it small.
_STARTERS = frozenset(
    (
        "a about according after again all also although among an and another any anyone anything are as at back "
        "based be because before being besides better between both but by can concerning could currently despite "
        "did do does don't due during each earlier either else even eventually every everyone everything fewer few "
        "finally first for from further generally given had half has have having he hence her here hers high "
        "higher his how however i if in including initially instead into is it it's its just last later least less "
        "like likewise long low lower mainly many maybe might more moreover most mostly much must my neither never "
        "nevertheless new next no nobody none nor not nothing now of often on once one only or other others "
        "otherwise our out over overall part people perhaps please possibly rather recently regarding right same "
        "second several she should similarly since so some someone something sometimes soon still such take than "
        "thanks that that's the their them then there there's therefore these they they're third this those though "
        "three through thus to today too two typically under unless unlike until up upon us use users using "
        "usually very via was we we're well were what what's when whenever where whereas whether which while who "
        "whoever whole whose why will with within without would yes yet you your "
    ).split()
)
_COMMON_ENDINGS = (
    "ing",
    "tion",
    "tions",
    "sion",
    "ment",
    "ments",
    "ness",
    "ity",
    "ities",
    "ly",
    "ers",
    "ors",
    "ance",
    "ence",
)
# Soundex's classes of consonants that are easily confused, with the first letter treated like the others.
_CONFUSED = {"1": "bfpvw", "2": "cgjkqsxz", "3": "dt", "4": "l", "5": "mn", "6": "r", "": "aeiouhy"}
_SOUNDS = str.maketrans({letter: sound for sound, letters in _CONFUSED.items() for letter in letters})
_ALIKE = 0.65
_SHORT = 3
_JOINED_WORDS = 3


class Fact(NamedTuple):
    """A checkable detail of a claim, as it is written there."""

    kind: str  # "number" or "name"
    text: str


def missing_facts(
    claim: str, text: str, *, known: Iterable[str] = (), small_words: Collection[str] = (), language: str = "en"
) -> list[Fact]:
    """Numbers (with their units) and names of `claim` that `text` does not hold, in order.

    `known` are texts in which a name may stand as well (title, speakers); `small_words` are words that the talk writes
    in lower case, hence no names at the start of a sentence either.
    """
    missing: list[Fact] = []
    said, units = numbers(text, language)
    for number in _numbers_of(claim, language):
        match = next((stated for stated in said if number.meant & stated), None)
        if match is None or (number.unit and number.unit not in units):
            missing.append(Fact("number", number.raw))
        else:
            said.remove(match)  # what is said once backs one number of the claim
    spoken = _joined_words(text)
    for context in known:
        spoken |= _joined_words(context)
    missing += [Fact("name", name) for name in names(claim, small_words) if not _is_spoken(name, spoken)]
    return missing


def numbers(text: str, language: str = "en") -> tuple[list[set[float]], set[str]]:
    """For each number of a text the values that it may mean, and the units in the text. Spelled-out numbers count."""
    values = [number.possible for number in _numbers_of(text, language, threshold=0)]
    units = {_UNITS[word] for word in re.findall(r"(?<![a-z'’])[a-z]+|[%$€£°]", text.lower()) if word in _UNITS}
    return values, units


def names(text: str, small_words: Collection[str] = ()) -> list[str]:
    """Words of a text that are names: capitals inside, letters with digits, or a capital within a sentence."""
    found = []
    for match in _WORD.finditer(text):
        word = re.sub(r"['’]s$", "", match[0])
        small = word.lower().replace("’", "'")
        pronoun = small.partition("'")[0] in _PRONOUNS  # "I'll", "We're"
        if len(word) < 2 or pronoun or small in _COMMON or word[0].isdigit():
            continue
        inner = any(char.isupper() or char.isdigit() for char in word[1:])
        starts = _is_common(small, small_words) and _SENTENCE_START.search(text[: match.start()])
        if inner or (word[0].isupper() and not starts):
            found.append(word)
    return list(dict.fromkeys(found))


def _is_common(small: str, small_words: Collection[str]) -> bool:
    return small in _STARTERS or small in small_words or small.endswith(_COMMON_ENDINGS)


class _Number(NamedTuple):
    """A number of a text: how it is written, what it means, all that it might mean, and its unit ("" for none)."""

    raw: str
    meant: set[float]
    possible: set[float]
    unit: str


def _numbers_of(text: str, language: str, threshold: float = 2) -> Iterator[_Number]:
    spelled = _spelled(text, language, threshold)
    matches = list(_NUMBER.finditer(spelled))
    joined = False
    for match, follows in zip_longest(matches, matches[1:]):
        if joined:  # it was read together with the one before
            joined = False
            continue
        value, word = _value(match), match[4].lower()
        meant = {value}
        possible = {value}
        raw = match[0]
        if (
            follows
            and not spelled[match.end(3) : follows.start()].strip()
            and (one := _together(value, _value(follows)))
        ):
            meant, possible, joined = {one}, {value, _value(follows), one}, True
            raw, word = spelled[match.start() : follows.end()], follows[4].lower()
        elif word in _SCALES:
            scaled = value * _SCALES[word]
            meant, possible = ({scaled, value} if len(word) == 1 else {scaled}), {scaled, value}
        unit = _UNITS.get(match[1]) or ("" if word in _SCALES else _UNITS.get(word, ""))
        yield _Number(raw.strip(), meant, possible, unit)


def _value(match: re.Match[str]) -> float:
    return float(re.sub(r"[^\d]", "", match[2]) + match[3])


def _together(first: float, second: float) -> float | None:
    """What two numbers in a row mean as one: "1.5 billion", "nineteen ninety-five"; None when they are two."""
    if second in _POWERS:
        return first * second
    if 10 <= first <= 21 and 0 < second < 100:
        return first * 100 + second
    return None


def _spelled(text: str, language: str, threshold: float) -> str:
    digits: str = alpha2digit(text, language if language in _NUMBER_LANGUAGES else "en", threshold)
    return re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", digits)


def _joined_words(text: str) -> set[str]:
    """Words of a text, and two or three neighbours written as one, in small letters and digits only."""
    words = [compact for word in _PART.findall(text) if (compact := _compact(word))]
    joined = {
        "".join(words[start : start + length])
        for length in range(1, _JOINED_WORDS + 1)
        for start in range(len(words) - length + 1)
    }
    return joined | {_compact(word) for word in _WORD.findall(text)}


def _compact(word: str) -> str:
    return "".join(char for char in re.sub(r"['’]s\b", "", word.lower()) if char.isalnum())


def _is_spoken(name: str, spoken: Collection[str]) -> bool:
    wanted = _compact(name)
    forms = {wanted, wanted.removesuffix("s"), wanted + "s"}
    return bool(forms & set(spoken)) or any(_sounds_alike(wanted, word) for word in spoken)


def _sounds_alike(a: str, b: str) -> bool:
    """True for words that speech recognition confuses: the same consonant sounds and most of the letters."""
    if _sound(a) != _sound(b) or re.sub(r"\D", "", a) != re.sub(r"\D", "", b):
        return False
    if min(len(a), len(b)) <= _SHORT:
        # Spelled-out letters ("KV", "GLM"); a short word with a vowel is too like many others.
        spelled = not re.search(r"[aeiou]", a)
        return spelled and len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1
    return SequenceMatcher(None, a, b).ratio() >= _ALIKE


def _sound(word: str) -> str:
    return re.sub(r"(.)\1+", r"\1", re.sub(r"\d", "", word).translate(_SOUNDS))
