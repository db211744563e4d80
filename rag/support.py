"""Do these cues say that? Checks a claim against the cues it cites: supported, weak or unsupported.

Numbers, units and names of the claim must occur in the cited cues; the meaning is compared by the embedding model.
An embedding sees neither a negation nor which of two neighbouring sentences is meant: the mark is a help, no proof.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from rag.embed import Embedder, Vectors
from rag.facts import Fact, missing_facts, names
from rag.lexical import stems
from rag.types import CueRef, Support, Talk

# Cosine of a claim and the nearest cited sentence, calibrated with MiniLM on the hand-written answers of the evaluation
# data: .40 keeps .91 of right pairs and catches .99 of those with another talk's cues, .82 with neighbouring cues.
SUPPORTED_FROM = 0.40
WEAK_FROM = 0.25
# Which cues a claim rests on, as a share of the best one's score: small models cite beside the mark, so theirs need
# less than others, but not nothing. Measured in docs/experiments.md.
_KEEP_CITED, _ADD_OTHERS = 0.5, 0.85
_WORD_WEIGHT = 0.5  # of the share of the claim's words in a cue, against the cosine
_MAX_CARRIERS = 4
_SMALL_WORD = re.compile(r"(?<![^\W_])[^\W\d_A-Z][^\W\d_]*(?:['’][^\W\d_]+)?")


# The vector of the cue at a position of a talk, shape (dim,), where there is one already.
StoredVector = Callable[[Talk, int], Vectors | None]


def nothing_stored(*_: object) -> None:
    """The `StoredVector` of talks that are in no library."""


class SupportCheck:
    """Checks the claims of one answer. `question` may lend a claim the names that the talk knows as well.

    `stored` gives the vectors of cues that need not be made again.
    """

    def __init__(
        self, embedder: Embedder, talks: Iterable[Talk], question: str = "", stored: StoredVector = nothing_stored
    ) -> None:
        self._embedder = embedder
        self._stored = stored
        self._talks = {talk.id: talk for talk in talks}
        self._question = question
        self._small: dict[str, frozenset[str]] = {}
        self._vectors: dict[CueRef | str, Vectors] = {}

    def check(self, claim: str, cues: Sequence[CueRef]) -> Support:
        """How well the cited cues say the claim; "unsupported" when there are none."""
        if not cues:
            return "unsupported"
        meaning = self.meaning(claim, cues)
        missing = self.missing(claim, cues)
        if meaning < WEAK_FROM or any(fact.kind == "number" for fact in missing):
            return "unsupported"
        return "weak" if missing or meaning < SUPPORTED_FROM else "supported"

    def carriers(self, claim: str, cited: Sequence[CueRef], shown: Sequence[CueRef]) -> list[CueRef]:
        """The cues that carry a claim, at most four, the cited ones first.

        These are the cited ones that come near to the best of all `shown` cues, and others that are about as good as
        that one, by meaning and words. Where no cue is near the claim's meaning, all that were cited stay.
        """
        own, vectors = self._encode(claim, shown)
        cosines = vectors @ own
        if cosines.max() < SUPPORTED_FROM:
            return list(cited)
        words = stems(claim)
        scores = {
            ref: float(cosine) + _WORD_WEIGHT * len(words & stems(self._text(ref))) / (len(words) or 1)
            for ref, cosine in zip(shown, cosines, strict=True)
        }
        best = max(scores.values())
        near = [ref for ref in shown if scores[ref] >= (_KEEP_CITED if ref in cited else _ADD_OTHERS) * best]
        chosen = sorted(near, key=lambda ref: -scores[ref])[:_MAX_CARRIERS]
        return [ref for ref in dict.fromkeys([*cited, *shown]) if ref in chosen]

    def best(self, claim: str, cues: Sequence[CueRef]) -> CueRef | None:
        """The one of these cues that supports a claim best; None when none supports it."""
        if not cues:
            return None
        own, vectors = self._encode(claim, cues)
        ref = cues[int((vectors @ own).argmax())]
        return ref if self.check(claim, [ref]) == "supported" else None

    def meaning(self, claim: str, cues: Sequence[CueRef]) -> float:
        """Highest cosine, -1..1, of the claim with one of the cited sentences or with all of them together."""
        own, vectors = self._encode(claim, cues)
        nearest = float((vectors @ own).max())
        if len(cues) == 1:
            return nearest
        together = self._embedder.encode_passages([" ".join(map(self._text, cues))])[0]
        return max(nearest, float(together @ own))

    def missing(self, claim: str, cues: Sequence[CueRef]) -> list[Fact]:
        """Numbers and names of the claim that the cited cues do not hold."""
        talks = [self._talks[talk_id] for talk_id in dict.fromkeys(ref.talk_id for ref in cues)]
        text = " ".join(map(self._text, cues))
        small = frozenset().union(*(self._small_words(talk) for talk in talks))
        known = [part for talk in talks for part in (talk.title, *talk.speakers, talk.event)]
        known += [self._talks[ref.talk_id].cues[ref.position].speaker for ref in cues]
        asked = [name for name in names(self._question) if any(self._says(talk, name) for talk in talks)]
        language = next((talk.language[:2] for talk in talks if talk.language), "en")
        return missing_facts(claim, text, known=[*known, *asked], small_words=small, language=language)

    def _encode(self, claim: str, cues: Sequence[CueRef]) -> tuple[Vectors, Vectors]:
        """The vectors of a claim, shape (dim,), and of cues, shape (cues, dim); each is made once."""
        unseen = [ref for ref in dict.fromkeys(cues) if ref not in self._vectors]
        for ref in unseen:
            if (vector := self._stored(self._talks[ref.talk_id], ref.position)) is not None:
                self._vectors[ref] = vector
        new: list[CueRef | str] = [ref for ref in unseen if ref not in self._vectors]
        if claim not in self._vectors:
            new.append(claim)
        if new:
            texts = [one if isinstance(one, str) else self._text(one) for one in new]
            self._vectors.update(zip(new, self._embedder.encode_passages(texts), strict=True))
        return self._vectors[claim], np.stack([self._vectors[ref] for ref in cues])

    def _text(self, ref: CueRef) -> str:
        return self._talks[ref.talk_id].cues[ref.position].text

    def _small_words(self, talk: Talk) -> frozenset[str]:
        if talk.id not in self._small:
            self._small[talk.id] = frozenset(_SMALL_WORD.findall(" ".join(cue.text for cue in talk.cues)))
        return self._small[talk.id]

    @staticmethod
    def _says(talk: Talk, name: str) -> bool:
        return any(name.lower() in cue.text.lower() for cue in talk.cues)
