"""Talks and their vectors on disk: the truth, from which the index can always be built anew.

    talks/<talk_id>.json                       metadata, cues, digests; readable by a person
    vectors/<model>/<talk_id>.<digest>.npy     the vectors of exactly that content
    superseded/<talk_id>.<digest>.json         replaced versions that a published index may still point at
    recordings/<digest>.<ending>               recordings that came with uploaded captions (`rag.recordings`)
    library_id                                 names this library on a Chroma server; made when first needed

Vectors are written first; the talk's JSON file, which names its content by digest, is the commit point.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rag.embed import Vectors
from rag.errors import NewerFormat, StoreError, unknown_talk
from rag.files import sync_folder, write_whole
from rag.recordings import discard_all_but
from rag.types import Chapter, Cue, Talk
from rag.windows import TEXT_FORM, passages, sentences

FORMAT = 2
_TALKS_IN_MEMORY = 64
_IDENTITY = re.compile(r"[0-9a-f]{12}")
_SAFE_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")


@dataclass(frozen=True, slots=True)
class StoredTalk:
    """A talk as it lies in the library. `digest` names all of it, `text_digest` what its vectors were made from."""

    talk: Talk
    digest: str
    text_digest: str


@dataclass(frozen=True, slots=True)
class TalkVectors:
    """The vectors of one talk: a row for each of its `passages()` and a row for each cue."""

    passages: Vectors
    sentences: Vectors


class Library:
    """The talks below one folder (`RAG_HOME`). Any number of readers; one writer at a time (see `rag.index`)."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._talks = home / "talks"
        self._vectors = home / "vectors"
        self._superseded = home / "superseded"

    def identity(self) -> str:
        """What tells this library from others that share a server: 12 hex digits. Call with the writer's lock held."""
        path = self.home / "library_id"
        found = path.read_text(encoding="ascii", errors="replace").strip() if path.is_file() else ""
        if not _IDENTITY.fullmatch(found):
            found = uuid.uuid4().hex[:12]
            write_whole(path, lambda file: file.write(f"{found}\n".encode()))
        return found

    def ids(self) -> list[str]:
        """Ids of all stored talks, sorted."""
        return sorted(path.stem for path in self._talks.glob("*.json") if not path.name.startswith("."))

    def get(self, talk_id: str) -> Talk:
        """The stored talk. Raises `UsageError` when there is none of that id."""
        stored = self.record(talk_id)
        if stored is None:
            raise unknown_talk(talk_id)
        return stored.talk

    def record(self, talk_id: str) -> StoredTalk | None:
        """The stored talk with its digests, None when there is none. Raises `StoreError` for a damaged file."""
        if not is_safe_id(talk_id):
            return None
        return _read(self._talks / f"{talk_id}.json")

    def sound_record(self, talk_id: str) -> StoredTalk | None:
        """Like `record`, but a damaged file counts as no talk: what a writer needs that is about to replace it.

        Raises `NewerFormat` all the same: nothing may replace a talk that is only unknown here.
        """
        try:
            return self.record(talk_id)
        except NewerFormat:
            raise
        except StoreError:
            return None

    def version(self, talk_id: str, digest: str) -> StoredTalk | None:
        """The talk exactly as it was when its digest was `digest`; None when that version is gone."""
        # A writer moves the old version aside before it puts the new one in place, so one of two looks finds it.
        for _ in range(2):
            stored = self.sound_record(talk_id)
            if stored is not None and stored.digest == digest:
                return stored
            old = _read(self._superseded / f"{talk_id}.{digest}.json")
            if old is not None:
                return old
        return None

    def vectors(self, stored: StoredTalk, model: str) -> TalkVectors | None:
        """The vectors of exactly that content by that model, memory-mapped; None when missing or damaged."""
        path = self._vector_path(stored.talk.id, stored.text_digest, model)
        try:
            # As a plain array: each slice of numpy's own class for mapped files takes several times as long.
            rows = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError, EOFError):
            return None
        count = len(passages(stored.talk))
        if rows.ndim != 2 or rows.dtype != np.float32 or len(rows) != count + len(stored.talk.cues):
            return None
        return TalkVectors(rows[:count], rows[count:])

    def put_vectors(self, stored: StoredTalk, vectors: Vectors, model: str) -> None:
        """Store the vectors of a talk, a row for each of `embedded_texts(talk)`, before the talk itself."""
        expected = len(passages(stored.talk)) + len(stored.talk.cues)
        if len(vectors) != expected:
            raise ValueError(f"talk {stored.talk.id}: {len(vectors)} vectors for {expected} texts")
        rows = np.ascontiguousarray(vectors, np.float32)
        path = self._vector_path(stored.talk.id, stored.text_digest, model)
        write_whole(path, lambda file: np.save(file, rows))

    def put(self, stored: StoredTalk) -> None:
        """Store or replace a talk as a whole: from here on it counts as committed."""
        talk_id = stored.talk.id
        if not is_safe_id(talk_id):
            raise StoreError(f"talk id {talk_id!r}: expected 1 to 120 letters, digits, '.', '_' or '-'; choose another")
        self._keep_old(talk_id)
        document = json.dumps(_to_json(stored), ensure_ascii=False, indent=1).encode()
        write_whole(self._talks / f"{talk_id}.json", lambda file: file.write(document))

    def remove(self, talk_id: str) -> None:
        """Forget a talk. Raises `UsageError` when there is none of that id."""
        if not is_safe_id(talk_id) or not (self._talks / f"{talk_id}.json").exists():
            raise unknown_talk(talk_id)
        self._keep_old(talk_id)
        (self._talks / f"{talk_id}.json").unlink()
        sync_folder(self._talks)

    def set_aside(self, talk_id: str) -> Path:
        """Rename a talk's damaged file, so that it counts no more but is not lost either; its new path."""
        damaged = self._talks / f"{talk_id}.json"
        names = [f"{talk_id}.json.damaged", *(f"{talk_id}.json.damaged-{n}" for n in range(2, 1000))]
        target = next(path for name in names if not (path := self._talks / name).exists())
        damaged.rename(target)
        sync_folder(self._talks)
        return target

    def leftovers(self) -> list[Path]:
        """Temporary files: of a writer at work, or of one that was killed."""
        return sorted(self.home.glob("*/**/.*.tmp"))

    def discard_leftovers(self) -> None:
        """Delete the temporary files of a writer that was killed. Call with the writer's lock held."""
        for path in self.leftovers():
            path.unlink(missing_ok=True)

    def discard_unused(self, in_use: set[tuple[str, str]]) -> None:
        """Delete superseded versions, vectors and recordings that neither the library nor an index still needs.

        `in_use` holds (talk id, digest) and (talk id, text digest) of every published index that is kept. What belongs
        to a talk that can't be read stays: nobody knows what it needs.
        """
        kept = set(in_use)
        unreadable = set()
        for talk_id in self.ids():
            try:
                stored = self.record(talk_id)
            except StoreError:
                unreadable.add(talk_id)
                continue
            if stored is not None:
                kept.add((talk_id, stored.text_digest))
        for path in [*self._superseded.glob("*.json"), *self._vectors.glob("*/*.npy")]:
            talk_id, _, digest = path.stem.rpartition(".")
            if (talk_id, digest) not in kept and talk_id not in unreadable:
                path.unlink(missing_ok=True)
        if not any(self._talks.glob("*.damaged*")):
            self._discard_recordings()

    def _discard_recordings(self) -> None:
        talks = [*self._talks.glob("[!.]*.json"), *self._superseded.glob("*.json")]
        try:
            heard = {stored.talk.media for path in talks if (stored := _read(path))}
        except StoreError:
            return  # nobody knows which recording the damaged talk names
        discard_all_but(self.home, heard)

    def _keep_old(self, talk_id: str) -> None:
        """Move aside a copy of the stored version, for readers whose index still points at it."""
        old = self.sound_record(talk_id)
        if old is None:
            return
        content = (self._talks / f"{talk_id}.json").read_bytes()
        write_whole(self._superseded / f"{talk_id}.{old.digest}.json", lambda file: file.write(content))

    def _vector_path(self, talk_id: str, digest: str, model: str) -> Path:
        return self._vectors / re.sub(r"[^A-Za-z0-9._-]+", "--", model) / f"{talk_id}.{digest}.npy"


def is_safe_id(talk_id: str) -> bool:
    """True for ids that are safe as a file name: 1 to 120 letters, digits, '.', '_' or '-', no leading dot."""
    return bool(_SAFE_ID.fullmatch(talk_id))


def embedded_texts(talk: Talk) -> list[str]:
    """The texts whose vectors a talk is stored with: its passages, then its single cues."""
    return [window.text for window in (*passages(talk), *sentences(talk))]


def content_digest(talk: Talk) -> str:
    """Names everything that is known of a talk but the place it was read from: 16 hex digits."""
    fields = _talk_json(talk)
    del fields["source"]
    return _digest(fields)


def text_digest(talk: Talk) -> str:
    """Names what a talk's vectors are made from: 16 hex digits. The same words at other times share it."""
    return _digest(["w8s3+cues/1", embedded_texts(talk)])  # since the first version: other words would embed all anew


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:16]


def _talk_json(talk: Talk) -> dict[str, Any]:
    return {
        "id": talk.id,
        "title": talk.title,
        "speakers": list(talk.speakers),
        "event": talk.event,
        "date": talk.date,
        "language": talk.language,
        "media": talk.media,
        "source": talk.source,
        "chapters": [{"start_ms": chapter.start_ms, "title": chapter.title} for chapter in talk.chapters],
        "cues": [
            {"id": cue.id, "start_ms": cue.start_ms, "end_ms": cue.end_ms, "text": cue.text, "speaker": cue.speaker}
            for cue in talk.cues
        ],
    }


def _to_json(stored: StoredTalk) -> dict[str, Any]:
    head = {"format": FORMAT, "digest": stored.digest, "text_form": TEXT_FORM, "text_digest": stored.text_digest}
    return head | _talk_json(stored.talk)


def _read(path: Path) -> StoredTalk | None:
    try:
        found = path.stat()
        return _parse(path, (found.st_ino, found.st_mtime_ns, found.st_size))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: can't be read ({error.strerror or error})") from error


@lru_cache(maxsize=_TALKS_IN_MEMORY)
def _parse(path: Path, version: tuple[int, int, int]) -> StoredTalk:  # noqa: ARG001  (it is part of the key)
    """The talk in a file; `version` tells one state of the file from the next, since an ingest looks several times."""
    content = path.read_bytes()
    try:
        data = json.loads(content)
        if data["format"] > FORMAT:
            raise NewerFormat(f"{path}: library format {data['format']}, expected at most {FORMAT}; update talkcite")
        talk = Talk(
            id=data["id"],
            title=data["title"],
            cues=tuple(Cue(**cue) for cue in data["cues"]),
            speakers=tuple(data["speakers"]),
            event=data["event"],
            date=data["date"],
            language=data["language"],
            media=data["media"],
            source=data["source"],
            chapters=tuple(Chapter(**chapter) for chapter in data["chapters"]),
        )
        # Format 1 names no form.
        is_current = data.get("text_form") == TEXT_FORM
        return StoredTalk(talk, data["digest"], data["text_digest"] if is_current else text_digest(talk))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path}: damaged ({type(error).__name__}: {error}), expected a talk as JSON; "
            "ingest its captions again; 'python -m rag doctor --repair' sets the file aside"
        ) from error
