"""A user's glossary: which other spellings does the library have for a term?

A text file, one term a line: `KV cache: KB cache, K-V cash`. Empty lines and lines that start with `#` say nothing. All
spellings of a line stand for each other, without regard to letter case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rag.errors import StartError

_MAX_VARIANTS = 4
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Glossary:
    """The spellings of each term, all of one term together."""

    terms: tuple[tuple[str, ...], ...] = ()

    def variants(self, query: str) -> dict[str, str]:
        """The query with one of its terms spelled in another way, by that spelling; at most four of them."""
        found: dict[str, str] = {}
        for spellings in self.terms:
            # The longest first: "KV cache" and not "KV" within it.
            for present in sorted(spellings, key=len, reverse=True):
                if match := _whole(present).search(query):
                    others = [other for other in spellings if other != present]
                    found |= {other: query[: match.start()] + other + query[match.end() :] for other in others}
                    break
        return dict(list(found.items())[:_MAX_VARIANTS])


def load_glossary(path: Path | None) -> Glossary:
    """Read a glossary; None is an empty one. Raises `StartError` that names the file, and the line that is wrong."""
    if path is None:
        return Glossary()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise StartError(f"RAG_GLOSSARY: {path} can't be read ({reason}); correct or unset it") from None
    terms = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        term, colon, others = line.partition(":")
        spellings = tuple(dict.fromkeys(" ".join(text.split()) for text in (term, *others.split(","))))
        if not colon or len(spellings) < 2 or not all(map(_WORD.search, spellings)):
            raise StartError(
                f"{path}:{number}: found {line.strip()!r}, expected 'term: spelling, spelling'; correct it"
            )
        terms.append(spellings)
    return Glossary(tuple(terms))


def _whole(spelling: str) -> re.Pattern[str]:
    """Matches the words of a spelling, whatever stands between them."""
    words = r"[\W_]+".join(map(re.escape, _WORD.findall(spelling)))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
