"""Cue -> time code and address. Pure.

Addresses take whole seconds, rounded down, so that a link never starts after the first word of its sentence.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit

from rag.types import Talk

_YOUTUBE_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_YOUTUBE_HOSTS = {"youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "www.youtube-nocookie.com"}
_VIMEO_HOSTS = {"vimeo.com", "www.vimeo.com", "player.vimeo.com"}


def timecode(ms: int) -> str:
    """`983_000` -> "16:23", `3_723_000` -> "1:02:03". Milliseconds are dropped, never rounded up."""
    seconds = ms // 1000
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def is_address(media: str) -> bool:
    """True for http and https addresses; anything else is the name of a media file."""
    return media.startswith(("http://", "https://"))


def youtube_id(media: str) -> str:
    """The 11-character video id of a YouTube address in any usual form, "" for any other media."""
    parts = _split(media)
    if parts is None:
        return ""
    host, path = parts.hostname or "", parts.path
    if host == "youtu.be":
        found = path.lstrip("/")
    elif host in _YOUTUBE_HOSTS:
        segments = path.strip("/").split("/")
        if segments[0] in ("embed", "shorts", "live", "v") and len(segments) > 1:
            found = segments[1]
        else:
            found = dict(parse_qsl(parts.query)).get("v", "")
    else:
        return ""
    return found if _YOUTUBE_ID.fullmatch(found) else ""


def vimeo_id(media: str) -> str:
    """The number of a Vimeo video, "" for any other media."""
    parts = _split(media)
    if parts is None or parts.hostname not in _VIMEO_HOSTS:
        return ""
    match = re.search(r"/(\d+)(?:/|$)", parts.path)
    return match[1] if match else ""


def start_within(talk: Talk, start_ms: int, lead_in_ms: int = 0) -> int:
    """Where playback starts for a sentence at `start_ms`: the lead-in earlier, never below 0 nor past the end."""
    return max(0, min(start_ms - lead_in_ms, talk.duration_ms))


def link(talk: Talk, cue_id: str, start_ms: int, *, lead_in_ms: int = 0, public_url: str = "") -> str:
    """The address that opens `talk` at the cue `cue_id`, which starts at `start_ms`.

    YouTube: `…watch?v=ID&t=983s` (the short form keeps its form: `?t=983s`; embeds take `start=983`). Vimeo:
    `#t=983s`. A local recording or a host that knows no times: our own page (`public_url`) with talk, time and cue.
    Without media: the cue's anchor in the page, `#s199` behind the talk.
    """
    seconds = start_within(talk, start_ms, lead_in_ms) // 1000
    media = talk.media
    if youtube_id(media):
        parts = urlsplit(media)
        key, value = ("start", str(seconds)) if parts.path.startswith("/embed/") else ("t", f"{seconds}s")
        query = [(k, v) for k, v in parse_qsl(parts.query) if k not in ("t", "start", "time_continue")]
        return urlunsplit(parts._replace(query=urlencode([*query, (key, value)]), fragment=""))
    if vimeo_id(media):
        return urlunsplit(urlsplit(media)._replace(fragment=f"t={seconds}s"))
    return page_link(talk.id, cue_id, seconds if media else None, public_url=public_url)


def page_link(talk_id: str, cue_id: str, seconds: int | None, *, public_url: str = "") -> str:
    """Our own page, opened at a cue: `?talk=ID&t=983#s199`; without a time `?talk=ID#s199`."""
    query = [("talk", talk_id)] + ([] if seconds is None else [("t", str(seconds))])
    return f"{public_url}/?{urlencode(query, quote_via=quote)}#{quote(cue_id)}"


def embed_address(media: str, start_s: int = 0) -> str:
    """The address of an embedded player for YouTube or Vimeo media, "" for any other."""
    if video := youtube_id(media):
        return f"https://www.youtube-nocookie.com/embed/{video}?start={start_s}"
    if video := vimeo_id(media):
        return f"https://player.vimeo.com/video/{video}#t={start_s}s"
    return ""


def _split(media: str) -> SplitResult | None:
    """The parts of an http address; None for file names and malformed addresses."""
    if not is_address(media):
        return None
    try:
        return urlsplit(media)
    except ValueError:
        return None
