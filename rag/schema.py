"""The JSON that commands, API and MCP hand out, field by field. `rag.wire` fills it in; scripts rely on these names.

Plain dictionaries with declared keys: mypy checks what `rag.wire` writes, pydantic makes the published schemas from the
same declarations. Times are integer milliseconds from the start of the recording, cue ids look like `s42`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict  # pydantic takes typing's own only from Python 3.12 on

from rag.types import Support

MAX_HITS = 1000  # as many moments may be asked for

_MOMENT = {
    "talk_id": "the-pager-and-the-agent",
    "title": "The Pager and the Agent",
    "first_cue": "s12",
    "last_cue": "s12",
    "start_ms": 61_250,
    "end_ms": 66_400,
    "url": "https://talks.example.org/?talk=the-pager-and-the-agent&t=61#s12",
    "speakers": ["Ines Calloway"],
}
_SAID = "We page a person only when the agent has given up twice."
_HIT = {**_MOMENT, "score": 0.032522, "text": _SAID}
_CITATION = {"n": 1, **_MOMENT, "quote": _SAID}
_CLAIM = {"text": _SAID, "support": "supported", "citations": [1]}
_TALK = {
    "talk_id": "the-pager-and-the-agent",
    "title": "The Pager and the Agent",
    "speakers": ["Ines Calloway"],
    "event": "Harbour Inference Days 2024",
    "date": "2024-11-07",
    "language": "en",
    "cues": 96,
    "duration_ms": 612_000,
    "media": "the-pager-and-the-agent.mp3",
    "source": "the-pager-and-the-agent.vtt",
}
_CUE = {"id": "s12", "start_ms": 61_250, "end_ms": 66_400, "text": _SAID, "speaker": "Ines Calloway"}
_FILE = {
    "path": "talk.vtt",
    "talk_id": "talk",
    "title": "Talk",
    "status": "added",
    "language": "en",
    "cues": 96,
    "minutes": 10.2,
    "repaired": [],
    "skipped": [],
    "warnings": [],
}
_REPORT = {"files": [_FILE], "ignored": [], "removed": []}


def _shown(example: dict[str, Any]) -> ConfigDict:
    """Settings of a record: its example, and its fields described by the strings below them."""
    return ConfigDict(use_attribute_docstrings=True, json_schema_extra={"examples": [example]})


class Moment(TypedDict):
    """Consecutive cues of one talk, and the link that plays them."""

    talk_id: str
    title: str
    first_cue: str
    last_cue: str
    start_ms: int
    end_ms: int
    url: str
    speakers: list[str]


@with_config(_shown(_HIT))
class Hit(Moment):
    """A moment found for a query."""

    score: float
    """Comparable within one query only; higher is better."""
    text: str
    """What is said, as captioned."""


@with_config(_shown(_CITATION))
class Citation(Moment):
    """A moment that an answer rests on."""

    n: int
    """The number under which claims cite it."""
    quote: str
    """What is said, as captioned."""


@with_config(_shown(_CLAIM))
class Claim(TypedDict):
    """One sentence of an answer."""

    text: str
    support: Support | None
    """Whether the cited cues say it; null while that is being checked."""
    citations: list[int]
    """Numbers of citations."""


@with_config(_shown({"query": "when is a person paged?", "hits": [_HIT], "notice": ""}))
class Found(TypedDict):
    """What a search found, best first."""

    query: str
    hits: list[Hit]
    notice: str
    """Which part of the index could not be used, in one line; "" when all of it was."""


@with_config(
    _shown(
        {
            "question": "When is a person paged?",
            "searched": "When is a person paged?",
            "answer": _SAID,
            "abstained": False,
            "missing": "",
            "confidence": 0.93,
            "talks_searched": 3,
            "claims": [_CLAIM],
            "citations": [_CITATION],
            "nearest": [],
            "answered_by": "quotes",
            "notice": "",
            "usage": {},
            "timings_ms": {"search": 21.4, "first_claim": 30.2, "total": 30.9},
        }
    )
)
class Answer(TypedDict):
    """An answer whose every sentence names the moments that it rests on."""

    question: str
    searched: str
    """The question as it was searched: a follow-up is completed from the history."""
    answer: str
    """All claims as plain text."""
    abstained: bool
    """True when the talks do not answer; then `nearest` holds the closest moments."""
    missing: str
    """Which part of the question the talks leave open."""
    confidence: float
    """How likely the talks answer, 0 to 1."""
    talks_searched: int
    claims: list[Claim]
    citations: list[Citation]
    nearest: list[Hit]
    answered_by: str
    """`quotes`, or the name of the language model."""
    notice: str
    """What the reader should know, in one line, such as why quotes were used; "" when there is nothing."""
    usage: dict[str, int]
    """Tokens, as counted by the language model's server."""
    timings_ms: dict[str, float]


@with_config(_shown(_TALK))
class TalkEntry(TypedDict):
    """A talk of the library, without its cues."""

    talk_id: str
    title: str
    speakers: list[str]
    event: str
    date: str
    """As precise as known: "2025", "2025-06" or "2025-06-14"; "" when unknown."""
    language: str
    cues: int
    """How many there are."""
    duration_ms: int
    media: str
    """Address or file of the recording."""
    source: str
    """Where the captions were read from."""


class Chapter(TypedDict):
    """A titled part of a talk."""

    start_ms: int
    title: str


@with_config(_shown(_CUE))
class Cue(TypedDict):
    """One timed sentence."""

    id: str
    start_ms: int
    end_ms: int
    text: str
    speaker: str


@with_config(_shown({**_TALK, "chapters": [{"start_ms": 0, "title": "Opening"}], "cues": [_CUE]}))
class Transcript(TypedDict):
    """A talk with all its cues."""

    talk_id: str
    title: str
    speakers: list[str]
    event: str
    date: str
    """As precise as known: "2025", "2025-06" or "2025-06-14"; "" when unknown."""
    language: str
    duration_ms: int
    media: str
    """Address or file of the recording."""
    source: str
    """Where the captions were read from."""
    chapters: list[Chapter]
    cues: list[Cue]


@with_config(_shown(_FILE))
class FileEntry(TypedDict):
    """What became of one talk in one file."""

    path: str
    talk_id: str
    title: str
    status: Literal["added", "replaced", "unchanged", "checked", "failed"]
    language: str
    cues: int
    minutes: float
    repaired: list[str]
    skipped: list[str]
    """What was left out, each with file and line."""
    warnings: list[str]
    error: NotRequired[str]
    """Why the file failed."""
    recording: NotRequired[str]
    """The recording that was uploaded with the captions, by name."""


class Ignored(TypedDict):
    """A file that holds no captions."""

    path: str
    why: str


@with_config(_shown(_REPORT))
class IngestReport(TypedDict):
    """What became of every file of an ingest."""

    files: list[FileEntry]
    ignored: list[Ignored]
    removed: list[str]


@with_config(
    _shown({"job_id": "Zk3vXq1T0dYb", "state": "done", "files": 1, "files_done": 1, "report": _REPORT, "error": ""})
)
class Job(TypedDict):
    """An upload on its way into the library."""

    job_id: str
    state: Literal["waiting", "running", "done", "failed"]
    """`done` means read and stored as the report says, which may name files that could not be read."""
    files: int
    """How many there are to read; files of the same talk count once."""
    files_done: int
    report: IngestReport | None
    """null until the job is done."""
    error: str
    """Why the job failed, in one line."""
