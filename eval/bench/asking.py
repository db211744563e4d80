"""Search against one plain encoding and one Chroma query; our own share of the time to the first claim."""

from __future__ import annotations

import json
import re
import statistics
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any

from eval.bench.types import QUERIES, REPEATS, Bench, Measured, median_ratio, seconds
from eval.bench.yardstick import plain_encode
from rag.embed import Vectors
from rag.engine import Engine
from rag.llm import Delta, LLMStatus, Message
from rag.reader import IndexReader
from rag.types import Filters

_HITS = 10


def search(bench: Bench) -> list[Measured]:
    """Time of a whole search, over all talks and within one, over encoding its query and one query of Chroma."""
    plain = plain_encode(bench.embedder)
    encode: Callable[[str], Vectors] = (lambda text: plain([text])[0]) if plain else bench.embedder.encode_query
    reader = IndexReader(bench.home)
    settings = bench.settings.model_copy(update={"home": bench.home, "llm": "off"})
    with Engine(settings, embedder=bench.embedder) as engine, reader.generation() as generation:
        assert generation is not None, "it was ingested into"

        def floor(text: str) -> None:
            generation.vectors.nearest(encode(text), _HITS)

        scopes = {"search": Filters(), "search within a talk": Filters(talk=engine.talks()[0].id)}
        found = []
        for name, filters in scopes.items():
            for text in QUERIES:  # the first time reads talks and index from disk
                engine.search(text, _HITS, filters)
                floor(text)
            pairs = [
                (seconds(partial(engine.search, text, _HITS, filters)), seconds(partial(floor, text)))
                for text in QUERIES * REPEATS * 2
            ]
            ratio, detail = median_ratio(pairs)
            bare = 1000 * statistics.median(pair[1] for pair in pairs)
            goal = 1.3 if plain else None  # a made-up model takes no time, so that there is nothing to compare with
            shown = f"encode the query + one Chroma query: {bare:.1f} ms"
            found.append(Measured(f"{name} / floor", ratio, "×", goal, shown, detail))
    reader.close()
    return found


def first_claim(bench: Bench) -> list[Measured]:
    """Our own time, search included, until the first claim of a written answer is shown: the model takes none here."""
    settings = bench.settings.model_copy(update={"home": bench.home})
    with Engine(settings, embedder=bench.embedder, llm=AtOnce()) as engine:
        for text in QUERIES:
            _until_first_claim(engine, text)
        taken = [_until_first_claim(engine, text) for text in QUERIES * REPEATS]
        bare = statistics.median(seconds(partial(bench.embedder.encode_query, text)) for text in QUERIES * REPEATS)
    own = 1000 * statistics.median(taken)
    floor = f"encode the question: {1000 * bare:.1f} ms"
    return [Measured("first claim, without the model", own, "ms", 50.0, floor, f"median of {len(taken)}")]


class AtOnce:
    """A language model that answers at once, citing the first cue that it was shown."""

    name = "made up"
    takes_schema = True
    status = LLMStatus("ready")

    def stream(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Generator[Delta, None, None]:  # noqa: ARG002
        """One claim, in one piece."""
        cue = re.search(r"\bs\d+\b", messages[-1]["content"])
        assert cue is not None, "the prompt shows cues"
        claim = {"cues": [cue[0]], "text": "That is what was said."}
        yield Delta(json.dumps({"covered": True, "claims": [claim], "missing": ""}))

    def agrees(self, messages: Sequence[Message]) -> Generator[Delta, None, float | None]:  # noqa: ARG002
        """It is not asked how sure it is."""
        yield from ()
        return None

    def close(self) -> None:
        """Nothing to give back."""


def _until_first_claim(engine: Engine, question: str) -> float:
    started = time.perf_counter()
    for answer in engine.ask(question):
        if answer.claims:
            return time.perf_counter() - started
    return time.perf_counter() - started
