"""Everything put together: what the commands, the page, the API and the evaluation call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import TypeVar

from rag.answer import ask
from rag.broad import Mentions, broad
from rag.embed import Embedder, canonical_name, load_embedder
from rag.errors import StoreError, TalkciteError, UsageError, unknown_talk
from rag.files import check_home
from rag.glossary import load_glossary
from rag.library import Library
from rag.llm import LLM
from rag.llms import load_llm, prompt_tokens
from rag.manifest import TalkInfo
from rag.overview import overview
from rag.query import Wording, seek, worded
from rag.reader import Generation, IndexReader, published_talks
from rag.rerank import RERANKED, Reranker, load_reranker, rerank
from rag.retrieve import apart, arms, retrieve
from rag.server import server_of
from rag.settings import Settings
from rag.types import Answer, Evidence, Filters, Hit, Talk, Turn
from rag.voices import voice_in

_Found = TypeVar("_Found")


class Engine:
    """One library, opened for asking. Safe to use from many threads; `close` it when done.

    `embedder` and `llm` replace those that the settings name. Raises `StoreError` when the home can't be a folder,
    `StartError` when the glossary can't be read.
    """

    def __init__(self, settings: Settings, embedder: Embedder | None = None, llm: LLM | None = None) -> None:
        check_home(settings.home)
        self.settings = settings
        self._glossary = load_glossary(settings.glossary)
        self._reader = IndexReader(settings.home, server_of(settings))
        self._library = Library(settings.home)
        self.llm = llm or load_llm(settings)
        # Loading a model takes seconds: the index opens meanwhile, and nobody who closes early waits for it.
        self._embedder: Future[Embedder] = Future()
        self._reranker: Future[Reranker | None] = Future()
        Thread(target=self._load, args=(embedder,), name="load-model", daemon=True).start()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def embedder(self) -> Embedder:
        """The model that made the index's vectors. Raises `StartError` when it can't be loaded."""
        return self._embedder.result()

    def talks(self) -> list[TalkInfo]:
        """What can be searched, without the cues, sorted by title."""
        return published_talks(self.settings.home)

    def talk(self, talk_id: str) -> Talk:
        """A talk with its cues. Raises `UsageError` when there is none of that id."""
        with self._reader.generation() as generation:
            if generation is not None and talk_id in generation.manifest.talks:
                return generation.talk(talk_id)[0].talk
        return self._library.get(talk_id)

    def search(self, query: str, k: int | None = None, filters: Filters = Filters()) -> list[Hit]:  # noqa: B008
        """The `k` best moments (default `RAG_TOP_K`), best first.

        Raises `UsageError` for a filter that fits no talk, `StoreError` when there are no talks at all.
        """
        return list(self.evidence(query, k, filters).hits)

    def evidence(self, query: str, k: int | None = None, filters: Filters = Filters()) -> Evidence:  # noqa: B008
        """Like `search`, with how likely the moments answer and what could not be used to find them."""
        with self._searching(filters) as generation:
            return self._evidence(generation, filters, query, k)

    def arms(self, query: str, k: int, filters: Filters = Filters()) -> dict[str, list[Hit]]:  # noqa: B008
        """What each search arm finds alone, before fusion and narrowing: for measuring. Raises like `search`."""
        with self._searching(filters) as generation:
            asked = seek(self._worded(query), generation.words, generation.select(filters))
            found = arms(generation, asked, filters)
            return {name: apart(generation, passages, k) for name, passages in found.items()}

    def ask(
        self,
        question: str,
        filters: Filters = Filters(),  # noqa: B008
        history: Sequence[Turn] = (),
    ) -> Generator[Answer]:
        """Growing snapshots of the answer; the last has `done` set. Raises like `search`.

        Closing the generator ends the language model's request.
        """
        with self._searching(filters) as generation:
            chosen = generation.select(filters)
            yield from ask(
                question,
                retrieve=partial(self._answering, generation, filters),
                llm=self.llm,
                embedder=self.embedder,
                history=history,
                talks_searched=len(generation.manifest.talks if chosen is None else chosen),
                budget=prompt_tokens(self.settings, self.llm),
                stored=generation.sentence_vector,
            )

    def unready(self) -> str:
        """Why no question can be answered at this moment, in one line; "" when one was searched for just now."""
        if not self._embedder.done():
            return "the embedding model is still being loaded"
        try:
            self.evidence("ready", k=1)
        except TalkciteError as error:
            return str(error)
        return ""

    def use(self, llm: LLM | None) -> None:
        """Let another model write the answers from the next question on; None: answers are quotes.

        The model before is closed: an answer that it is writing ends as quotes.
        """
        before, self.llm = self.llm, llm
        if before is not None:
            before.close()

    def close(self) -> None:
        """Give back files, memory and connections."""
        self._reader.close()
        if self.llm is not None:
            self.llm.close()

    def _load(self, embedder: Embedder | None) -> None:
        def load_into(future: Future[_Found], load: Callable[[], _Found]) -> None:
            try:
                future.set_result(load())
            except Exception as error:  # whoever asks for the model gets it, whatever it is
                future.set_exception(error)

        # The reranker first: loading the bundled embedder shuts the hub for this process.
        load_into(self._reranker, lambda: load_reranker(self.settings.rerank_model))
        load_into(self._embedder, lambda: embedder or load_embedder(self._model()))

    def _model(self) -> str:
        """The model to ask with: the one that made the index, until the library is embedded again with another."""
        with self._reader.generation() as generation:
            return generation.manifest.model if generation else canonical_name(self.settings.embed_model)

    def _evidence(
        self,
        generation: Generation,
        filters: Filters,
        query: str,
        k: int | None = None,
        *,
        is_to_answer: bool = False,
    ) -> Evidence:
        wording = self._worded(query)
        k = k or self.settings.top_k
        reranker = self._reranker.result()
        depth = max(k, RERANKED) if reranker else k

        def find(held: Generation) -> Evidence:
            return retrieve(held, wording, depth, filters, is_to_answer=is_to_answer)

        evidence = self._current(generation, filters, find)
        return replace(evidence, hits=rerank(reranker, query, evidence.hits)[:k]) if reranker else evidence

    def _answering(self, generation: Generation, filters: Filters, query: str) -> Evidence:
        """What answers a question: moments of whole talks for a broad one, else those nearest to it."""
        if asked := broad(query):
            found = self._current(generation, filters, lambda held: overview(held, asked, self._worded, filters))
            if found:
                return found
            query = asked.topic if isinstance(asked, Mentions) else query
        by_somebody = self._said_by_whom_is_asked(generation, filters, query)
        return by_somebody or self._evidence(generation, filters, query, is_to_answer=True)

    def _said_by_whom_is_asked(self, generation: Generation, filters: Filters, query: str) -> Evidence | None:
        """What somebody says whom the question names; None when it names nobody, or the captions tell no speakers."""
        chosen = generation.select(filters)
        talks = (info for info in generation.manifest.talks.values() if chosen is None or info.id in chosen)
        voice = None if filters.speaker else voice_in(query, (name for info in talks for name in info.speakers))
        if voice is None:
            return None
        heard = self._evidence(generation, replace(filters, speaker=voice.speaker), voice.topic, is_to_answer=True)
        if not heard.hits or not all(hit.talk.tells_speakers for hit in heard.hits):
            return None
        return replace(heard, notice=f"{heard.notice} Searched only what {voice.speaker} says.".strip())

    def _worded(self, text: str) -> Wording:
        return worded(text, self.embedder, self._glossary)

    def _current(self, generation: Generation, filters: Filters, find: Callable[[Generation], _Found]) -> _Found:
        try:
            return find(generation)
        except StoreError:  # a process that slept for long may hold a generation whose talks are gone
            with self._reader.successor(generation) as newer:
                if newer is None or (filters and not newer.select(filters)):
                    raise
                return find(newer)

    @contextmanager
    def _searching(self, filters: Filters) -> Iterator[Generation]:
        with self._reader.generation() as generation:
            if generation is None or not generation.manifest.talks:
                raise StoreError(f"{self.settings.home}: no talks yet; add some with 'python -m ingest PATH'")
            if filters and not generation.select(filters):
                raise _no_talk(generation, filters)
            yield generation


def _no_talk(generation: Generation, filters: Filters) -> UsageError:
    """Which filter leaves nothing."""
    if filters.talk and filters.talk not in generation.manifest.talks:
        return unknown_talk(filters.talk)
    named = ", ".join(
        f"{name} {value!r}" for name, value in (
            ("talk", filters.talk), ("speaker", filters.speaker), ("event", filters.event), ("year", filters.year)
        ) if value
    )  # fmt: skip
    return UsageError(f"no talk matches {named}; 'python -m rag talks' lists what there is")
