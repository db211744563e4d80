"""Twenty clients at once on the page's API: does the server use what the processors have?"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from eval.bench.starting import page
from eval.bench.types import QUERIES, Bench, Measured
from rag.embed import BUNDLED_MODEL

CLIENTS = 20
_ALONE, _TOGETHER = 40, 400


def twenty_clients(bench: Bench) -> list[Measured]:
    """Requests served for 20 clients at once, as a share of what the processors could: their time over that of one.

    The CPU time of the clients, who are in this process, is taken off. Only where `/proc` tells a process's CPU time.
    """
    if bench.embedder.name != BUNDLED_MODEL or not os.path.exists("/proc/self/stat"):  # noqa: PTH110
        return []
    cores = len(os.sched_getaffinity(0))
    with page(bench.home) as (address, process):
        _ask(address, _ALONE)
        before = _cpu_s(process.pid)
        _ask(address, _ALONE)
        one = (_cpu_s(process.pid) - before) / _ALONE
        started, own = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda _: _ask(address, _TOGETHER // CLIENTS), range(CLIENTS)))
        available = cores * (time.perf_counter() - started) - (time.process_time() - own)
    share = _TOGETHER * one / available
    floor = f"{cores} cores, {1000 * one:.1f} ms of CPU time a request"
    detail = f"{_TOGETHER} searches of {CLIENTS} clients, {_TOGETHER / available * cores:.0f} a second"
    return [Measured("20 clients: throughput / possible", share, "×", 0.9, floor, detail, at_least=True)]


def _ask(address: str, count: int) -> None:
    for number in range(count):
        content = json.dumps({"query": QUERIES[number % len(QUERIES)], "k": 10}).encode()
        request = urllib.request.Request(f"{address}api/search", content, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            reply.read()


def _cpu_s(pid: int) -> float:
    """CPU time that a process has taken, all its threads together."""
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
