"""Run the benchmarks, one after the other. What is compared runs alternately: a busy machine slows both sides alike."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from eval.bench.asking import first_claim, search
from eval.bench.clients import twenty_clients
from eval.bench.ingesting import first_ingest, ingest_again
from eval.bench.starting import light_commands, starts
from eval.bench.types import Bench, Benchmark, Measured
from eval.build import LOCK_WAIT_S, library_of
from eval.dataset import caption_files
from ingest.pipeline import Options, ingest
from rag import index
from rag.embed import Embedder
from rag.errors import UsageError
from rag.settings import Settings


def peak_memory(_: Bench) -> list[Measured]:
    """The most memory this process ever held, over all benchmarks before."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    megabytes = peak / (1024 * 1024 if sys.platform == "darwin" else 1024)  # bytes there, kilobytes elsewhere
    return [Measured("peak memory", megabytes, "MB", None, "", "of the whole process, model included")]


BENCHMARKS: Mapping[str, Sequence[Benchmark]] = {
    "ingest": (first_ingest, ingest_again),
    "search": (search,),
    "answer": (first_claim,),
    "start": (light_commands, starts),
    "clients": (twenty_clients,),
    "memory": (peak_memory,),
}


def run(
    folders: Sequence[Path],
    embedder: Embedder,
    settings: Settings,
    say: Callable[[str], None],
    cache: Path,
    subjects: Sequence[str] = tuple(BENCHMARKS),
) -> list[Measured]:
    """Run the benchmarks of these subjects on the captions of the data folders, whose library is kept in `cache`.

    Raises `UsageError` for a subject that there is not.
    """
    if unknown := set(subjects) - set(BENCHMARKS):
        raise UsageError(f"--only {','.join(sorted(unknown))}: expected some of {','.join(BENCHMARKS)}")
    captions = tuple(path for folder in folders for path in caption_files(folder))
    embedder.encode_passages(["warm up"])  # the first call allocates and compiles
    home = library_of(captions, "bench", embedder, cache)
    say(f"library in {home} …")
    with index.writing(home, embedder, wait_s=LOCK_WAIT_S, say=say) as writer:
        ingest(captions, writer, Options())
    results = []
    with TemporaryDirectory(prefix="talkcite-bench-") as scratch:
        for subject in subjects:
            for benchmark in BENCHMARKS[subject]:
                say(f"{benchmark.__name__} …")
                own = Path(scratch) / benchmark.__name__
                own.mkdir()
                results += benchmark(Bench(captions, home, embedder, settings, own))
    return results
