"""Talk -> text that ingests to the same talk. Pure.

`talk_vtt` writes one talk as WebVTT with ids, voice tags and a NOTE header; `corpus_lines` writes talks as JSON Lines.
Both say `cutting: keep`, which tells ingest that cues and ids are final. The place a talk was read from is left out: it
is another place once the file is read again.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator

from rag.types import Cue, Talk


def talk_vtt(talk: Talk) -> str:
    """The talk as a WebVTT file."""
    lines = ["WEBVTT", "", "NOTE", *_note(talk), ""]
    for cue in talk.cues:
        voice = f"<v {_escaped(cue.speaker)}>" if cue.speaker else ""
        lines += [cue.id, f"{_time(cue.start_ms)} --> {_time(cue.end_ms)}", voice + _escaped(cue.text), ""]
    return "\n".join(lines)


def corpus_lines(talks: Iterable[Talk]) -> Iterator[str]:
    """Each talk as one line of JSON, without a line end."""
    for talk in talks:
        fields = {
            "talk_id": talk.id,
            "title": talk.title,
            "speakers": list(talk.speakers),
            "event": talk.event,
            "date": talk.date,
            "language": talk.language,
            "media": talk.media,
            "cutting": "keep",
            "chapters": [{"start_ms": chapter.start_ms, "title": chapter.title} for chapter in talk.chapters],
            "cues": [_cue_json(cue) for cue in talk.cues],
        }
        yield json.dumps(fields, ensure_ascii=False)


def _note(talk: Talk) -> Iterator[str]:
    fields = {
        "talk_id": talk.id,
        "title": talk.title,
        "speakers": "; ".join(talk.speakers),
        "event": talk.event,
        "date": talk.date,
        "language": talk.language,
        "media": talk.media,
        "cutting": "keep",
    }
    # An arrow would end the comment, so it is written as the reference that ingest decodes.
    yield from (f"{key}: {_arrowless(value)}" for key, value in fields.items() if value)
    for chapter in talk.chapters:
        yield f"chapter: {_time(chapter.start_ms)} {_arrowless(chapter.title)}"


def _cue_json(cue: Cue) -> dict[str, str | int]:
    fields: dict[str, str | int] = {"id": cue.id, "start_ms": cue.start_ms, "end_ms": cue.end_ms, "text": cue.text}
    return fields | ({"speaker": cue.speaker} if cue.speaker else {})


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _arrowless(text: str) -> str:
    return text.replace("&", "&amp;").replace("-->", "--&gt;")


def _time(ms: int) -> str:
    """`hh:mm:ss.mmm`, with more digits for the hours where needed."""
    return f"{ms // 3_600_000:02}:{ms // 60_000 % 60:02}:{ms // 1000 % 60:02}.{ms % 1000:03}"
