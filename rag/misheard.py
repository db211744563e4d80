"""Words of a query that no talk holds -> how the captions may have misheard or split them. Pure.

Captions write "hair on" where someone said "Heron". Only words that do not occur in any talk are looked at, and only
spellings that do occur are used: the words that captions got right are searched as ever, and no quote changes.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from rag.lexical import Phrase, content_words

# Those of the phrases that occur in what is searched, in their order.
Occurring = Callable[[Sequence[Phrase]], list[Phrase]]

_MAX_PHRASES = 3
_MAX_WORDS = 4  # in another language no word occurs, and each costs milliseconds
_MIN_LETTERS, _MAX_LETTERS = 4, 12
_CONSONANTS = "bcdfghjklmnpqrstvwxz"

# Spellings that sound alike to a speech recogniser, or nearly.
_ALIKE = (
    ("c", "k", "ck", "ch", "q"), ("f", "ph", "v"), ("s", "ss", "z", "c"), ("sh", "ch", "ti"), ("j", "g", "dg"),
    ("x", "ks", "cks"), ("w", "wh"), ("b", "p", "bb", "pp"), ("t", "d", "tt", "dd"), ("m", "mm", "n"), ("l", "ll"),
    ("n", "nn", "kn"), ("r", "rr", "wr"), ("i", "y", "ee", "ea", "ie", "e"), ("a", "ai", "ay", "ei", "e"),
    ("o", "oo", "oa", "ow", "u", "ou"), ("o", "au", "aw", "a"), ("or", "oor", "our", "ore"),
    ("er", "or", "ar", "ur", "re", "a"), ("e", "ai", "a"), ("i", "igh", "ai"), ("u", "you", "ew"),
)  # fmt: skip
_SILENT_END = ("e", "h", "")
_SPOKEN = {
    "0": ("zero", "oh"), "1": ("one", "won"), "2": ("two", "to", "too"), "3": ("three",), "4": ("four", "for"),
    "5": ("five",), "6": ("six",), "7": ("seven",), "8": ("eight", "ate"), "9": ("nine",),
}  # fmt: skip


def misheard(query: str, occurring: Occurring) -> dict[str, list[Phrase]]:
    """For each word of the query that does not occur, in lower case, at most three phrases that do and sound like it.

    Any word may have been split or joined. Another single word stands in for a name only, as told by capitals and
    digits: for "team" the talks may well hold "time", which has nothing to do with it.
    """
    words = content_words(query, lower=False)
    lowered = [word.lower() for word in words]
    unknown = [word for word in dict.fromkeys(lowered) if len(word) > 1 and not occurring([(word,)])]
    found: dict[str, list[Phrase]] = {}
    for word in unknown[:_MAX_WORDS]:
        at = lowered.index(word)
        before, after = lowered[max(0, at - 1) : at], lowered[at + 1 : at + 2]
        ways = [_joined(word, before, after), _spoken(word), _initials(word, before, after), _in_two(word)]
        if _is_name(words, at, query):
            ways += [_alike(word), _one_edit(word)]
        phrases = [phrase for way in ways for phrase in occurring(list(dict.fromkeys(way)))]
        if phrases:
            found[word] = list(dict.fromkeys(phrases))[:_MAX_PHRASES]
    return found


def _is_name(words: Sequence[str], at: int, query: str) -> bool:
    """True for "MiniMax", "FP8", and for "Heron" unless it opens a longer query or all words have a capital."""
    word = words[at]
    if word[1:] != word[1:].lower() or (any(map(str.isdigit, word)) and not word.isdigit()):
        return True
    opens = len(words) > 1 and query.lstrip().startswith(word)
    return word[0].isupper() and not opens and (len(words) <= 2 or any(map(str.islower, words)))


def _joined(word: str, before: Iterable[str], after: Iterable[str]) -> Iterator[Phrase]:
    """The word and its neighbour as one: "tick well" -> "tickwell"."""
    for other in before:
        yield (other + word,)
    for other in after:
        yield (word + other,)


def _spoken(word: str) -> Iterator[Phrase]:
    """Letters and digits as they are spoken: "kv" -> "k v", "fp8" -> "fp ate"."""
    if len(word) <= _MIN_LETTERS and not word.isdigit():
        yield tuple(word)
    if parts := re.fullmatch(r"([a-z]+)(\d)", word):
        for spoken in (parts[2], *_SPOKEN[parts[2]]):
            yield (parts[1], spoken)


def _initials(word: str, before: Iterable[str], after: Iterable[str]) -> Iterator[Phrase]:
    """Other initials beside the same neighbour, since they are too short to be told alone: "kv cache" -> "kb cache"."""
    if len(word) >= _MIN_LETTERS or not set(word) <= set(_CONSONANTS):
        return
    for at in range(len(word)):
        for letter in _CONSONANTS:
            other = word[:at] + letter + word[at + 1 :]
            yield from ((neighbour, other) for neighbour in before)
            yield from ((other, neighbour) for neighbour in after)


def _alike(word: str) -> Iterator[Phrase]:
    """Words that sound like it."""
    if _MIN_LETTERS <= len(word) <= _MAX_LETTERS:
        for other in _respelled(word):
            yield (other,)


def _in_two(word: str) -> Iterator[Phrase]:
    """The word, or what sounds like it, as two words: "heron" -> "hair on"."""
    if _MIN_LETTERS < len(word) <= _MAX_LETTERS:
        for whole in (word, *_respelled(word, times=1)):
            for cut in range(2, len(whole) - 1):
                yield whole[:cut], whole[cut:]


def _respelled(word: str, times: int = 2) -> list[str]:
    """The word with up to `times` sounds spelled in another way, fewer changes first."""
    known = {word: None}
    newest = [word]
    for _ in range(times):
        newest = [other for old in newest for other in _respelled_once(old) if other not in known]
        known.update(dict.fromkeys(newest))
    return list(known)[1:]


def _respelled_once(word: str) -> Iterator[str]:
    for group in _ALIKE:
        for sound in group:
            at = word.find(sound)
            while at >= 0:
                for other in group:
                    if other != sound:
                        yield word[:at] + other + word[at + len(sound) :]
                at = word.find(sound, at + 1)
    for end in _SILENT_END:
        for other in _SILENT_END:
            if word.endswith(end) and other != end:
                yield word.removesuffix(end) + other


def _one_edit(word: str) -> Iterator[Phrase]:
    """Words that differ in one letter but the first, or in two that changed places."""
    if not _MIN_LETTERS < len(word) <= _MAX_LETTERS:
        return
    for at in range(1, len(word)):
        yield (word[:at] + word[at + 1 :],)
        for letter in string.ascii_lowercase:
            yield (word[:at] + letter + word[at + 1 :],)
    for at in range(1, len(word) + 1):
        for letter in string.ascii_lowercase:
            yield (word[:at] + letter + word[at:],)
    for at, after in pairwise(range(1, len(word))):
        yield (word[:at] + word[after] + word[at] + word[after + 1 :],)
