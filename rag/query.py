"""A question as the search sees it: its vector, what its words are worth, and which other spellings count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from rag.embed import Embedder, Vectors, unit
from rag.fallback import WordArm
from rag.glossary import Glossary
from rag.lexical import ALIKE_WEIGHT, Phrase, stems
from rag.misheard import misheard


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


@dataclass(frozen=True, slots=True)
class Query:
    """A text as both arms see it in the talks that are searched.

    `alike` holds the phrases that stand in for words which no talk holds, `stand_ins` their stemmed words. `terms` are
    the stemmed words of the text, and of each of its other spellings; `rarity` weighs them all.
    """

    wording: Wording
    alike: dict[str, list[Phrase]]
    stand_ins: list[list[frozenset[str]]]
    terms: list[set[str]]
    rarity: dict[str, float]

    @property
    def vector(self) -> Vectors:
        """The vector to compare with, shape (dim,)."""
        return self.wording.vector

    @property
    def texts(self) -> list[str]:
        """The text and its other spellings."""
        return [self.wording.text, *self.wording.variants.values()]

    def coverage(self, text: str) -> float:
        """Share of the query's words that a text holds, the rare ones counting more: 0..1.

        What stands in for a word counts in part. Of several spellings the one that the text holds best counts.
        """
        held = stems(text)
        shares = [self._weight(held & terms) / (self._weight(terms) or 1.0) for terms in self.terms]
        for phrases in self.stand_ins:
            if present := [words for words in phrases if words <= held]:
                rarest = max(self.rarity[word] for words in present for word in words)
                shares[0] += ALIKE_WEIGHT * rarest / self._weight(self.terms[0])
        return max(shares)

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

    def _weight(self, terms: Collection[str]) -> float:
        return sum(self.rarity[term] for term in terms)


def seek(wording: Wording, words: WordArm, talk_ids: Collection[str] | None) -> Query:
    """The query for the talks of these ids, None for all of them."""
    alike = misheard(wording.text, words.occurring)
    stand_ins = [
        [held for phrase in phrases if (held := frozenset(stems(" ".join(phrase))))] for phrases in alike.values()
    ]
    terms = [stems(text) for text in (wording.text, *wording.variants.values())]
    rarity = words.rarity(set().union(*terms, *(held for phrases in stand_ins for held in phrases)), talk_ids)
    return Query(wording, alike, stand_ins, terms, rarity)


def _quoted(spellings: Iterable[str]) -> str:
    return ", ".join(f"“{spelling}”" for spelling in spellings)
