"""A published transcript page, saved as text -> captions.

    Title — Speaker One and Speaker Two

    Channel · 20 min · 252 sentences · from YouTube's caption track

      1. 00:12First sentence.

No blank stands between timecode and sentence, so "00:4510 things" is 45 seconds and "10 things": minutes and seconds
have exactly two digits. Ends are not printed; a sentence lasts until the next one starts. A file may hold several
pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest.speakers import with_prefixed_speakers
from ingest.text import clock_ms, one_line, shortened, split_lines
from ingest.types import Caption, Meta, Problem, Reading

# Every run of blanks that more may follow has a limit: a line of a million blanks must not take the square of that.
SENTENCE = re.compile(r"[^\S\n]{0,40}(\d{1,7})\.\s{1,40}(?:(\d{1,4}):)?(\d{2}):(\d{2})(.*)")
_NUMBERED = re.compile(r"\s{0,40}(\d{1,7})\.\s{1,40}\S")
ABOUT = re.compile(
    r"[^\S\n]{0,40}(?:(\S.{0,300}?)?\s{1,9}·\s{1,9})?(\d{1,6})\s{1,9}min(?:utes)?\s{1,9}·\s{1,9}(\d{1,7})\s{1,9}sentences\b"
)
ABOUT_ANYWHERE = re.compile(rf"^{ABOUT.pattern}", re.MULTILINE)
_DASH = re.compile(r"\s+[—–]\s+")
_NAMES = re.compile(r"\s*(?:,|;|&|\band\b)\s*")
_MS_PER_WORD = 400


@dataclass(frozen=True, slots=True)
class Header:
    """A page's own words about itself: `sentences` is the count it announces, None where it gives none."""

    meta: Meta
    sentences: int | None
    line: int


def read(text: str) -> list[Reading]:
    """One reading for each page in the text."""
    lines = split_lines(text)
    starts = _page_starts(lines)
    return [
        _read_page(lines[start:end], offset=start) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]


def header(title: str, about: str, line: int) -> Header:
    """What the title line and the line `Channel · N min · M sentences · …` say."""
    named, *speakers = _DASH.split(title)
    if len(speakers) > 1:  # a dash inside the title: only what follows the last one are names
        named, speakers = _DASH.sub(" — ", title).rpartition(" — ")[0], speakers[-1:]
    names = tuple(dict.fromkeys(one_line(name) for name in _NAMES.split(speakers[0]))) if speakers else ()
    match = ABOUT.match(about)
    return Header(
        Meta(title=one_line(named), speakers=names, event=one_line(match[1] or "") if match else ""),
        int(match[3]) if match else None,
        line,
    )


def with_natural_ends(captions: Sequence[Caption]) -> list[Caption]:
    """Captions in time order; those without an end (`end_ms` below `start_ms`) last until the next start.

    The last one gets the time its words take to say.
    """
    ordered = sorted(captions, key=lambda caption: caption.start_ms)
    following: int | None = None
    ended: list[Caption] = []
    for position in range(len(ordered) - 1, -1, -1):
        caption = ordered[position]
        later = ordered[position + 1].start_ms if position + 1 < len(ordered) else None
        if later is not None and later > caption.start_ms:
            following = later
        if caption.end_ms < caption.start_ms:
            spoken = caption.start_ms + max(1000, _MS_PER_WORD * len(caption.text.split()))
            caption = replace(caption, end_ms=spoken if following is None else following)
        ended.append(caption)
    return ended[::-1]


def _page_starts(lines: list[str]) -> list[int]:
    """Index of each page's title line; the first page starts at 0 whatever its first line is."""
    starts = [0]
    for number, line in enumerate(lines):
        if ABOUT.match(line) and not SENTENCE.match(line):
            title = next((n for n in range(number - 1, -1, -1) if lines[n].strip()), number)
            if any(SENTENCE.match(earlier) for earlier in lines[starts[-1] : title]):
                starts.append(title)
    return starts


def _read_page(lines: list[str], offset: int) -> Reading:
    """The page whose first line is number `offset + 1` of the file."""
    about = next((n for n, line in enumerate(lines) if ABOUT.match(line) and not SENTENCE.match(line)), None)
    first = next((n for n, line in enumerate(lines) if n > (about or -1) and _NUMBERED.match(line)), len(lines))
    head = _header(lines[:first], about, offset)
    body = _Body(offset + first)
    for line in lines[first:]:
        body.take(line)
    problems = body.problems
    if head.sentences is not None and head.sentences != len(body.captions):
        what = f"count: the page announces {head.sentences} sentences, {len(body.captions)} were found"
        problems.append(Problem(head.line, what))
    return Reading(
        captions=with_prefixed_speakers(with_natural_ends(body.captions), keeps_cutting=True),
        problems=tuple(sorted(problems, key=lambda problem: problem.line)),
        meta=head.meta,
        keeps_cutting=True,
        line=offset + 1,
    )


def _header(lines: list[str], about: int | None, offset: int) -> Header:
    titles = [line for line in lines[:about] if line.strip()]
    if about is None:
        return header(titles[0] if titles else "", "", 0)
    return header(titles[-1] if titles else "", lines[about], offset + about + 1)


class _Body:
    """Collects the numbered lines of a page, in file order."""

    def __init__(self, line: int) -> None:
        self.captions: list[Caption] = []
        self.problems: list[Problem] = []
        self._line = line
        self._number: int | None = None  # the number printed last
        self._ids: set[str] = set()
        self._wraps = False  # may the next line be the rest of this sentence?

    def take(self, line: str) -> None:
        """Read the next line."""
        self._line += 1
        match = _NUMBERED.match(line)
        if match is not None:
            self._take_numbered(int(match[1]), line)
        elif not any(char.isalnum() for char in line):
            self._wraps = False
        elif self._wraps and not line.lstrip()[0].isdigit():
            wrapped = self.captions[-1]
            self.captions[-1] = replace(wrapped, text=one_line(f"{wrapped.text} {line}"))
        else:
            self._report(f"text outside a numbered line: {shortened(line)}", lost=True)

    def _take_numbered(self, number: int, line: str) -> None:
        if self._number is not None and number != self._number + 1:
            self._report(f"number {number} follows {self._number}")
        self._number = number
        timed = SENTENCE.match(line)
        start_ms = clock_ms(":".join(part for part in timed.groups()[1:4] if part)) if timed else None
        self._wraps = False
        if timed is None or start_ms is None:
            self._report(f"no timecode: {shortened(line)}, expected a number, a time and a sentence", lost=True)
            return
        if self.captions and start_ms < self.captions[-1].start_ms:
            self._report(f"time runs backwards, from {self.captions[-1].start_ms // 1000} s to {start_ms // 1000} s")
        text = one_line(timed[5])
        if text:
            self.captions.append(Caption(self._new_id(number), start_ms, start_ms - 1, text, line=self._line))
            self._wraps = True

    def _new_id(self, number: int) -> str:
        """The printed number as cue id; a number printed twice is told apart by its line."""
        wanted = f"s{number}"
        found = f"{wanted}-{self._line}" if wanted in self._ids else wanted
        self._ids.add(found)
        return found

    def _report(self, what: str, lost: bool = False) -> None:
        self.problems.append(Problem(self._line, what, lost))
