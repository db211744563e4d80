"""Which language a talk is in. The only file that knows py3langid."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CODE = re.compile(r"([a-z]{2,3})(?:[-_].*)?", re.IGNORECASE)
_SAMPLE = 20_000  # characters
_ENGLISH = frozenset(
    "the of and to that it you for with are this have but what they from there which would your because".split()
)
_ENGLISH_SHARE = 0.12
_FOREIGN_SHARE = 0.04
_ENOUGH_WORDS = 20


def language_of(texts: Iterable[str], declared: str) -> str:
    """ISO 639 code of the language: the declared one unless the words contradict it, else the detected one.

    Plain English is recognised by its commonest words, because loading the detector takes a second.
    """
    code = _CODE.fullmatch(declared.strip())
    sample = " ".join(texts)[:_SAMPLE].lower()
    words = re.findall(r"[^\W\d_]+", sample)
    share = sum(word in _ENGLISH for word in words) / max(1, len(words))
    if code and not (code[1].lower() == "en" and len(words) >= _ENOUGH_WORDS and share < _FOREIGN_SHARE):
        return code[1].lower()
    if share >= _ENGLISH_SHARE:
        return "en"
    if not words:
        return ""
    import py3langid  # loads for a second, and most talks never need it

    found: str = py3langid.classify(sample)[0]
    return found
