"""Recordings on this machine: which files may be played, and the route that plays them in ranges.

A client names a talk, never a file. Which file that is, the library says; and because captions may come from
strangers and name any file as their recording, only files whose name ends like audio or video are ever opened.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse

from rag.errors import UsageError
from rag.links import is_address
from rag.recordings import is_kept
from rag.types import Talk

_VIDEO = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/mp4",
    ".webm": "video/webm",
    ".mkv": "video/webm",
    ".ogv": "video/ogg",
}
_AUDIO = {
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".aac": "audio/aac",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
    ".flac": "audio/flac",
}
_TYPES = _VIDEO | _AUDIO


def recording(media: str, home: Path) -> Path | None:
    """The playable file that `media` names; None when it is an address, no absolute path, no recording, or gone.

    Uploaded recordings lie in the library at `home`.
    """
    if not media or is_address(media) or "\0" in media:
        return None
    path = home.absolute() / media if is_kept(media) else Path(media)
    return path if path.is_absolute() and path.suffix.lower() in _TYPES and path.is_file() else None


def is_video(path: Path) -> bool:
    """True when the recording has pictures, going by its name."""
    return path.suffix.lower() in _VIDEO


def media_routes(find_talk: Callable[[str], Talk], home: Path) -> APIRouter:
    """`GET /desk/media/{talk_id}`: the recording of a talk, whole or in the asked ranges (206).

    404 for an unknown talk and for one without a recording on this machine.
    """
    router = APIRouter()

    @router.api_route("/desk/media/{talk_id}", methods=["GET", "HEAD"])
    def media(talk_id: str) -> FileResponse:
        try:
            path = recording(find_talk(talk_id).media, home)
        except UsageError as error:
            raise HTTPException(404, "There is no such talk.") from error
        if path is None:
            raise HTTPException(404, "This talk has no recording on this machine.")
        kind = _TYPES[path.suffix.lower()]
        return FileResponse(path, media_type=kind, headers={"Cache-Control": "private, no-cache"})

    return router
