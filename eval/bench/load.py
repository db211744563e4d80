"""The load trial: clients at every door of the real app, while talks are added and the language model goes and comes.

`python -m eval load [--clients N] [--seconds N]`. The model is a stub that answers at once: what is measured is
ours.
"""

from __future__ import annotations

import http.client
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread

from eval.bench.doors import DOORS, Wrong, job_state, upload
from eval.bench.starting import page, resident_mb
from eval.bench.stub_model import stub_model
from eval.bench.types import QUERIES
from ingest.pipeline import Options, ingest
from rag import index
from rag.embed import load_embedder

# Searches are what people do most, so every second request is one.
_WEIGHTS = {name: 3 if name.startswith("search") else 1.5 for name in DOORS}
# When what happens, as shares of the whole time. Warm is the server when it has stored a talk as well: that loads code
# and models of its own, and opens a second generation of the index.
_INGEST_AT, _WARM_AT, _OUTAGE_AT, _BACK_AT = 0.1, 0.4, 0.5, 0.7
_GROWTH = 1.1  # of memory from warm to end, at most


@dataclass(slots=True)
class Kind:
    """Requests of one kind: how long each took, in seconds, and who answered."""

    seconds: list[float] = field(default_factory=list)
    answered_by: dict[str, int] = field(default_factory=dict)

    def percentile(self, share: float) -> float:
        """The time within which this share was answered, in milliseconds."""
        return 1000 * sorted(self.seconds)[min(int(share * len(self.seconds)), len(self.seconds) - 1)]


@dataclass(frozen=True, slots=True)
class Load:
    """What came of the trial.

    `memory_mb` and `files` (open ones) are at the start, warm, at most and at the end; `course_mb` is the memory at
    every tenth of the time.
    """

    clients: int
    seconds: float
    kinds: dict[str, Kind]
    errors: list[str]
    log_errors: list[str]
    during_outage: dict[str, int]
    talks: int
    memory_mb: tuple[float, float, float, float]
    files: tuple[int, int, int, int]
    course_mb: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """No error, no talk missing, and memory that does not grow."""
        _, warm, _, end = self.memory_mb
        return not self.errors and not self.log_errors and self.talks == 1 and end <= _GROWTH * warm


class _Clients:
    """Clients that ask until `stop`, each the next thing as soon as it has an answer."""

    def __init__(self, address: str, count: int, seed: int) -> None:
        self.kinds = {name: Kind() for name in DOORS}
        self.errors: list[str] = []
        self._address = address
        self._stop = Event()
        self._lock = Lock()
        self._threads = [Thread(target=self._run, args=(random.Random(seed + n),)) for n in range(count)]
        for thread in self._threads:
            thread.start()

    def answers(self) -> Counter[str]:
        """Who answered so far."""
        with self._lock:
            counts = Counter[str]()
            for name, kind in self.kinds.items():
                counts.update(kind.answered_by if name.startswith("ask") else {})
            return counts

    def stop(self) -> None:
        """Let each get its last answer."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, chance: random.Random) -> None:
        names, weights = list(_WEIGHTS), list(_WEIGHTS.values())
        while not self._stop.is_set():
            (name,) = chance.choices(names, weights)
            started = time.perf_counter()
            try:
                answered_by = DOORS[name](self._address, chance.choice(QUERIES))
            except (Wrong, OSError, http.client.HTTPException, ValueError, KeyError) as error:
                with self._lock:
                    self.errors.append(f"{name}: {error!r}")
                continue
            with self._lock:
                kind = self.kinds[name]
                kind.seconds.append(time.perf_counter() - started)
                kind.answered_by[answered_by] = kind.answered_by.get(answered_by, 0) + 1


class _Watch:
    """Memory and open files of a process, looked at twice a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.memory_mb: list[float] = []
        self.files: list[int] = []

    def look(self) -> None:
        """Note both."""
        self.memory_mb.append(resident_mb(self._pid))
        opened = Path(f"/proc/{self._pid}/fd")
        self.files.append(len(list(opened.iterdir())) if opened.is_dir() else 0)

    def until(self, moment: float) -> int:
        """Look until then; returns how often it was looked at so far."""
        while time.perf_counter() < moment:
            self.look()
            time.sleep(min(0.5, max(0.0, moment - time.perf_counter())))
        return len(self.files)


def load(captions: list[Path], clients: int, seconds: float, say: Callable[[str], None], seed: int = 7) -> Load:
    """Run the trial over a library of all `captions` but the last, which is uploaded in the middle of it."""
    with TemporaryDirectory(prefix="talkcite-load-") as scratch, stub_model() as model:
        home, log = Path(scratch) / "home", Path(scratch) / "log"
        with index.writing(home, load_embedder(), say=say) as writer:
            ingest(captions[:-1], writer, Options())
        settings = {"RAG_LLM": "stub", "RAG_LLM_BASE_URL": model.url, "RAG_LOG": "text", "OMP_NUM_THREADS": "1"}
        with log.open("w") as stderr, page(home, settings, stderr) as (address, process):
            watch = _Watch(process.pid)
            watch.look()
            say(f"{clients} clients for {seconds:g} s at {address}")
            asking = _Clients(address, clients, seed)
            started = time.perf_counter()
            watch.until(started + _INGEST_AT * seconds)
            say("a talk is uploaded")
            with _storing(address, captions[-1]) as stored:
                warm = watch.until(started + _WARM_AT * seconds)
                watch.until(started + _OUTAGE_AT * seconds)
                say("the language model goes")
                model.stop()
                before = asking.answers()
                watch.until(started + _BACK_AT * seconds)
                say("the language model is back")
                during = asking.answers() - before
                model.start()
                watch.until(started + seconds)
                asking.stop()
            taken = time.perf_counter() - started
            watch.look()
        said = log.read_text(encoding="utf-8").splitlines()
    typical = statistics.median(watch.memory_mb[max(warm - 10, 0) : warm])
    return Load(
        clients, taken, asking.kinds, asking.errors,
        [line for line in said if " INFO " not in line],
        dict(during),
        stored.count("done"),
        (watch.memory_mb[0], typical, max(watch.memory_mb), watch.memory_mb[-1]),
        (watch.files[0], watch.files[warm - 1], max(watch.files), watch.files[-1]),
        tuple(watch.memory_mb[len(watch.memory_mb) * tenth // 10] for tenth in range(10)),
    )  # fmt: skip


@contextmanager
def _storing(address: str, file: Path) -> Iterator[list[str]]:
    """Upload a file; the list gets how its job ended, before the block does."""
    ended: list[str] = []
    job_id = upload(address, file)

    def follow() -> None:
        while (state := job_state(address, job_id)) in ("waiting", "running"):
            time.sleep(0.2)
        ended.append(state)

    following = Thread(target=follow)
    following.start()
    try:
        yield ended
    finally:
        following.join()
