"""What the server counts and measures, at `/metrics` in Prometheus's text format.

Labels are routes as templates, and words of ours: never ids, names or questions, so there is an end to them. Each app
has a registry of its own, and each process of several tells of itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from rag.engine import Engine
from rag.errors import TalkciteError
from rag.types import Answer
from rag.web.jobs import Jobs

_log = logging.getLogger(__name__)

# From a search in memory to a long answer on a CPU, in seconds.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
# What an answer's timings are called, and what they are told as.
_METHODS = frozenset(("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"))
_STEPS = {"search": "search", "first_claim": "first_claim", "total": "answer"}


class Metrics:
    """The numbers of one app."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "talkcite_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "talkcite_request_seconds", "From request to end of response.", ("route",),
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self._answers = Counter(
            "talkcite_answers", "Answers by how they went.", ("door", "outcome"), registry=self.registry
        )
        self._steps = Histogram(
            "talkcite_answer_seconds", "From question to the end of a step.", ("step",),
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        ProcessCollector(registry=self.registry)
        self.running = Gauge("talkcite_answers_running", "Answers under way.", registry=self.registry)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        # A client may send any word as its method.
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_answer(self, door: str, outcome: str, answer: Answer | None) -> None:
        """An answer ended; `answer` is its last snapshot, if there was one."""
        self._answers.labels(door, outcome).inc()
        for name, step in _STEPS.items():
            if answer is not None and name in answer.timings_ms:
                self._steps.labels(step).observe(answer.timings_ms[name] / 1000)

    def tell(self, gauges: Mapping[str, str], look: Callable[[], Iterable[float]]) -> None:
        """Gauges, name -> what it is, whose values are looked up together whenever somebody asks.

        While the library can't be read they are left out.
        """
        self.registry.register(_Looked(gauges, look))

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)


class _Looked(Collector):
    def __init__(self, gauges: Mapping[str, str], look: Callable[[], Iterable[float]]) -> None:
        self._gauges = gauges
        self._look = look

    def describe(self) -> list[GaugeMetricFamily]:
        """What there is, without looking."""
        return [GaugeMetricFamily(name, what) for name, what in self._gauges.items()]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The values of this moment."""
        try:
            values = list(self._look())
        except TalkciteError as error:
            _log.warning("left out of the metrics: %s", error)
            return
        for (name, what), value in zip(self._gauges.items(), values, strict=True):
            yield GaugeMetricFamily(name, what, value=value)


def metrics_routes(metrics: Metrics, engine: Engine, jobs: Jobs | None) -> APIRouter:
    """`GET /metrics`: what was counted, and how library, uploads and language model stand at the moment."""

    def library() -> Iterable[float]:
        talks = engine.talks()
        return len(talks), sum(talk.cues for talk in talks)

    metrics.tell({"talkcite_talks": "Talks that can be searched.", "talkcite_cues": "Their sentences."}, library)
    metrics.tell(
        {
            "talkcite_uploads_pending": "Uploads that wait or are being stored.",
            "talkcite_llm_ready": "1 while a language model is there to write answers, else 0.",
        },
        lambda: (jobs.pending if jobs else 0, engine.llm is not None and engine.llm.status.state == "ready"),
    )
    router = APIRouter()

    @router.get("/metrics")
    def tell() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router
