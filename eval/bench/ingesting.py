"""Ingest against what encoding alone takes: our own, and that of the plain library."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from eval.bench.types import REPEATS, Bench, Measured, median_ratio, seconds
from eval.bench.yardstick import plain_encode
from eval.build import read_talks
from ingest.pipeline import Options, ingest
from rag import index
from rag.embed import has_native_bf16
from rag.library import embedded_texts

# Shorter than this, the fixed cost of starting an index outweighs what is measured.
ENOUGH_S = 20.0


def first_ingest(bench: Bench) -> list[Measured]:
    """Wall time of a first ingest over that of encoding the same texts and nothing else: with our model, with plain."""
    plain = plain_encode(bench.embedder)
    ingests, ours, plains = [], [], []
    texts: list[list[str]] = []
    for attempt in range(REPEATS):
        home = bench.scratch / f"ingest-{attempt}"
        ingests.append(seconds(partial(run_ingest, bench, home)))
        texts = [embedded_texts(talk) for talk in read_talks(home).values()]
        ours.append(seconds(partial(_encode, bench, texts)))
        if plain:
            plains.append(seconds(lambda: [plain(some) for some in texts]))  # noqa: B023  (run at once)
    size = f"{sum(map(len, texts))} texts of {len(texts)} talks"
    is_enough = min(ours) >= ENOUGH_S
    ratio, detail = median_ratio(list(zip(ingests, ours, strict=True)))
    floor = f"encoding: {statistics.median(ours):.2f} s"
    found = [Measured("ingest / own encoding", ratio, "×", 1.25 if is_enough else None, floor, f"{detail}; {size}")]
    if plain:
        floor = f"plain float32 encoding: {statistics.median(plains):.2f} s"
        fast = has_native_bf16()
        ratio, detail = median_ratio(list(zip(ours, plains, strict=True)))
        goal = 1 / 1.8 if fast else 1 / 1.4
        found.append(Measured("own encoding / plain", ratio, "×", goal if is_enough else None, floor, detail))
        ratio, detail = median_ratio(list(zip(ingests, plains, strict=True)))
        goal = 0.7 if fast else 0.9
        found.append(Measured("ingest / plain encoding", ratio, "×", goal if is_enough else None, floor, detail))
    return found


def ingest_again(bench: Bench) -> list[Measured]:
    """Wall time of an ingest that finds nothing new."""
    home = bench.scratch / "again"
    run_ingest(bench, home)
    taken = statistics.median(seconds(partial(run_ingest, bench, home)) for _ in range(REPEATS))
    return [Measured("ingest again, nothing new", taken, "s", 3.0, "", f"{len(bench.captions)} files")]


def run_ingest(bench: Bench, home: Path) -> None:
    """Ingest the captions into the library at `home`."""
    with index.writing(home, bench.embedder) as writer:
        ingest(bench.captions, writer, Options())


def _encode(bench: Bench, texts: Sequence[Sequence[str]]) -> None:
    for some in texts:
        bench.embedder.encode_passages(some)
