"""SBV, YouTube's older download format -> captions: `0:00:01.000,0:00:02.250`, then the text, no ids."""

from __future__ import annotations

import re

from ingest.text import clock_ms, decode_references, one_line, shortened, split_lines
from ingest.types import Caption, Problem, Reading

_TIME = r"\d{1,10}:\d{1,2}:\d{1,2}\.\d{1,3}"
TIMING = re.compile(rf"[ \t]*({_TIME})[ \t]*,[ \t]*({_TIME})[ \t]*")
_MEANT_AS_TIMING = re.compile(r"[ \t]*\d+:\d+[\d:.]*,[\d:., \t]*")
_BREAK = re.compile(r"\[br\]", re.IGNORECASE)


def read(text: str) -> Reading:
    """The captions of an SBV file; entries whose times can't be read are reported and left out."""
    captions: list[Caption] = []
    problems: list[Problem] = []
    entry: tuple[int, str] | None = None
    said: list[str] = []

    def finish() -> None:
        if entry is not None:
            _finish(*entry, said, captions, problems)
        elif any(line.strip() for line in said):
            problems.append(Problem(1, f"text before the first timing line: {shortened(' '.join(said))}", lost=True))

    for number, line in enumerate(split_lines(text), start=1):
        if TIMING.fullmatch(line) or _MEANT_AS_TIMING.fullmatch(line):
            finish()
            entry, said = (number, line), []
        else:
            said.append(line)
    finish()
    return Reading(tuple(captions), tuple(problems))


def _finish(number: int, timing: str, said: list[str], captions: list[Caption], problems: list[Problem]) -> None:
    words = one_line(decode_references(_BREAK.sub(" ", " ".join(said))))
    match = TIMING.fullmatch(timing)
    start_ms, end_ms = (clock_ms(match[1]), clock_ms(match[2])) if match else (None, None)
    if start_ms is None or end_ms is None:
        what = f"timing line not valid: {shortened(timing)}, expected h:mm:ss.mmm,h:mm:ss.mmm"
        problems.append(Problem(number, f"{what}; left out: {shortened(words)}" if words else what, lost=True))
        return
    if end_ms < start_ms:
        problems.append(Problem(number, f"end before start: {shortened(timing)}; the start is kept"))
        end_ms = start_ms
    if words:
        captions.append(Caption(None, start_ms, end_ms, words, line=number))
