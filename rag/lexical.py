"""Store and search words: BM25 with English stemming. The only file that knows tantivy."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache, wraps
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import ParamSpec, TypeVar

import tantivy

from rag.errors import StoreError
from rag.library import StoredTalk
from rag.vectors import Found
from rag.windows import passages

_Args = ParamSpec("_Args")
_Answer = TypeVar("_Answer")

Phrase = tuple[str, ...]  # words that follow each other

_WORD = re.compile(r"\w+")
_HEAP_BYTES = 64_000_000
_TEXTS_IN_MEMORY = 2**15  # at most 30 MB; the cues of some forty talks
_FIELDS = ["text", "head"]
ALIKE_WEIGHT = 0.5  # of what stands in for a word, against the word itself

# Words that nearly every sentence and question holds: as search terms they only add noise.
_STOP_WORDS = frozenset(
    "a about an and are as at be been but by can could did do does for from had has have he her his how i if in into is"
    " it its me my of on or our she should so some such than that the their them then there these they this those to"
    " was we were what when where which who whom whose why will with would you your".split()
)

# The same steps as tantivy's own `en_stem`, with which the texts are indexed.
_ANALYZER = (
    tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    .filter(tantivy.Filter.remove_long(40))
    .filter(tantivy.Filter.lowercase())
    .filter(tantivy.Filter.stemmer("english"))
    .build()
)


def _reading(ask: Callable[_Args, _Answer]) -> Callable[_Args, _Answer]:
    """Raise `StoreError` for whatever tantivy raises when a file of the index can't be read."""

    @wraps(ask)
    def asked(*args: _Args.args, **kwargs: _Args.kwargs) -> _Answer:
        try:
            return ask(*args, **kwargs)
        except (ValueError, OSError) as error:
            raise StoreError(f"the word index can't answer ({error}); 'python -m rag doctor --repair'") from error

    return asked


class LexicalStore:
    """Passages by words, in a folder of its own. Readers see what was committed when they opened it.

    Only a writer says `create`: a reader must never leave an empty index where a full one was expected.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("talk_id", stored=True, tokenizer_name="raw")
        schema.add_integer_field("first", stored=True)
        schema.add_integer_field("last", stored=True)
        schema.add_text_field("speaker", tokenizer_name="raw")
        schema.add_text_field("head", tokenizer_name="en_stem")
        schema.add_text_field("text", tokenizer_name="en_stem")
        if not create and not (folder / "meta.json").is_file():
            raise StoreError(f"{folder}: there is no word index; 'python -m rag doctor --repair' makes one")
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._index = tantivy.Index(schema.build(), path=str(folder))
            self._index.config_reader("manual")
        except (ValueError, OSError) as error:
            raise StoreError(f"{folder}: not a word index ({error}); 'python -m rag doctor --repair'") from error
        self._writer: tantivy.IndexWriter | None = None

    def add(self, stored: StoredTalk) -> None:
        """Add the passages of a talk that is not in the store. Call `commit` to make them visible."""
        writer = self._writing()
        talk = stored.talk
        for window in passages(talk):
            speakers = {talk.cues[at].speaker for at in window.cues} - {""}
            document = tantivy.Document()
            document.add_text("talk_id", talk.id)
            document.add_integer("first", window.first)
            document.add_integer("last", window.last)
            for speaker in sorted(speakers) if talk.tells_speakers else talk.speakers:
                document.add_text("speaker", speaker.casefold())
            document.add_text("head", " ".join((talk.title, *sorted(speakers))))
            document.add_text("text", window.text)
            writer.add_document(document)

    def delete(self, talk_id: str) -> None:
        """Remove all passages of a talk. Call `commit` to make it visible."""
        self._writing().delete_documents_by_term("talk_id", talk_id)

    def commit(self) -> None:
        """Make all changes durable and visible, and give up the writer. Raises `StoreError` when that fails."""
        try:
            if self._writer is not None:
                self._writer.commit()
                self._writer.wait_merging_threads()
                self._writer = None
            self._index.reload()
        except (ValueError, OSError) as error:
            raise StoreError(f"{self._folder}: the word index can't be written ({error}); free space") from error

    @_reading
    def best(
        self,
        query: str,
        count: int,
        *,
        talk_ids: Collection[str] | None = None,
        speaker: str = "",
        every_word: bool = False,
        alike: Mapping[str, Collection[Phrase]] = MappingProxyType({}),
    ) -> list[Found]:
        """The passages that match the words of `query` best, best first; score = BM25.

        With `every_word` only those that hold all of them, the title and the speakers' names counting too. `alike`
        holds phrases that stand in for a word of the query, at half its weight.

        `talk_ids` and `speaker` restrict the search before ranking; None and "" restrict nothing. Any text is a valid
        query: it is read as words, never as query syntax.
        """
        words = content_words(query)
        if not words or (talk_ids is not None and not talk_ids):
            return []
        schema = self._index.schema
        occur = tantivy.Occur.Must if every_word else tantivy.Occur.Should
        terms = tantivy.Query.boolean_query([(occur, self._word(word, alike.get(word, ()))) for word in words])
        must = [(tantivy.Occur.Must, terms)]
        if talk_ids is not None:
            must.append((tantivy.Occur.Must, tantivy.Query.const_score_query(self._in(talk_ids), 0.0)))
        if speaker:
            said = tantivy.Query.term_query(schema, "speaker", speaker.casefold())
            must.append((tantivy.Occur.Must, tantivy.Query.const_score_query(said, 0.0)))
        searcher = self._index.searcher()
        found = []
        for score, address in searcher.search(tantivy.Query.boolean_query(must), limit=count).hits:
            document = searcher.doc(address)
            talk_id, first, last = (document[name][0] for name in ("talk_id", "first", "last"))
            found.append(Found(talk_id, first, last, score))
        return found

    @_reading
    def rarity(self, terms: Collection[str], talk_ids: Collection[str] | None = None) -> dict[str, float]:
        """How telling each stemmed term is: BM25's inverse document frequency over the passages of the talks.

        None stands for all talks. Within a talk about caches "cache" tells little, however rare it is elsewhere.
        """
        searcher = self._index.searcher()
        if talk_ids is None:
            count = int(searcher.num_docs)
            frequency = {term: searcher.doc_freq("text", term) for term in terms}
        else:
            count = self._passages_with(self._in(talk_ids))
            frequency = {term: self._passages_with(self._phrase([term]), self._in(talk_ids)) for term in terms}
        return {term: math.log(1 + (count - df + 0.5) / (df + 0.5)) for term, df in frequency.items()}

    @_reading
    def occurring(self, phrases: Sequence[Phrase]) -> list[Phrase]:
        """Those of the phrases that any talk holds, in their order; the first of those that share their stems.

        A single word may also be a title's or a speaker's.
        """
        searcher = self._index.searcher()

        @cache
        def stem(word: str) -> str:
            """The stem of a word that occurs, else ""."""
            term = "".join(_ANALYZER.analyze(word))
            return term if term and any(searcher.doc_freq(field, term) for field in _FIELDS) else ""

        found: dict[Phrase, Phrase] = {}
        for phrase in phrases:
            terms = tuple(takewhile(bool, map(stem, phrase)))
            if len(terms) < len(phrase) or terms in found:
                continue
            if len(terms) == 1 or self._passages_with(self._phrase(terms)):
                found[terms] = phrase
        return list(found.values())

    def size(self) -> int:
        """Number of passages stored."""
        return int(self._index.searcher().num_docs)

    def close(self) -> None:
        """Give up the writer and what it has not committed; the files go with the last reference."""
        self._writer = None

    def _word(self, word: str, alike: Collection[Phrase]) -> tantivy.Query:
        """What finds a word of a query, or what stands in for it."""
        exact = self._index.parse_query(word, _FIELDS, field_boosts={"head": 0.3})
        others = [_ANALYZER.analyze(" ".join(phrase)) for phrase in alike]
        weighted = [tantivy.Query.boost_query(self._phrase(terms), ALIKE_WEIGHT) for terms in others if terms]
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in (exact, *weighted)])

    def _phrase(self, terms: Sequence[str]) -> tantivy.Query:
        if len(terms) == 1:
            return tantivy.Query.term_query(self._index.schema, "text", terms[0])
        return tantivy.Query.phrase_query(self._index.schema, "text", list(terms))

    def _in(self, talk_ids: Collection[str]) -> tantivy.Query:
        if len(talk_ids) == 1:  # a set costs several times as much
            return tantivy.Query.term_query(self._index.schema, "talk_id", next(iter(talk_ids)))
        return tantivy.Query.term_set_query(self._index.schema, "talk_id", sorted(talk_ids))

    def _passages_with(self, *queries: tantivy.Query) -> int:
        """Number of passages that meet all of the queries."""
        both = tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])
        return int(self._index.searcher().search(both, limit=1, count=True).count)  # type: ignore[attr-defined]

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            try:
                self._writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=1)
            except (ValueError, OSError) as error:
                raise StoreError(f"{self._folder}: the word index can't be written ({error}); free space") from error
        return self._writer


def content_words(text: str, *, lower: bool = True) -> list[str]:
    """The words of a text without those that nearly every sentence holds; in lower case unless it is to be kept."""
    words = [(word, word.lower()) for word in _WORD.findall(text)]
    return [low if lower else word for word, low in words if low not in _STOP_WORDS]


@lru_cache(maxsize=_TEXTS_IN_MEMORY)
def stems(text: str) -> frozenset[str]:
    """The content words of a text, cut to their English stems as in the index.

    Kept for the texts asked for last: a search looks at some hundred cues, and most of them were looked at before.
    """
    return frozenset(map(sys.intern, _ANALYZER.analyze(" ".join(content_words(text)))))
