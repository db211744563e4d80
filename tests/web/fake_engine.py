"""An engine with scripted answers: same methods as `rag.engine.Engine`, no index, no model."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from rag.errors import StoreError, UsageError
from rag.llm import LLM
from rag.manifest import TalkInfo
from rag.settings import Settings
from rag.types import Answer, CheckedClaim, Citation, Cue, Evidence, Filters, Hit, Span, Talk, Turn


def talk_of(
    *texts: str, talk_id: str = "t", each_ms: int = 2000, speakers: Sequence[str] = (), **facts: object
) -> Talk:
    """A talk whose cues follow each other without a gap; speakers take turns."""
    cues = tuple(
        Cue(f"s{i + 1}", i * each_ms, (i + 1) * each_ms, text, speakers[i % len(speakers)] if speakers else "")
        for i, text in enumerate(texts)
    )
    title = str(facts.pop("title", talk_id))
    return Talk(talk_id, title, cues, tuple(dict.fromkeys(speakers)), **facts)  # type: ignore[arg-type]


def info_of(talk: Talk) -> TalkInfo:
    """The entry of a talk list."""
    return TalkInfo(
        id=talk.id,
        title=talk.title,
        speakers=talk.speakers,
        event=talk.event,
        date=talk.date,
        language=talk.language,
        cues=len(talk.cues),
        duration_ms=talk.duration_ms,
        media=talk.media,
        source=talk.source,
        chapters=talk.chapters,
        windows=0,
        digest="",
        text_digest="",
    )


@dataclass
class FakeEngine:
    """Answers every question with `script`, a snapshot every `pace_s` seconds, and notes what it was asked.

    Without a script the answer quotes the first cue of the first talk. A `failure` is raised after the first snapshot.
    """

    library: list[Talk]
    script: list[Answer] = field(default_factory=list)
    pace_s: float = 0.0
    asked: list[tuple[str, Filters, tuple[Turn, ...]]] = field(default_factory=list)
    searched: list[tuple[str, int | None, Filters]] = field(default_factory=list)
    closed: int = 0
    failure: Exception | None = None
    llm: LLM | None = None
    settings: Settings = field(default_factory=Settings)

    def talks(self) -> list[TalkInfo]:
        return [info_of(talk) for talk in self.library]

    def talk(self, talk_id: str) -> Talk:
        for talk in self.library:
            if talk.id == talk_id:
                return talk
        raise UsageError(f"talk {talk_id!r}: not in the library")

    def evidence(self, query: str, k: int | None = None, filters: Filters = Filters()) -> Evidence:  # noqa: B008
        """The first `k` cues of the first talk, whatever the query."""
        self.searched.append((query, k, filters))
        if not self.library:
            raise StoreError("data: no talks yet; add some with 'python -m ingest PATH'")
        talk = self.library[0]
        hits = tuple(Hit(talk, p, p, 1 / (p + 1), Span(p, p)) for p in range(min(k or 10, len(talk.cues))))
        return Evidence(hits, 0.9)

    def unready(self) -> str:
        return "" if self.library else "data: no talks yet"

    def ask(self, question: str, filters: Filters = Filters(), history: Sequence[Turn] = ()) -> Generator[Answer]:  # noqa: B008
        self.asked.append((question, filters, tuple(history)))
        try:
            for snapshot in self.script or [quoting(self.library[0], 0)]:
                time.sleep(self.pace_s)
                searched = snapshot.searched or question
                yield replace(snapshot, question=question, searched=searched)
                if self.failure:
                    raise self.failure
        finally:
            self.closed += 1

    def use(self, llm: LLM | None) -> None:
        """Let another model write the answers."""
        self.llm = llm

    def close(self) -> None:
        """Nothing to give back."""


def quoting(talk: Talk, *positions: int) -> Answer:
    """A finished answer that quotes single cues of one talk."""
    return Answer(
        question="",
        searched="",
        claims=tuple(CheckedClaim(talk.cues[p].text, (n,), "supported") for n, p in enumerate(positions, 1)),
        citations=tuple(Citation(n, talk, p, p) for n, p in enumerate(positions, 1)),
        talks_searched=1,
        confidence=0.9,
        done=True,
    )


def growing(answer: Answer) -> list[Answer]:
    """The snapshots in which `answer` would arrive: one claim more each time, its citations with it."""
    steps = [replace(answer, claims=(), citations=(), done=False)]
    for n in range(1, len(answer.claims) + 1):
        claims = answer.claims[:n]
        cited = {number for claim in claims for number in claim.citations}
        citations = tuple(citation for citation in answer.citations if citation.n in cited)
        steps.append(replace(answer, claims=claims, citations=citations, done=False))
    return [*steps, answer]


def refusing(*nearest: tuple[Talk, int], talks_searched: int = 3) -> Answer:
    """A refusal with nearest moments."""
    hits = tuple(Hit(talk, p, p, 0.1, Span(p, p)) for talk, p in nearest)
    return Answer("", "", abstained=True, nearest=hits, talks_searched=talks_searched, done=True)
