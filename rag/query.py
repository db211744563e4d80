"""A question as the search sees it: its vector, what its words are worth, and which other spellings count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rag.embed import Embedder, Vectors, unit
from rag.fallback import WordArm
from rag.glossary import Glossary
from rag.lexical import ALIKE_WEIGHT, Phrase, stems
from rag.misheard import misheard
from rag.types import Cue


@dataclass(frozen=True, slots=True)
class Wording:
    """A text to search for and its vector, shape (dim,); `variants` are texts with a term of the glossary in another
    spelling, by that spelling, and the vector lies amid them all."""

    text: str
    vector: Vectors
    variants: Mapping[str, str] = field(default_factory=dict)


def worded(text: str, embedder: Embedder, glossary: Glossary) -> Wording:
    """The text with its vector and its other spellings."""
    variants = glossary.variants(text)
    vector = embedder.encode_query(text)
    if variants:
        vector = unit([vector + sum(map(embedder.encode_query, variants.values()))])[0]
    return Wording(text, vector, variants)


class Coverage:
    """Share of a query's words that some cues hold together, the rare ones counting more: 0..1.

    `spellings` tells for the text, and for each of its other spellings, which share of it each stemmed word makes up;
    of several spellings the one that the cues hold best counts. `stand_ins` tells for each word of the text that no
    talk holds what the stems of a phrase in its place count.

    One is made for a query and forgotten with it: passages overlap, so it looks at each cue once and remembers.
    """

    def __init__(
        self, spellings: Sequence[Mapping[str, float]], stand_ins: Sequence[Mapping[frozenset[str], float]]
    ) -> None:
        self._spellings = spellings
        self._stand_ins = stand_ins
        self._words = frozenset[str]().union(*spellings, *(held for phrases in stand_ins for held in phrases))
        self._held: dict[str, frozenset[str]] = {}
        self._shares: dict[frozenset[str], float] = {}

    def __call__(self, cues: Iterable[Cue]) -> float:
        """The share that these cues hold."""
        held = frozenset[str]().union(*[self._of(cue.text) for cue in cues])
        if held not in self._shares:
            self._shares[held] = self._share(held)
        return self._shares[held]

    def _of(self, text: str) -> frozenset[str]:
        """Those of the query's words that a text holds."""
        if text not in self._held:
            self._held[text] = self._words & stems(text)
        return self._held[text]

    def _share(self, held: frozenset[str]) -> float:
        shares = [sum(share for word, share in spelling.items() if word in held) for spelling in self._spellings]
        for phrases in self._stand_ins:
            shares[0] += max((share for words, share in phrases.items() if words <= held), default=0.0)
        return max(shares)


@dataclass(frozen=True, slots=True)
class Query:
    """A text as both arms see it in the talks that are searched.

    `alike` holds the phrases that stand in for words which no talk holds. `coverage` tells which share of the query's
    words some cues hold together.
    """

    wording: Wording
    alike: dict[str, list[Phrase]]
    coverage: Coverage

    @property
    def vector(self) -> Vectors:
        """The vector to compare with, shape (dim,)."""
        return self.wording.vector

    @property
    def texts(self) -> list[str]:
        """The text and its other spellings."""
        return [self.wording.text, *self.wording.variants.values()]

    @property
    def notice(self) -> str:
        """Which spellings were searched besides the query's own, in one line; "" when there were none."""
        parts = [
            f"“{word}” isn't in the talks; {_quoted(map(' '.join, like))} was searched too."
            for word, like in self.alike.items()
        ]
        if self.wording.variants:
            parts.append(f"By your glossary {_quoted(self.wording.variants)} was searched too.")
        return " ".join(parts)


def seek(wording: Wording, words: WordArm, talk_ids: Collection[str] | None) -> Query:
    """The query for the talks of these ids, None for all of them."""
    alike = misheard(wording.text, words.occurring)
    phrases = [[held for phrase in some if (held := stems(" ".join(phrase)))] for some in alike.values()]
    spellings = [stems(text) for text in (wording.text, *wording.variants.values())]
    rarity = words.rarity(set().union(*spellings, *(held for some in phrases for held in some)), talk_ids)
    totals = [sum(rarity[word] for word in spelling) or 1.0 for spelling in spellings]
    shares = [
        {word: rarity[word] / total for word in spelling} for spelling, total in zip(spellings, totals, strict=True)
    ]
    stand_ins = [
        {held: ALIKE_WEIGHT * max(rarity[word] for word in held) / totals[0] for held in some} for some in phrases
    ]
    return Query(wording, alike, Coverage(shares, stand_ins))


def _quoted(spellings: Iterable[str]) -> str:
    return ", ".join(f"“{spelling}”" for spelling in spellings)
