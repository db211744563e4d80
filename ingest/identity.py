"""Which id a talk gets, and whether it is one that is stored already.

The id comes from the option, sidecar, NOTE `talk_id`, the recording's id, or the title. Two different talks never share
one: a newcomer that is not the same talk gets `-2`, `-3`, … behind it, and the same file gets the same id every time.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.text import slug
from rag.links import vimeo_id, youtube_id
from rag.recordings import is_kept
from rag.types import Talk

if TYPE_CHECKING:  # importing it loads numpy, which a health report does without
    from rag.library import Library

UPLOAD = "upload: "
_LONGEST = 100  # the library takes 120 characters: this leaves room for a suffix
_SAFE_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A talk on its way into the library. `talk.id` is the id it asks for.

    `is_explicit`: somebody chose that id, it is not made from the title or recording. `is_named_by_file`: the title is
    only the file's name. `is_alone`: the file holds no other talk.
    """

    talk: Talk
    is_explicit: bool
    is_named_by_file: bool
    is_alone: bool = True


def safe_id(text: str) -> str:
    """`text` as a talk id: unchanged where it is one, else with hyphens for what a file name can't hold."""
    if _SAFE_ID.fullmatch(text):
        return text
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    made = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.")
    if len(made) <= _LONGEST and made:
        return made
    return f"{made[: _LONGEST - 9] or 'talk'}-{_short_digest(text)}"


def id_from_title(title: str) -> str:
    """The title in lower case with hyphens; with a digest where letters of other scripts had to go."""
    name = slug(title)
    plain = re.sub(r"[^a-z0-9-]+", "", name).strip("-")
    if plain == name and plain and len(plain) <= _LONGEST:
        return plain
    return f"{plain[: _LONGEST - 9].strip('-') or 'talk'}-{_short_digest(title)}"


def id_from_media(media: str) -> str:
    """The video's id for YouTube and Vimeo addresses, "" for any other recording."""
    return youtube_id(media) or vimeo_id(media)


@dataclass(frozen=True, slots=True)
class _Known:
    id: str
    source: str
    cues: int
    duration_ms: int


class Identities:
    """Decides ids against one library, and remembers what was decided in this run."""

    def __init__(self, library: Library) -> None:
        self._library = library
        # A damaged talk is nobody's: it is said when the index is published, and must not stop all the others.
        stored = [record for talk_id in library.ids() if (record := library.sound_record(talk_id))]
        self._known = {record.talk.id: _known(record.talk) for record in stored}
        self._claimed: dict[str, str] = {}

    def settle(self, draft: Draft) -> tuple[str, str]:
        """The id for a talk, and a line for the user when it replaces or renames something, else ""."""
        talk_id, note = self._decide(draft)
        self._claimed[talk_id] = draft.talk.source
        self._known[talk_id] = _known(draft.talk, talk_id)
        return talk_id, note

    def former_ids(self, draft: Draft, talk_id: str) -> list[str]:
        """Ids under which the same file's one talk was stored before it was given `talk_id`."""
        if not draft.is_alone:
            return []
        return [k.id for k in self._known.values() if _same_place(k.source, draft.talk.source) and k.id != talk_id]

    def gone(self, below: list[Path]) -> list[tuple[str, str]]:
        """Stored talks whose file is gone: (id, source).

        A file counts as gone when the folder it was in is still there, or it was below one of the given paths: a disk
        that is not plugged in takes no talk with it.
        """
        found = []
        for known in self._known.values():
            source = Path(known.source)
            if known.id in self._claimed or not source.is_absolute() or _exists(source):
                continue
            if source.parent.is_dir() or any(source.is_relative_to(path) for path in below):
                found.append((known.id, known.source))
        return sorted(found)

    def forget(self, talk_id: str) -> None:
        """The talk was removed."""
        self._known.pop(talk_id, None)

    def _decide(self, draft: Draft) -> tuple[str, str]:
        wanted, source = draft.talk.id, draft.talk.source
        if draft.is_alone and not draft.is_explicit:
            for known in self._known.values():  # links to a talk must not die because its file now says more about it
                if _same_place(known.source, source) and known.id not in self._claimed:
                    return known.id, ""
        number = 1
        while True:
            talk_id = wanted if number == 1 else f"{wanted}-{number}"
            stored = self._library.record(talk_id) if talk_id in self._known else None
            if stored is None:
                return self._moved(draft) or (talk_id, "" if number == 1 else f"another talk has the id {wanted}")
            if self._is_same(stored.talk, draft):
                if _same_place(stored.talk.source, source) or stored.talk.cues == draft.talk.cues:
                    return talk_id, ""
                return talk_id, f"replaces talk {talk_id} as read from {stored.talk.source}"
            number += 1

    def _is_same(self, stored: Talk, draft: Draft) -> bool:
        talk = draft.talk
        if _same_place(stored.source, talk.source):
            return self._claimed.get(stored.id) != talk.source  # a file's second talk is not its first
        media = [id_from_media(media) or media for media in (stored.media, talk.media)]
        if all(media) and media[0] == media[1]:
            return True
        same_title = stored.title.casefold() == talk.title.casefold()
        if draft.is_explicit or not same_title:
            return same_title
        if all(media) and not is_kept(talk.media):  # an upload may bring a better copy of the recording
            return False
        # Two files called keynote.vtt are two talks, unless the first has moved here.
        return not (draft.is_named_by_file and _exists(Path(stored.source)) and stored.cues != talk.cues)

    def _moved(self, draft: Draft) -> tuple[str, str] | None:
        """The stored talk with the same cues whose file is gone, when the id may follow the file's name."""
        if draft.is_explicit:
            return None
        talk = draft.talk
        for known in self._known.values():
            if (known.cues, known.duration_ms) != (len(talk.cues), talk.duration_ms) or known.id in self._claimed:
                continue
            if not _exists(Path(known.source)) and self._library.get(known.id).cues == talk.cues:
                return known.id, f"moved here from {known.source}"
        return None


def _known(talk: Talk, talk_id: str = "") -> _Known:
    return _Known(talk_id or talk.id, talk.source, len(talk.cues), talk.duration_ms)


def _same_place(source: str, other: str) -> bool:
    """True for one and the same file or address; the name of an upload says nothing about where it was."""
    return source == other and not source.startswith(UPLOAD)


def _exists(source: Path) -> bool:
    """True when the file is there, or the archive that it is in."""
    return any(path.is_file() for path in (source, *source.parents))


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
