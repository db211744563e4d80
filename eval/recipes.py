"""What users would pick instead: other ways to search a talk, each by its makers' documentation.

All use the model that ships with talkcite. A talk is handed over with a sentence a line, so that no recipe cuts inside
a sentence. What a recipe finds is held to one budget: see `budgeted`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import snowballstemmer  # type: ignore[import-untyped]

from rag.embed import Embedder, bundled_model_folder
from rag.lexical import content_words
from rag.retrieve import MAX_HIT_CUES
from rag.types import Span, Talk

DEPTH = 50  # what a recipe is asked for, before overlaps are dropped
_WINDOW_CUES, _WINDOW_STEP = 5, 2

Search = Callable[[str], Sequence[Span]]
"""A question -> stretches of the talk, positions of cues, best first; they may overlap and be of any length."""
Recipe = Callable[[Talk], Search]
"""Makes a talk ready to be searched."""


class Script(NamedTuple):
    """A talk as one text, a cue a line, and where in it each cue starts (characters)."""

    text: str
    starts: list[int]

    @classmethod
    def of(cls, talk: Talk) -> Script:
        """The script of a talk."""
        lines = [" ".join(cue.text.split()) for cue in talk.cues]
        return cls("\n".join(lines), [0, *accumulate(len(line) + 1 for line in lines[:-1])])

    def cues(self, start: int, length: int) -> Span:
        """The cues that `length` characters from `start` on touch."""
        return Span(bisect_right(self.starts, start) - 1, bisect_right(self.starts, start + max(length, 1) - 1) - 1)


def budgeted(found: Sequence[Span], count: int) -> list[Span]:
    """The first `count` stretches that do not overlap a better one, each cut to 8 cues from its first on."""
    kept: list[Span] = []
    for first, last in found:
        cut = Span(first, min(last, first + MAX_HIT_CUES - 1))
        if not any(cut.first <= other.last and other.first <= cut.last for other in kept):
            kept.append(cut)
    return kept[:count]


def windows(talk: Talk) -> list[Span]:
    """Windows of 5 cues, 2 apart, which together cover the talk."""
    firsts = range(0, max(len(talk.cues) - _WINDOW_CUES + _WINDOW_STEP, 1), _WINDOW_STEP)
    return [Span(first, min(first + _WINDOW_CUES, len(talk.cues)) - 1) for first in firsts]


def bm25(texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> Callable[[str], list[float]]:
    """Okapi BM25 (Robertson and Zaragoza 2009) over stems, without stop words: question -> score of each text."""
    stemmer = snowballstemmer.stemmer("english")
    counts = [Counter(stemmer.stemWords(content_words(text))) for text in texts]
    average = sum(count.total() for count in counts) / len(counts) or 1.0
    texts_with = Counter(term for count in counts for term in count)

    def weight(term: str, count: Counter[str]) -> float:
        rarity = float(np.log(1 + (len(counts) - texts_with[term] + 0.5) / (texts_with[term] + 0.5)))
        return rarity * count[term] * (k1 + 1) / (count[term] + k1 * (1 - b + b * count.total() / average))

    def score(question: str) -> list[float]:
        terms = set(stemmer.stemWords(content_words(question)))
        return [sum(weight(term, count) for term in terms) for count in counts]

    return score


def plain_fusion(embedder: Embedder) -> Recipe:
    """Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009) of cosine and BM25, windows of 5 cues: no library."""

    def ready(talk: Talk) -> Search:
        spans = windows(talk)
        texts = _texts(talk, spans)
        vectors, words = embedder.encode_passages(texts), bm25(texts)

        def search(question: str) -> list[Span]:
            fused: dict[int, float] = {}
            for scores in (vectors @ embedder.encode_query(question), np.array(words(question))):
                best = [int(at) for at in np.argsort(-scores, kind="stable")[:DEPTH] if scores[at] > 0]
                for rank, at in enumerate(best, start=1):
                    fused[at] = fused.get(at, 0.0) + 1 / (60 + rank)
            return [spans[at] for at in sorted(fused, key=lambda at: -fused[at])]

        return search

    return ready


def llamaindex(_: Embedder, *, link_to_window: bool = True) -> Recipe:
    """LlamaIndex's sentence windows: single sentences are compared, and three on either side are handed on with each.

    The link goes to the window's first sentence, or to the one that was found, with the three that follow.
    """
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.node_parser import SentenceWindowNodeParser
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    model = HuggingFaceEmbedding(model_name=str(bundled_model_folder()), device="cpu")
    parser = SentenceWindowNodeParser.from_defaults(window_size=3, sentence_splitter=str.splitlines)
    before = 3 if link_to_window else 0

    def ready(talk: Talk) -> Search:
        nodes = parser.get_nodes_from_documents([Document(text=Script.of(talk).text)])
        position = {node.node_id: at for at, node in enumerate(nodes)}
        retriever = VectorStoreIndex(nodes, embed_model=model).as_retriever(similarity_top_k=DEPTH)

        def search(question: str) -> list[Span]:
            found = [position[result.node.node_id] for result in retriever.retrieve(question)]
            return [Span(max(0, at - before), min(len(talk.cues) - 1, at + 3)) for at in found]

        return search

    return ready


def langchain(_: Embedder, *, ensemble: bool = False) -> Recipe:
    """LangChain's chunks of 1,000 characters, 200 of them shared, by meaning; with `ensemble` by words as well, 1 : 1.

    Its word retriever splits at spaces unless told how, so that "Cache?" is not "cache"; here it is told.
    """
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_huggingface import HuggingFaceEmbeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    model = HuggingFaceEmbeddings(model_name=str(bundled_model_folder()), model_kwargs={"device": "cpu"})
    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200, add_start_index=True)

    def ready(talk: Talk) -> Search:
        script = Script.of(talk)
        chunks = splitter.create_documents([script.text])
        retriever = InMemoryVectorStore.from_documents(chunks, model).as_retriever(search_kwargs={"k": DEPTH})
        if ensemble:
            words = BM25Retriever.from_documents(chunks, preprocess_func=content_words, k=DEPTH)
            retriever = EnsembleRetriever(retrievers=[words, retriever], weights=[0.5, 0.5])

        def search(question: str) -> list[Span]:
            found = retriever.invoke(question)
            return [script.cues(chunk.metadata["start_index"], len(chunk.page_content)) for chunk in found]

        return search

    return ready


def txtai(_: Embedder) -> Recipe:
    """txtai's hybrid index, meaning and words 1 : 1, over windows of 5 cues, since cutting is left to its user."""
    from txtai import Embeddings

    model: dict[str, object] = {}  # txtai keeps loaded models in it

    def ready(talk: Talk) -> Search:
        spans = windows(talk)
        index = Embeddings(path=str(bundled_model_folder()), hybrid=True, gpu=False, models=model)
        index.index(list(enumerate(_texts(talk, spans))))

        def search(question: str) -> list[Span]:
            return [spans[at] for at, _ in index.search(question, DEPTH)]

        return search

    return ready


def _texts(talk: Talk, spans: Sequence[Span]) -> list[str]:
    return [" ".join(cue.text for cue in talk.cues[first : last + 1]) for first, last in spans]


RECIPES: dict[str, Callable[[Embedder], Recipe]] = {
    "llamaindex-windows": llamaindex,
    "llamaindex-sentences": partial(llamaindex, link_to_window=False),
    "langchain-chunks": langchain,
    "langchain-ensemble": partial(langchain, ensemble=True),
    "txtai-hybrid": txtai,
    "plain-fusion": plain_fusion,
}
