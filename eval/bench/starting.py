"""How long the commands and the page take to start, each in a process of its own, and what the idle page holds."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from eval.bench.types import REPEATS, Bench, Measured, median_ratio, seconds
from rag.embed import BUNDLED_MODEL, bundled_model_folder

_START_LIMIT_S = 300.0
_ROOT = Path(__file__).parents[2]
_LOAD = "from sentence_transformers import SentenceTransformer as S; S({folder!r}, device='cpu').encode('warm up')"


def starts(bench: Bench) -> list[Measured]:
    """A cold search over importing and loading the model; a cold page over that and importing gradio; idle memory.

    Nothing is measured with another model than the bundled one: what loads it is not known here.
    """
    if bench.embedder.name != BUNDLED_MODEL:
        return []
    load = _LOAD.format(folder=str(bundled_model_folder()))
    commands = [
        (_run(bench.home, "-m", "rag", "search", "How is quality measured?"), _run(bench.home, "-c", load))
        for _ in range(REPEATS)
    ]
    ratio, detail = median_ratio(commands)
    floor = f"import the library + load the model: {statistics.median(pair[1] for pair in commands):.1f} s"
    found = [Measured("cold search / floor", ratio, "×", 1.2, floor, detail)]
    pages, memories = [], []
    for _ in range(REPEATS):
        bare = _run(bench.home, "-c", f"import gradio; {load}")
        started = time.perf_counter()
        with page(bench.home) as (_, process):
            pages.append((time.perf_counter() - started, bare))
            memories.append(resident_mb(process.pid))
    ratio, detail = median_ratio(pages)
    floor = f"the same + import gradio: {statistics.median(pair[1] for pair in pages):.1f} s"
    found.append(Measured("page ready / floor", ratio, "×", 1.3, floor, detail))
    idle = statistics.median(memories)
    found.append(Measured("idle memory of the page", idle, "MB", 900.0, "", f"median of {len(memories)}"))
    return found


def light_commands(bench: Bench) -> list[Measured]:
    """Commands that need no model: they must not wait for its library."""
    captions = str(bench.captions[0])
    found = []
    for name, arguments in {
        "python -m ingest --help": ("-m", "ingest", "--help"),
        "python -m ingest --check": ("-m", "ingest", "--check", captions),
    }.items():
        taken = statistics.median(_run(bench.scratch, *arguments) for _ in range(REPEATS))
        bare = statistics.median(_run(bench.scratch, "-c", "pass") for _ in range(REPEATS))
        found.append(Measured(name, taken, "s", 0.5, f"start Python: {bare:.2f} s", f"median of {REPEATS}"))
    return found


@contextmanager
def page(
    home: Path, settings: Mapping[str, str] | None = None, stderr: IO[str] | None = None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve the page of the library at `home`: its address and process, once it can answer questions."""
    process = subprocess.Popen(
        [sys.executable, "app.py", "--port", "0"],
        cwd=_ROOT,
        env={**_environment(home), **(settings or {})},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    assert process.stdout is not None, "it is a pipe"
    try:
        line = process.stdout.readline()
        address = next((word for word in line.split() if word.startswith("http")), "")
        assert address, f"app.py said {line!r}, expected its address"
        _wait_until_ready(address)
        yield address, process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(_START_LIMIT_S)
        process.stdout.close()


def resident_mb(pid: int) -> float:
    """Memory that a process holds at the moment, in MB."""
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(shown.stdout) / 1024


def _wait_until_ready(address: str) -> None:
    deadline = time.perf_counter() + _START_LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(f"{address}readyz", timeout=_START_LIMIT_S):
                return
        except (urllib.error.URLError, ConnectionError):
            if time.perf_counter() > deadline:
                raise
            time.sleep(0.05)


def _run(home: Path, *arguments: str) -> float:
    """Seconds until a Python program has ended."""
    command = [sys.executable, *arguments]
    return seconds(partial(subprocess.run, command, cwd=_ROOT, env=_environment(home), capture_output=True, check=True))


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "RAG_HOME": str(home), "RAG_LLM": "off", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(_ROOT)}
