"""Addresses of videos and playlists -> caption tracks. The only file that knows yt-dlp, which is an optional extra.

Captions made by people come before automatic ones. Each video is asked for on its own, so that one that is private,
blocked or without captions costs one line and the others go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ingest.metadata import meta_from_fields
from ingest.read import MAX_BYTES
from ingest.sources import Missing, Source
from ingest.text import one_line
from ingest.types import Unreadable

_FORMATS = ("json3", "vtt", "srt")  # best times first
_MAX_DEPTH = 2  # a channel holds playlists of videos
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(r"^(?:ERROR:\s*)?(?:\[[\w:+-]+\]\s*)?")
_TIMEOUT_S = 30


class _Silent:
    """Keeps yt-dlp from printing; its errors arrive as exceptions."""

    def debug(self, message: str) -> None:
        """Say nothing."""

    def warning(self, message: str) -> None:
        """Say nothing."""

    def error(self, message: str) -> None:
        """Say nothing."""


def find_tracks(address: str, lang: str) -> Iterator[Source | Missing]:
    """A caption track for each video behind an address, or why there is none."""
    try:
        from yt_dlp import YoutubeDL  # optional, and a second to load
    except ImportError:
        yield Missing(address, "needs yt-dlp: pip install '.[youtube]'")
        return
    settings = {
        "quiet": True,
        "no_warnings": True,
        "noprogress": True,
        "skip_download": True,
        "extract_flat": "in_playlist",
        "ignore_no_formats_error": True,
        "socket_timeout": _TIMEOUT_S,
        "logger": _Silent(),
    }
    with YoutubeDL(settings) as loader:
        yield from _videos(loader, address, lang, depth=0)


def _videos(loader: Any, address: str, lang: str, depth: int) -> Iterator[Source | Missing]:
    from yt_dlp.utils import YoutubeDLError

    try:
        info = loader.extract_info(address, download=False)
    except YoutubeDLError as error:
        yield Missing(address, _reason(error))
        return
    if info is None:
        yield Missing(address, "yt-dlp found nothing there")
    elif info.get("_type") != "playlist":
        yield _track(loader, address, info, lang)
    elif depth >= _MAX_DEPTH:
        yield Missing(address, "a playlist inside playlists; give its own address")
    else:
        yield from _entries(loader, info, lang, depth)


def _entries(loader: Any, playlist: Mapping[str, Any], lang: str, depth: int) -> Iterator[Source | Missing]:
    address = playlist.get("webpage_url") or ""
    for entry in playlist.get("entries") or ():
        if not entry:
            yield Missing(address, "a video of the playlist is private or gone")
        elif entry.get("_type") in ("url", "url_transparent"):
            yield from _videos(loader, entry["url"], lang, depth + 1)
        else:
            yield _track(loader, entry.get("webpage_url") or address, entry, lang)


def _track(loader: Any, address: str, info: Mapping[str, Any], lang: str) -> Source | Missing:
    human, automatic = info.get("subtitles") or {}, info.get("automatic_captions") or {}
    for tracks in (human, automatic):
        language = _language(tracks, lang)
        found = next((t for ext in _FORMATS for t in tracks.get(language, ()) if t.get("ext") == ext), None)
        if found is not None:
            name = f"{info.get('id') or 'video'}.{found['ext']}"
            place = info.get("webpage_url") or address
            meta = replace(meta_from_fields(info), language=language.removesuffix("-orig"), media=place)
            return Source(address, name, place, partial(_load, loader, found), meta=meta, is_named=True)
    offered = ", ".join(sorted(key for key in human if key != "live_chat"))
    what = f"no captions in {lang!r}" if offered or automatic else "no captions"
    return Missing(address, f"{what}; there are {offered}, choose with --lang" if offered else what)


def _language(tracks: Mapping[str, Any], lang: str) -> str:
    """The track's key for a language: what was spoken before a translation, then a regional kind of it."""
    wanted = (f"{lang}-orig", lang)
    regional = sorted(key for key in tracks if key.startswith(f"{lang}-"))
    # A page that does not name its one track's language is taken at its word.
    unnamed = ["und"] if "und" in tracks else list(tracks) if len(tracks) == 1 and not next(iter(tracks)) else []
    return next((key for key in (*wanted, *regional, *unnamed) if key in tracks), "")


def _load(loader: Any, track: Mapping[str, Any]) -> bytes:
    from yt_dlp.utils import YoutubeDLError

    if isinstance(track.get("data"), str):
        return bytes(track["data"], "utf-8")
    try:
        data: bytes = loader.urlopen(track["url"]).read(MAX_BYTES + 1)
    except (YoutubeDLError, OSError) as error:
        raise Unreadable(f"the caption track can't be fetched ({_reason(error)})") from None
    if len(data) > MAX_BYTES:
        raise Unreadable(f"a caption track of more than {MAX_BYTES:,} bytes, the limit for one file")
    return data


def _reason(error: BaseException) -> str:
    """yt-dlp's message as one line, without its prefixes and advice."""
    message = _PREFIX.sub("", one_line(_COLOURS.sub("", str(error))))
    return re.split(r"; please report|\. Use --|\s+See\s+https?:", message, maxsplit=1)[0][:300] or type(error).__name__
