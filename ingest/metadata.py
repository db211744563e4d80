"""Where a talk's title, speakers, date, media and id come from.

In this order: command line, sidecar (`<name>.json`, yt-dlp's `<name>.info.json`), NOTE header (`key: value`), the
page's own header, file name (`Title [VIDEOID].en.vtt`). A recording beside the captions with the same stem is the last
resort for media (`ingest.recordings`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from ingest.text import clock_ms, decode_references, one_line, seconds_ms
from ingest.types import Meta
from rag.types import Chapter

# Endings of caption files. Of several that hold the same talk, the one with the best times is read: the first of these.
CAPTION_ENDINGS = (
    ".json3", ".json", ".vtt", ".srt", ".sbv", ".lrc", ".html", ".htm", ".txt", ".jsonl", ".ndjson",
)  # fmt: skip

_VIDEO_ID = re.compile(r"^(.*?)[ _-]*\[([A-Za-z0-9_-]{11})\]$")
_LANGUAGE_PART = re.compile(r"\.([a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,2})$")
_DATE = re.compile(r"(\d{4})(?:-?(\d{2})(?:-?(\d{2}))?)?(?:[T ].*)?")
_LIMIT = 500  # characters of a title or name: longer ones are no titles
_DESCRIBING = {"title", "talk_id", "webpage_url", "media", "speakers"}
_SIDECAR_LIMIT = 20_000_000


def meta_from_notes(notes: Iterable[list[str]]) -> tuple[Meta, bool]:
    """What NOTE blocks say about the talk in `key: value` lines, and whether they ask to keep ids and cutting.

    Keys: talk_id, title, speakers (separated by `;`), event, date, language, media, chapter (`0:12:30 Title`, once for
    each) and `cutting: keep`. Other lines are comments.
    """
    found: dict[str, str] = {}
    chapters: list[Chapter] = []
    for note in notes:
        for line in [note[0].removeprefix("NOTE"), *note[1:]]:
            key, colon, value = line.partition(":")
            key, value = key.strip().lower(), _text(decode_references(value))
            if not colon or not value:
                continue
            if key == "chapter":
                chapters.extend(_chapter_line(value))
            else:
                found.setdefault(key, value)
    meta = meta_from_fields(found)
    return meta.or_else(Meta(chapters=_in_order(chapters))), found.get("cutting") == "keep"


def meta_from_fields(fields: Mapping[str, Any]) -> Meta:
    """What named fields say: our own names, those of yt-dlp, and the usual ones of other tools."""
    return Meta(
        talk_id=_first(fields, "talk_id", "id"),
        title=_first(fields, "title", "fulltitle"),
        speakers=_names(fields.get("speakers") or fields.get("speaker")),
        event=_first(fields, "event", "channel", "uploader"),
        date=iso_date(_first(fields, "date", "release_date", "upload_date")),
        language=_first(fields, "language"),
        media=_first(fields, "media", "webpage_url", "url"),
        chapters=_chapters(fields.get("chapters")),
        duration_ms=seconds_ms(fields.get("duration")) or 0,
    )


def meta_from_sidecar(path: Path, damaged: list[str] | None = None) -> Meta:
    """What the JSON file beside the captions says; nothing when there is none or it is no JSON object.

    `<name>.json` wins over `<name>.info.json`. Names are tried with and without the language (`Talk.en.vtt`). The name
    of an `.info.json` that can't be read is added to `damaged`; any other `.json` may be something else.
    """
    meta = Meta()
    for stem in stems(path.name):
        for ending in (".json", ".info.json"):
            sidecar = path.with_name(stem + ending)
            if sidecar.name != path.name:
                found = _sidecar(sidecar)
                if found is None and ending == ".info.json" and damaged is not None:
                    damaged.append(sidecar.name)
                meta = meta.or_else(found or Meta())
    return meta


def is_sidecar(document: object) -> bool:
    """True for a JSON object that describes a recording and holds no captions."""
    return isinstance(document, dict) and not _DESCRIBING.isdisjoint(document)


def meta_from_name(name: str) -> Meta:
    """Title, video and language from a file name such as yt-dlp's `Title [VIDEOID].en.vtt`."""
    stem = stems(name)[-1]
    language = stems(name)[0][len(stem) :].removeprefix(".")
    if match := _VIDEO_ID.match(stem):
        return Meta(
            title=_text(match[1]) or match[2], media=f"https://www.youtube.com/watch?v={match[2]}", language=language
        )
    return Meta(title=_text(stem.replace("_", " ")), language=language)


def stems(name: str) -> list[str]:
    """A file's name without its endings: `["Talk.en", "Talk"]` for `Talk.en.vtt.gz`; one entry without a language."""
    stem = name
    for endings in ((".gz",), CAPTION_ENDINGS):
        for ending in endings:
            if stem.lower().endswith(ending) and len(stem) > len(ending):
                stem = stem[: -len(ending)]
                break
    shorter = _LANGUAGE_PART.sub("", stem)
    return [stem, shorter] if shorter and shorter != stem else [stem]


def iso_date(text: str) -> str:
    """`20250614`, `2025-06-14T10:00` or `2025` as ISO 8601; "" when the text is no date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return ""
    year, month, day = match.groups()
    try:
        date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    return "-".join(part for part in (year, month, day) if part)


def _sidecar(path: Path) -> Meta | None:
    """What the file says, nothing where there is none; None when it can't be read."""
    try:
        if not path.is_file():
            return Meta()
        if path.stat().st_size > _SIDECAR_LIMIT:
            return None
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return meta_from_fields(document) if is_sidecar(document) else Meta()


def _first(fields: Mapping[str, Any], *keys: str) -> str:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and (text := _text(str(value))):
            return text
    return ""


def _names(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else re.split(r"\s*;\s*", value) if isinstance(value, str) else []
    names = [_text(name) for name in listed if isinstance(name, str)]
    return tuple(dict.fromkeys(name for name in names if name))


def _chapters(value: object) -> tuple[Chapter, ...]:
    found = []
    for entry in value if isinstance(value, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("title"), str):
            continue
        start_ms = entry["start_ms"] if type(entry.get("start_ms")) is int else seconds_ms(entry.get("start_time"))
        title = _text(entry["title"])
        if start_ms is not None and start_ms >= 0 and title:
            found.append(Chapter(start_ms, title))
    return _in_order(found)


def _chapter_line(value: str) -> list[Chapter]:
    time, _, title = value.partition(" ")
    start_ms = clock_ms(time)
    return [Chapter(start_ms, title.strip())] if start_ms is not None and title.strip() else []


def _in_order(chapters: Iterable[Chapter]) -> tuple[Chapter, ...]:
    return tuple(sorted(chapters, key=lambda chapter: chapter.start_ms))


def _text(text: str) -> str:
    return one_line(text[: 4 * _LIMIT])[:_LIMIT].strip()
