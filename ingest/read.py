"""A file's content -> the reader that fits, by content rather than by name.

The one exception: a file called .vtt without the WEBVTT signature is refused as such.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ingest import corpus, html_page, json3, lrc, page, sbv, srt, vtt, whisper
from ingest.encoding import decode
from ingest.health import order_problems
from ingest.sentences import is_own_cutting
from ingest.speakers import with_prefixed_speakers
from ingest.text import shortened, split_lines
from ingest.types import NotCaptions, Problem, Reading, Unreadable

MAX_BYTES = 100_000_000
MAX_CUES = 200_000
_MAX_JSON_OBJECTS = 3_000_000
_MAX_JSON_VALUES = 12_000_000
SUPPORTED = (
    ".vtt, .srt, .sbv, .lrc, .json3, Whisper .json, transcript page .txt or .html, .jsonl, or .gz and .zip of these"
)

_HTML = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|title|meta|link|style|script"
    r"|body|main|article|section|header|nav|div|table|dl|ol|ul|li|p|h[1-6]|a|span)\b",
    re.IGNORECASE | re.DOTALL,
)
_JSON = re.compile(r"\{(?!\\)|\[\s*(?:[\[{\"]|$)", re.MULTILINE)  # not "[Music]", nor a placement code such as {\an8}
_PAGE = re.compile(rf"^{page.SENTENCE.pattern}$", re.MULTILINE)
_SRT = re.compile(rf"^{srt.TIMING.pattern}", re.MULTILINE)
# Formats that their timing lines tell, in the order in which they are tried.
_TIMED_LINES: tuple[tuple[re.Pattern[str], Callable[[str], Reading]], ...] = (
    (_SRT, srt.read),
    (re.compile(rf"^{sbv.TIMING.pattern}$", re.MULTILINE), sbv.read),
    # Two lines in a row: a time in brackets alone is in many a text.
    (re.compile(rf"^{lrc.TIMING.pattern}(?=[^\n]*\n\s*{lrc.TIMING.pattern})", re.MULTILINE), lrc.read),
)
_SAMPLE = 200_000  # characters that decide what a text file is


def read_bytes(data: bytes, name: str) -> list[Reading]:
    """The talks in a file: one reading, or several for a corpus.

    `name` is the file's name, whose ending only matters for .vtt. Raises `Unreadable` when nothing can be read, and
    `NotCaptions` when the file is sound but holds no captions.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(f"{len(data):,} bytes, the limit is {MAX_BYTES:,}; split the file")
    if not data.strip(b"\x00\xef\xbb\xbf\xff\xfe \t\r\n"):
        raise Unreadable("the file is empty, expected captions")
    text, problem = decode(data)
    del data
    readings = _read_text(text, name.lower())
    if problem is not None:
        readings[0] = replace(readings[0], problems=(problem, *readings[0].problems))
    return readings


def looks_like_captions(start: bytes) -> bool:
    """True when the beginning of a file with an unknown ending shows captions: WebVTT, SRT or json3."""
    text = start.decode("utf-8", errors="ignore").removeprefix("\ufeff")
    first_lines = "\n".join(split_lines(text)[:5])
    return vtt.has_signature(text) or bool(_SRT.search(first_lines)) or '"wireMagic"' in first_lines


def _read_text(text: str, name: str) -> list[Reading]:
    if name.endswith(".vtt") or vtt.has_signature(text):
        _limit(text.count("-->"))
        return [_with_cues(vtt.read(text))]
    start = text[:_SAMPLE].lstrip()
    if _JSON.match(start) or corpus.is_json_lines(text):
        return _read_json(text)
    if _HTML.match(start):
        return [_with_cues(html_page.read(text))]
    return _read_plain(text)


def _read_plain(text: str) -> list[Reading]:
    sample = "\n".join(split_lines(text[:_SAMPLE]))
    if page.ABOUT_ANYWHERE.search(sample) or (_PAGE.search(sample) and not _SRT.search(sample)):
        _limit(sum(1 for _ in _PAGE.finditer(text)))
        return _with_cues_each(page.read(text))
    for timing, read in _TIMED_LINES:
        if timing.search(sample):
            _limit(sum(1 for _ in timing.finditer(text)))
            return [_with_cues(read(text))]
    raise NotCaptions(f"not a supported format, expected {SUPPORTED}")


def _read_json(text: str) -> list[Reading]:
    if text.count("{") + text.count("[") > _MAX_JSON_OBJECTS or text.count(",") > _MAX_JSON_VALUES:
        raise Unreadable(f"more than {_MAX_JSON_OBJECTS:,} objects or {_MAX_JSON_VALUES:,} values; split the file")
    if corpus.is_json_lines(text):
        return _with_cues_each(corpus.read_lines(text))
    _limit(max(text.count('"tStartMs"'), text.count('"text"')))
    return _with_cues_each(_read_document(parse_json(text)))


def parse_json(text: str) -> Any:
    """The parsed document. Raises `Unreadable` with the line of the first mistake."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Unreadable(f"not valid JSON: {error.msg}; download it again", line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else "a number too long to read"
        raise Unreadable(f"not usable JSON: {what}", line=1) from None


def _read_document(document: Any) -> list[Reading]:
    if isinstance(document, dict):
        if "events" in document:
            return [json3.read(document)]
        if "segments" in document or "transcription" in document:
            return [whisper.read(document)]
        if corpus.is_talk(document):
            return [corpus.read_talk(document, line=1)]
        if corpus.is_cue(document):
            return [corpus.read_cues([(1, document)])]
    if isinstance(document, list) and document and all(isinstance(entry, dict) for entry in document):
        if all(corpus.is_talk(entry) for entry in document):
            return [corpus.read_talk(entry, line=1) for entry in document]
        if any("text" in entry and "start" in entry for entry in document):
            return [whisper.read({"segments": document})]
    raise NotCaptions(
        "JSON without captions, expected json3 events, Whisper segments or transcription, or talks with cues"
    )


def _limit(cues: int) -> None:
    if cues > MAX_CUES:
        raise Unreadable(f"about {cues:,} cues, the limit is {MAX_CUES:,}; split the file")


def _with_cues_each(readings: Sequence[Reading]) -> list[Reading]:
    """The readings that hold captions, the first of them with a problem for each of the others.

    Raises `Unreadable` when none does.
    """
    if len(readings) == 1:
        return [_with_cues(readings[0])]
    found: list[Reading] = []
    problems: list[Problem] = []
    for reading in readings:
        try:
            found.append(_with_cues(reading))
        except Unreadable as error:
            name = reading.meta.talk_id or reading.meta.title
            problems.append(Problem(error.line or reading.line, f"talk {shortened(name)}: {error}", lost=True))
            problems.extend(reading.problems)
    if not found:
        raise Unreadable(problems[0].what, problems[0].line)
    return [replace(found[0], problems=(*problems, *found[0].problems)), *found[1:]]


def _with_cues(reading: Reading) -> Reading:
    """The reading with speakers and in time order, when it holds any caption.

    Raises `Unreadable` naming the first problem otherwise.
    """
    if reading.captions:
        _limit(len(reading.captions))
        captions = reading.captions if is_own_cutting(reading) else with_prefixed_speakers(reading.captions)
        return replace(reading, captions=captions, problems=(*reading.problems, *order_problems(captions)))
    if reading.problems:
        first = reading.problems[0]
        raise Unreadable(f"no cue could be read, {len(reading.problems)} problems; the first: {first.what}", first.line)
    raise Unreadable("no cues in it, nothing to ask about; expected captions with text")
