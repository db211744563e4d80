"""Characters and times that all readers share. Pure."""

from __future__ import annotations

import html
import math
import re
import unicodedata

# Hours of recordings have no limit, but a time must stay an exact integer in every store and every JSON reader (2**53).
MAX_MS = 2**53 - 1

_TIME = re.compile(r"(?:(\d{1,10}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def _table() -> dict[int, str | None]:
    """Characters that never carry speech: controls, bidirectional overrides, invisible marks, lone surrogates."""
    table: dict[int, str | None] = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)])
    table.update(dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080)]))
    table.update(dict.fromkeys([0x00AD, 0x200B, 0x2060, 0xFEFF]))
    table.update(dict.fromkeys([0x00, *range(0xD800, 0xE000)], "\ufffd"))
    table.update(dict.fromkeys(map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029"), " "))
    return table


_UNSPOKEN = _table()


def printable(text: str) -> str:
    """The text without characters that could hide, reorder or break what is shown. Blanks stay as they are."""
    return text if text.isprintable() else text.translate(_UNSPOKEN)


def one_line(text: str) -> str:
    """The printable text with every run of blanks and line breaks as one blank, ends trimmed."""
    return " ".join(printable(text).split())


def decode_references(text: str) -> str:
    """Decode complete character references (`&amp;`, `&#39;`) once; a lone ampersand stays."""
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def clock_ms(text: str) -> int | None:
    """`1:02:03.5`, `02:03,500` or `02:03` in milliseconds; None for anything else and for 60 minutes or seconds."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    hours, minutes, seconds, fraction = match.groups()
    if int(minutes) > 59 or int(seconds) > 59:
        return None
    total = (int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)) * 1000 + int((fraction or "0").ljust(3, "0"))
    return total if total <= MAX_MS else None


def seconds_ms(value: object) -> int | None:
    """Seconds from JSON or an attribute, number or text, in whole milliseconds; None when it is no usable time."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(seconds) or not 0 <= seconds * 1000 <= MAX_MS:
        return None
    return round(seconds * 1000)


def slug(text: str) -> str:
    """A name for files and addresses: lower case letters and digits of any script with single hyphens between."""
    plain = unicodedata.normalize("NFKD", text)
    plain = unicodedata.normalize("NFC", "".join(char for char in plain if not unicodedata.combining(char)))
    return re.sub(r"[\W_]+", "-", plain.lower()).strip("-")


def shortened(text: str, limit: int = 60) -> str:
    """The text in quotes for a message, cut at `limit` characters."""
    text = one_line(text)
    return f'"{text}"' if len(text) <= limit else f'"{text[: limit - 1]}…"'


def split_lines(text: str) -> list[str]:
    """Lines as caption formats count them: CR, LF and CRLF end a line, nothing else does."""
    return re.split(r"\r\n|\r|\n", text)
