"""The records between the steps of an ingest.

    bytes -> text -> Reading(captions, problems, meta) -> cues -> Talk

A caption is what a file shows at a time; a cue is one sentence of a talk, made from captions. Times are integer
milliseconds, lines are counted from 1, and 0 stands for the file as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from rag.errors import InputError
from rag.types import Chapter


class Unreadable(InputError):
    """A reader refuses the whole file; whoever knows its name puts `name:line` in front."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.line = line


class NotCaptions(Unreadable):
    """The file is sound but holds no captions: a failure when it was named, ignored when met in a folder."""


class WordTime(NamedTuple):
    """When a word is spoken."""

    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Caption:
    """One caption as read: markup gone, references decoded, repeats of scrolling captions removed.

    `id` is the file's own, None where it gives none. `text` is one line with single blanks. `words` holds a time, or
    None, for each blank-separated word of `text`; it is empty where the file times no words.
    """

    id: str | None
    start_ms: int
    end_ms: int
    text: str
    speaker: str = ""
    line: int = 0
    words: tuple[WordTime | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to tell the user about a line of a file. `lost` is true where words were left out."""

    line: int
    what: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Meta:
    """What a source says about a talk; "" and () where it says nothing."""

    talk_id: str = ""
    title: str = ""
    speakers: tuple[str, ...] = ()
    event: str = ""
    date: str = ""
    language: str = ""
    media: str = ""
    chapters: tuple[Chapter, ...] = ()
    duration_ms: int = 0

    def or_else(self, weaker: Meta) -> Meta:
        """This record with its gaps filled from `weaker`."""
        gaps = {field.name: getattr(weaker, field.name) for field in fields(self) if not getattr(self, field.name)}
        return replace(self, **gaps)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader made of one talk in a file.

    `keeps_cutting` is set where the file says, or its kind implies, that each caption is a sentence with a lasting
    id. `repeats` counts the repeated lines of scrolling captions that were removed; `dropped_ids` holds the ids of
    entries that gave no caption. `line` is where the talk starts in a file of several, 0 for the file as a whole.
    """

    captions: tuple[Caption, ...]
    problems: tuple[Problem, ...] = ()
    meta: Meta = Meta()
    keeps_cutting: bool = False
    repeats: int = 0
    dropped_ids: tuple[str, ...] = ()
    line: int = 0
