"""Bytes -> text: UTF-8, UTF-16, else what the detector finds (Windows-1252 before its look-alikes). Pure."""

from __future__ import annotations

import codecs

from charset_normalizer import from_bytes

from ingest.text import split_lines
from ingest.types import Problem, Unreadable

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark starts with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 2000
_DETECT = 200_000  # bytes shown to the detector
_FALLBACK = "cp1252"


def decode(data: bytes) -> tuple[str, Problem | None]:
    """The text, without a byte order mark, and a problem where bytes could not be decoded (they become U+FFFD).

    Raises `Unreadable` for binary data.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lenient(data[len(mark) :], encoding)
    if encoding := _utf16_without_mark(data):
        return _lenient(data, encoding)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text:
        _refuse_binary(text)
        return text, None
    text, problem = _lenient(data, "utf-8")
    damaged = text.count("\ufffd")
    if sum(char > "\x7f" for char in text) > 2 * damaged:  # UTF-8 with a few bad bytes, not another encoding
        return text, problem
    if b"\0" in data:
        raise Unreadable("binary data, expected a text file with captions")
    text, problem = _lenient(data, _detected(data))
    _refuse_binary(text)
    return text, problem


def _lenient(data: bytes, encoding: str) -> tuple[str, Problem | None]:
    try:
        return data.decode(encoding), None
    except UnicodeDecodeError as error:
        text = data.decode(encoding, errors="replace")
        line = len(split_lines(data[: error.start].decode(encoding, errors="replace")))
        bad = data[error.start : error.start + 1].hex()
        return text, Problem(line, f"byte 0x{bad} is not {encoding.upper()}; unreadable bytes are shown as \ufffd")


def _utf16_without_mark(data: bytes) -> str:
    """The byte order when every other byte of the beginning is zero, as in Western text saved as UTF-16.

    Captions in any script begin with a few such characters: a signature, a number or a time.
    """
    for encoding in ("utf-16-le", "utf-16-be"):
        first = data[:8].decode(encoding, errors="replace")
        if len(first) == 4 and first.isascii() and first[:1].isprintable() and b"\0" not in first.encode():
            return encoding
    sample = data[:_SAMPLE]
    zeros = [sample[offset::2].count(0) for offset in (0, 1)]
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if zeros[offset] > 0.4 * len(sample) / 2 and zeros[1 - offset] == 0:
            return encoding
    return ""


def _detected(data: bytes) -> str:
    """The detector's choice; Windows-1252 where it fits just as well, because the detector ranks ties by name."""
    matches = list(from_bytes(data[:_DETECT]))
    if not matches:
        return _FALLBACK
    best = matches[0]
    for match in matches:
        if _FALLBACK in match.could_be_from_charset and match.chaos <= best.chaos and match.coherence >= best.coherence:
            return _FALLBACK
    return best.encoding


def _refuse_binary(text: str) -> None:
    if text.startswith("WEBVTT"):
        return  # the specification has an answer for every character in it
    sample = text[:_SAMPLE]
    controls = sum(char < " " and char not in "\t\n\r\f\v\x1b" for char in sample)
    if controls > len(sample) // 50:
        raise Unreadable("binary data, expected a text file with captions")
