"""The records that travel between the steps. Read this file first.

    caption file -> Talk(cues) -> Windows -> vectors -> Hits -> Claims -> Answer(citations)

All records are frozen. Times are integer milliseconds from the start of the recording. A position is the 0-based place
of a cue in `Talk.cues`; a cue id is the text (`s42`) under which people and other programs know it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

# A label such as [music] or (applause) that fills a whole cue: kept in the transcript, never searched or quoted.
_SOUND_LABEL = re.compile(r"^(\s*[\[(♪][^\[\]()♪]{1,40}[\])♪]\s*)+$")

Support = Literal["supported", "weak", "unsupported"]


@dataclass(frozen=True, slots=True)
class Cue:
    """One timed sentence of a talk.

    `speaker` is "" where the source does not state one; it is never guessed.
    """

    id: str
    start_ms: int
    end_ms: int
    text: str
    speaker: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start_ms <= self.end_ms:
            raise ValueError(f"cue {self.id}: times {self.start_ms}..{self.end_ms} ms, expected 0 <= start <= end")

    @property
    def is_sound_label(self) -> bool:
        """True for cues such as `[music]`: shown in the transcript, left out of search and quotes."""
        return bool(_SOUND_LABEL.match(self.text))


@dataclass(frozen=True, slots=True)
class Chapter:
    """A titled part of a talk; it lasts until the next chapter starts."""

    start_ms: int
    title: str


@dataclass(frozen=True, slots=True)
class Talk:
    """A recording's transcript and what is known about it.

    `date` is ISO 8601, as precise as known: "2025", "2025-06" or "2025-06-14"; "" when unknown.
    `media` is an address (http, https) or the name of a media file; `source` is where the captions were read from.
    """

    id: str
    title: str
    cues: tuple[Cue, ...]
    speakers: tuple[str, ...] = ()
    event: str = ""
    date: str = ""
    language: str = ""
    media: str = ""
    source: str = ""
    chapters: tuple[Chapter, ...] = ()

    @property
    def duration_ms(self) -> int:
        """End of the last spoken cue, in milliseconds; 0 for a talk without cues."""
        return max((cue.end_ms for cue in self.cues), default=0)

    @property
    def tells_speakers(self) -> bool:
        """True when the captions say of any cue who speaks."""
        return any(cue.speaker for cue in self.cues)

    def said_by(self, speaker: str) -> Callable[[int], bool]:
        """Whether the cue at a position is said by `speaker`, in whatever letter case.

        Where the captions don't tell who speaks, each of the talk's speakers may have said anything.
        """
        wanted = speaker.casefold()
        if self.tells_speakers:
            return lambda position: self.cues[position].speaker.casefold() == wanted
        may_be = wanted in (name.casefold() for name in self.speakers)
        return lambda _: may_be

    @property
    def year(self) -> str:
        """The year of `date` as four digits, "" when unknown."""
        return self.date[:4]


class Span(NamedTuple):
    """Consecutive cues of one talk: positions `first` to `last`, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Window:
    """Cues of a talk taken together: the unit that is embedded and searched.

    `cues` are their positions, in order and never empty; what lies between them and is not among them (a sound label,
    an order to an assistant) is not part of `text`.
    """

    talk_id: str
    cues: tuple[int, ...]
    text: str

    @property
    def first(self) -> int:
        """Position of the first cue; no two windows of a talk share it."""
        return self.cues[0]

    @property
    def last(self) -> int:
        """Position of the last cue."""
        return self.cues[-1]


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search is restricted to. An empty field restricts nothing; fields are combined with *and*."""

    talk: str = ""
    speaker: str = ""
    event: str = ""
    year: str = ""

    def __bool__(self) -> bool:
        return bool(self.talk or self.speaker or self.event or self.year)


@dataclass(frozen=True, slots=True)
class Hit:
    """A moment found for a query: cues `first`..`last` (positions) of `talk`, at most 8 of them.

    It starts at the sentence that answers best and runs on from there. `score` is comparable within one query only;
    higher is better. `window` is the passage it was found in.
    """

    talk: Talk
    first: int
    last: int
    score: float
    window: Span

    @property
    def cues(self) -> tuple[Cue, ...]:
        """The cues of the moment itself."""
        return self.talk.cues[self.first : self.last + 1]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found for a query: the moments, best first, and how likely they answer it (0..1).

    With `in_order` the moments answer a broad question together: one of each chapter or talk, in the order in which
    they are told. `notice` says in one line what the reader should know of the search, "" when there is nothing.
    """

    hits: tuple[Hit, ...]
    confidence: float
    notice: str = ""
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation."""

    role: Literal["user", "assistant"]
    content: str


class CueRef(NamedTuple):
    """A cue named across talks: talk id and position."""

    talk_id: str
    position: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer with the cues it rests on (in order of mention; empty when it cites none)."""

    text: str
    cues: tuple[CueRef, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered moment that an answer rests on: cues `first`..`last` (positions) of `talk`."""

    n: int
    talk: Talk
    first: int
    last: int

    @property
    def cues(self) -> tuple[Cue, ...]:
        """The cited cues."""
        return self.talk.cues[self.first : self.last + 1]


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim with the numbers of its citations; `support` is None while the check is still running."""

    text: str
    citations: tuple[int, ...]
    support: Support | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question, complete or still growing (`done` tells).

    `searched` is the query really used. `abstained` means that the talks do not answer; then there are no claims and
    `nearest` holds the closest moments. `answered_by` is "quotes" or the model's name. `notice` says in one line what
    the reader should know (for example why quotes were used). `confidence` (0..1) is how likely the talks answer.
    """

    question: str
    searched: str
    claims: tuple[CheckedClaim, ...] = ()
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    missing: str = ""
    confidence: float = 0.0
    talks_searched: int = 0
    nearest: tuple[Hit, ...] = ()
    hits: tuple[Hit, ...] = ()
    answered_by: str = "quotes"
    notice: str = ""
    usage: dict[str, int] = field(default_factory=dict)
    timings_ms: dict[str, float] = field(default_factory=dict)
    done: bool = False

    @property
    def text(self) -> str:
        """The answer in plain words, one sentence after the other, without marks."""
        return " ".join(claim.text for claim in self.claims)
