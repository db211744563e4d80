"""What a published index generation holds: its table of contents, and the pointer to the one that counts.

index/CURRENT                      the name of the generation that counts, "gen-000007"
index/gen-000007/manifest.json     written last; a generation without one was never finished
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag.files import write_whole
from rag.library import StoredTalk
from rag.types import Chapter, Filters
from rag.windows import TEXT_FORM, passages

FORMAT = 1


@dataclass(frozen=True, slots=True)
class TalkInfo:
    """What is known of an indexed talk without reading its cues. `cues` and `windows` are counts."""

    id: str
    title: str
    speakers: tuple[str, ...]
    event: str
    date: str
    language: str
    cues: int
    windows: int
    duration_ms: int
    media: str
    source: str
    chapters: tuple[Chapter, ...]
    digest: str
    text_digest: str

    @property
    def year(self) -> str:
        """The year of `date` as four digits, "" when unknown."""
        return self.date[:4]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of one generation and the model whose vectors it holds.

    `collection` names the one on the Chroma server that keeps them; "" means the generation's own folder.
    """

    model: str
    dim: int
    talks: dict[str, TalkInfo]
    collection: str = ""
    text_form: str = TEXT_FORM
    format: int = FORMAT

    @property
    def is_of_this_version(self) -> bool:
        """True when its passages are cut and named as they are now; an index of other ones can't be asked."""
        return (self.format, self.text_form) == (FORMAT, TEXT_FORM)

    @property
    def windows(self) -> int:
        """Number of passages over all talks."""
        return sum(info.windows for info in self.talks.values())

    @property
    def digests(self) -> dict[str, str]:
        """Talk id -> digest of its content."""
        return {info.id: info.digest for info in self.talks.values()}

    def select(self, filters: Filters) -> frozenset[str] | None:
        """Ids of the talks that pass the filters; None when there is no filter.

        Names and events are compared without regard to letter case.
        """
        if not filters:
            return None

        def passes(wanted: str, present: Iterable[str]) -> bool:
            return not wanted or wanted.casefold() in (name.casefold() for name in present)

        return frozenset(
            info.id
            for info in self.talks.values()
            if passes(filters.talk, [info.id])
            and passes(filters.speaker, info.speakers)
            and passes(filters.event, [info.event])
            and passes(filters.year, [info.year])
        )

    def unlike(self, other: Manifest) -> str:
        """Why vectors of `other` can't be added to these, "" when they can: one model, way and place for all."""
        if (self.model, self.dim) != (other.model, other.dim):
            return f"it was made with {self.model}, now {other.model}"
        if self.collection != other.collection:
            return "its vectors move " + ("to the Chroma server" if other.collection else "into the library's folder")
        if (self.format, self.text_form) != (other.format, other.text_form):
            return "it was made by another version"
        return ""


def describe(stored: StoredTalk) -> TalkInfo:
    """The manifest's entry for a stored talk."""
    talk = stored.talk
    return TalkInfo(
        id=talk.id,
        title=talk.title,
        speakers=talk.speakers or tuple(dict.fromkeys(cue.speaker for cue in talk.cues if cue.speaker)),
        event=talk.event,
        date=talk.date,
        language=talk.language,
        cues=len(talk.cues),
        windows=len(passages(talk)),
        duration_ms=talk.duration_ms,
        media=talk.media,
        source=talk.source,
        chapters=talk.chapters,
        digest=stored.digest,
        text_digest=stored.text_digest,
    )


def index_folder(home: Path) -> Path:
    """Where the generations of the library at `home` lie."""
    return home / "index"


def current_name(home: Path) -> str:
    """The name of the published generation, "" when there is none."""
    try:
        return (index_folder(home) / "CURRENT").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def set_current(home: Path, name: str) -> None:
    """Publish a generation: from now on readers open `name`."""
    write_whole(index_folder(home) / "CURRENT", lambda file: file.write(f"{name}\n".encode()))


def write_manifest(generation: Path, manifest: Manifest) -> None:
    """Write the table of contents, which makes a generation complete."""
    content = json.dumps(asdict(manifest), ensure_ascii=False, indent=1).encode()
    write_whole(generation / "manifest.json", lambda file: file.write(content))


def read_manifest(generation: Path) -> Manifest | None:
    """The table of contents of a generation; None when it is missing or damaged."""
    try:
        data = json.loads((generation / "manifest.json").read_bytes())
        data["talks"] = {talk_id: _talk_info(info) for talk_id, info in data["talks"].items()}
        return Manifest(**data)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def current_manifest(home: Path) -> Manifest | None:
    """The table of contents of the published generation; None when there is none, or it is damaged."""
    name = current_name(home)
    return read_manifest(index_folder(home) / name) if name else None


def _talk_info(data: dict[str, Any]) -> TalkInfo:
    chapters = tuple(Chapter(**chapter) for chapter in data.pop("chapters"))
    speakers = tuple(data.pop("speakers"))
    return TalkInfo(**data, chapters=chapters, speakers=speakers)
