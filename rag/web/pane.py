"""Talk -> the data that talk list, player and transcript show. Pure but for one look at whether a recording exists."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from rag.links import is_address, vimeo_id, youtube_id
from rag.manifest import TalkInfo
from rag.types import Talk
from rag.web.media import is_video, recording


def list_view(talks: Iterable[TalkInfo]) -> list[dict[str, Any]]:
    """The talk list, newest first; talks without a date come last, and equal dates keep the order of titles."""
    by_title = sorted(talks, key=lambda talk: talk.title.casefold())
    return [
        {
            "id": talk.id,
            "title": talk.title,
            "speakers": list(talk.speakers),
            "event": talk.event,
            "date": talk.date,
            "duration_ms": talk.duration_ms,
        }
        for talk in sorted(by_title, key=lambda talk: talk.date, reverse=True)
    ]


def talk_view(talk: Talk, home: Path) -> dict[str, Any]:
    """A talk of the library at `home` with its transcript.

    A cue is `[id, start_ms, end_ms, text, speaker]` to keep long talks small.
    """
    return {
        "id": talk.id,
        "title": talk.title,
        "speakers": list(talk.speakers),
        "event": talk.event,
        "date": talk.date,
        "media": media_view(talk, home),
        "chapters": [[chapter.start_ms, chapter.title] for chapter in talk.chapters],
        "cues": [[cue.id, cue.start_ms, cue.end_ms, cue.text, cue.speaker] for cue in talk.cues],
    }


def media_view(talk: Talk, home: Path) -> dict[str, str]:
    """How the recording of `talk` is played.

    `kind` is youtube, vimeo (with `id`), video, audio (with `src`), link (a page that can't be embedded), missing (a
    recording that is not where the library says) or none. `url` is the address outside, if there is one.
    """
    media = talk.media
    if not media:
        return {"kind": "none"}
    if not is_address(media):
        path = recording(media, home)
        if path is None:
            return {"kind": "missing"}
        return {"kind": "video" if is_video(path) else "audio", "src": f"desk/media/{quote(talk.id, safe='')}"}
    if video := youtube_id(media):
        return {"kind": "youtube", "id": video, "url": media}
    if video := vimeo_id(media):
        return {"kind": "vimeo", "id": video, "url": media}
    return {"kind": "link", "url": media, "host": urlsplit(media).hostname or media}
