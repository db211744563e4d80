"""Moments -> the same moments, sorted again by a model that reads question and moment together.

Off by default: it costs a run of the model for each moment. Any CrossEncoder that gives one score for a pair will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from rag.errors import StartError
from rag.types import Hit

RERANKED = 30  # moments that are sorted again


class Reranker(Protocol):
    """Tells how well texts answer a question."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A score for each text, higher is better, comparable within one call only."""
        ...


def rerank(reranker: Reranker, query: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The best 30 hits in the order in which the model puts them, then the others as they were.

    A place keeps its score, whoever takes it: what builds on the scores of hits knows the scale of the search, not
    that of every model.
    """
    best = hits[:RERANKED]
    if not best:
        return ()
    scores = reranker.scores(query, [" ".join(cue.text for cue in hit.cues) for hit in best])
    order = sorted(range(len(best)), key=lambda at: -scores[at])  # stable: equal ones stay as they were
    sorted_again = (replace(best[at], score=place.score) for at, place in zip(order, best, strict=True))
    return (*sorted_again, *hits[RERANKED:])


def load_reranker(model: str) -> Reranker | None:
    """Load a CrossEncoder by name or folder; None for "". Raises `StartError` when it can't be had or used."""
    return CrossEncoderReranker(model) if model else None


class CrossEncoderReranker:
    """A `Reranker` backed by a sentence-transformers CrossEncoder."""

    def __init__(self, model: str) -> None:
        # Imported here and not above: it costs seconds, which those without a reranker must not pay.
        from sentence_transformers import CrossEncoder

        try:
            self._model = CrossEncoder(model)
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise StartError(
                f"RAG_RERANK_MODEL: can't load {model!r} ({reason}); check the name, or unset it"
            ) from None
        if self._model.num_labels != 1:
            raise StartError(
                f"RAG_RERANK_MODEL: {model!r} gives {self._model.num_labels} scores for a pair, expected 1; "
                "choose a reranker"
            )

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The model's scores of the pairs of query and text."""
        pairs = [(query, text) for text in texts]
        return [float(score) for score in np.asarray(self._model.predict(pairs, show_progress_bar=False))]
