"""WebVTT -> captions. The only file that knows webvtt-py.

webvtt-py parses; this file prepares the text for it and accounts, line by line, for the blocks that gave no cue,
because webvtt-py leaves those out without a word. https://www.w3.org/TR/webvtt1/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webvtt import Caption as ParsedCaption
from webvtt import WebVTT

from ingest.markup import parse_cue_text
from ingest.metadata import meta_from_notes
from ingest.rolling import Shown, to_captions
from ingest.text import clock_ms, shortened, split_lines
from ingest.types import Meta, Problem, Reading, Unreadable

_BLANKS = r"[ \t\f]*"
_LENIENT = r"(?:\d{1,10}:)?\d{1,2}:\d{1,2}\.\d{1,3}"
_STRICT = r"(?:\d+:)?\d{2}:\d{2}\.\d{3}"
_END = rf"{_STRICT}(?!\d)|{_LENIENT}(?=[ \t\f]|$)"  # settings may touch a well-formed time
_TIMING = re.compile(rf"{_BLANKS}({_LENIENT}){_BLANKS}-->{_BLANKS}({_END})")
_STRICT_TIME = re.compile(_STRICT)
_HEADER_FIELD = re.compile(r"\s*(Kind|Language)\s*:\s*(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines between blank lines, `line` being the number of the first."""

    line: int
    lines: list[str]

    @property
    def timing(self) -> int | None:
        """Which of the first two lines holds an arrow, None when neither does."""
        if "-->" in self.lines[0]:
            return 0
        return 1 if len(self.lines) > 1 and "-->" in self.lines[1] else None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A block that reads like a cue: `timing` is the index of its timing line, `start` and `end` the times in it."""

    block: _Block
    timing: int
    start: str
    end: str

    @property
    def line(self) -> int:
        """The number of the timing line."""
        return self.block.line + self.timing


def has_signature(text: str) -> bool:
    """True when the text starts as WebVTT must: `WEBVTT`, alone or followed by a blank, a tab or a line end."""
    return bool(re.match(r"WEBVTT(?:[ \t\r\n]|\Z)", text))


def read(text: str) -> Reading:
    """The captions of a WebVTT file. Raises `Unreadable` without the signature."""
    if not has_signature(text):
        raise Unreadable(_signature_problem(text), line=1)
    lines = split_lines(text.replace("\0", "\ufffd"))
    header, *blocks = _blocks(lines)
    problems: list[Problem] = []
    dropped_ids: list[str] = []
    candidates: list[_Candidate] = []
    notes: list[list[str]] = []
    for block in blocks:
        timing = block.timing
        times = _TIMING.match(block.lines[timing]) if timing is not None else None
        if timing is not None and times is not None:
            candidates.append(_Candidate(block, timing, times[1], times[2]))
            continue
        if _is_note(block):
            notes.extend([] if candidates else [block.lines])  # what stands before the first cue is about the file
        elif lost := _account(block):
            problems.append(lost)
            dropped_ids.extend(block.lines[:1] if timing == 1 else ())
        _silence(lines, block)
    shown = []
    captions_left = iter(WebVTT.from_buffer(lines).captions)
    caption = next(captions_left, None)
    for candidate in candidates:
        item = _shown(candidate, caption, problems)
        if item is None:
            problems.append(_bad_timestamp(candidate.block))
            dropped_ids.extend(candidate.block.lines[: candidate.timing])
        else:
            shown.append(item)
            caption = next(captions_left, None)
    dropped_ids.extend(item.id for item in shown if item.id and not item.parts)
    captions, repeats = to_captions(shown)
    meta, keeps_cutting = meta_from_notes(notes)
    return Reading(
        captions=tuple(captions),
        problems=tuple(sorted(problems, key=lambda problem: problem.line)),
        meta=meta.or_else(_header_meta(header)),
        keeps_cutting=keeps_cutting,
        repeats=repeats,
        dropped_ids=tuple(dropped_ids),
    )


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    """The blocks of a file, the header first, divided as the specification and webvtt-py do.

    A blank line ends a block, and so does a line with an arrow that can't be the block's own timing line.
    """
    block = _Block(1, [])
    in_header = True
    for number, line in enumerate(lines, start=1):
        own = block.lines
        if own and (not line or ("-->" in line and (in_header or len(own) > 1 or "-->" in own[0]))):
            yield block
            block, in_header = _Block(number, []), False
        if line:
            if not block.lines:
                block = _Block(number, [])
            block.lines.append(line)
    if block.lines:
        yield block


def _is_note(block: _Block) -> bool:
    return bool(re.match(r"NOTE(?:[ \t]|$)", block.lines[0])) and block.timing != 1


def _account(block: _Block) -> Problem | None:
    """What is lost with a block that is no cue and no comment; None for style sheets and regions."""
    if block.timing is None:
        if re.fullmatch(r"(?:STYLE|REGION)[ \t]*", block.lines[0]):
            return None
        what = f"text outside a cue, no timing line above it: {shortened(_joined(block))}"
        return Problem(block.line, what, lost=True)
    if not re.match(r"\s*\d", block.lines[block.timing]):
        what = f"an arrow --> that is no timing line ends the cue before it: {shortened(_joined(block))}"
        return Problem(block.line + block.timing, f"{what}; write --&gt; inside text", lost=True)
    return _bad_timestamp(block)


def _bad_timestamp(block: _Block) -> Problem:
    timing = block.timing or 0
    said = " ".join(block.lines[timing + 1 :])
    left_out = f"; left out: {shortened(said)}" if said.strip() else ""
    what = f"timestamp not valid: {shortened(block.lines[timing])}, expected hh:mm:ss.mmm --> hh:mm:ss.mmm"
    return Problem(block.line + timing, what + left_out, lost=True)


def _joined(block: _Block) -> str:
    return " ".join(block.lines)


def _silence(lines: list[str], block: _Block) -> None:
    """Blank out a block that is dealt with, so that webvtt-py gives a cue for each of the others only."""
    lines[block.line - 1 : block.line - 1 + len(block.lines)] = [""] * len(block.lines)


def _shown(candidate: _Candidate, caption: ParsedCaption | None, problems: list[Problem]) -> Shown | None:
    """What webvtt-py's next cue shows; None when that is not the candidate's, because it was left out."""
    start_ms, end_ms = clock_ms(candidate.start), clock_ms(candidate.end)
    payload = candidate.block.lines[candidate.timing + 1 :]
    if caption is None or start_ms is None or end_ms is None or caption.lines != payload:
        return None
    for time in (candidate.start, candidate.end):
        if not _STRICT_TIME.fullmatch(time):
            problems.append(Problem(candidate.line, f'timestamp "{time}" lacks digits, read as {clock_ms(time)} ms'))
    if end_ms < start_ms:
        what = f"end before start ({candidate.start} --> {candidate.end}); the start is kept"
        problems.append(Problem(candidate.line, what))
        end_ms = start_ms
    parts = parse_cue_text("\n".join(caption.lines))
    return Shown(caption.identifier or None, start_ms, end_ms, parts, candidate.line)


def _header_meta(header: _Block) -> Meta:
    """The language, where the header names one as YouTube's files do."""
    for line in header.lines[1:]:
        if (field := _HEADER_FIELD.match(line)) and field[1].lower() == "language":
            return Meta(language=field[2].strip())
    return Meta()


def _signature_problem(text: str) -> str:
    first = split_lines(text[:200])[0]
    hint = "an HTML page" if re.match(r"\s*<(?:!doctype|html|head|body)", text, re.IGNORECASE) else shortened(first)
    return f"found {hint}, expected WEBVTT as the first word of the file; download it again or give it its true ending"
