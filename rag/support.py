"""Do these cues say that? Checks a claim against the cues it cites: supported, weak or unsupported.

Numbers, units and names of the claim must occur in the cited cues; the meaning is compared by the embedding model.
An embedding sees neither a negation nor which of two neighbouring sentences is meant: the mark is a help, no proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rag.embed import Embedder
from rag.facts import Fact, missing_facts, names
from rag.types import CueRef, Support, Talk

# Cosine of a claim and the nearest cited sentence, calibrated with MiniLM on the hand-written answers of the evaluation
# data: .40 keeps .91 of right pairs and catches .99 of those with another talk's cues, .82 with neighbouring cues.
SUPPORTED_FROM = 0.40
WEAK_FROM = 0.25
_SMALL_WORD = re.compile(r"(?<![^\W_])[^\W\d_A-Z][^\W\d_]*(?:['’][^\W\d_]+)?")


class SupportCheck:
    """Checks the claims of one answer. `question` may lend a claim the names that the talk knows as well."""

    def __init__(self, embedder: Embedder, talks: Iterable[Talk], question: str = "") -> None:
        self._embedder = embedder
        self._talks = {talk.id: talk for talk in talks}
        self._question = question
        self._small: dict[str, frozenset[str]] = {}

    def check(self, claim: str, cues: Sequence[CueRef]) -> Support:
        """How well the cited cues say the claim; "unsupported" when there are none."""
        if not cues:
            return "unsupported"
        meaning = self.meaning(claim, cues)
        missing = self.missing(claim, cues)
        if meaning < WEAK_FROM or any(fact.kind == "number" for fact in missing):
            return "unsupported"
        return "weak" if missing or meaning < SUPPORTED_FROM else "supported"

    def best(self, claim: str, cues: Sequence[CueRef]) -> CueRef | None:
        """The one of these cues that supports a claim best; None when none supports it."""
        if not cues:
            return None
        texts = [self._talks[ref.talk_id].cues[ref.position].text for ref in cues]
        vectors = self._embedder.encode_passages([claim, *texts])
        ref = cues[int((vectors[1:] @ vectors[0]).argmax())]
        return ref if self.check(claim, [ref]) == "supported" else None

    def meaning(self, claim: str, cues: Sequence[CueRef]) -> float:
        """Highest cosine, -1..1, of the claim with one of the cited sentences or with all of them together."""
        texts = [self._talks[ref.talk_id].cues[ref.position].text for ref in cues]
        whole = [" ".join(texts)] if len(texts) > 1 else []
        vectors = self._embedder.encode_passages([claim, *texts, *whole])
        return float((vectors[1:] @ vectors[0]).max())

    def missing(self, claim: str, cues: Sequence[CueRef]) -> list[Fact]:
        """Numbers and names of the claim that the cited cues do not hold."""
        talks = [self._talks[talk_id] for talk_id in dict.fromkeys(ref.talk_id for ref in cues)]
        text = " ".join(self._talks[ref.talk_id].cues[ref.position].text for ref in cues)
        small = frozenset().union(*(self._small_words(talk) for talk in talks))
        known = [part for talk in talks for part in (talk.title, *talk.speakers, talk.event)]
        known += [self._talks[ref.talk_id].cues[ref.position].speaker for ref in cues]
        asked = [name for name in names(self._question) if any(self._says(talk, name) for talk in talks)]
        language = next((talk.language[:2] for talk in talks if talk.language), "en")
        return missing_facts(claim, text, known=[*known, *asked], small_words=small, language=language)

    def _small_words(self, talk: Talk) -> frozenset[str]:
        if talk.id not in self._small:
            self._small[talk.id] = frozenset(_SMALL_WORD.findall(" ".join(cue.text for cue in talk.cues)))
        return self._small[talk.id]

    @staticmethod
    def _says(talk: Talk, name: str) -> bool:
        return any(name.lower() in cue.text.lower() for cue in talk.cues)
