"""Records -> the JSON that commands, API and MCP hand out. `rag.schema` declares its fields."""

from __future__ import annotations

from pathlib import PurePath
from typing import TypeVar

from rag import schema
from rag.links import is_address, link
from rag.manifest import TalkInfo
from rag.settings import Settings
from rag.types import Answer, CheckedClaim, Citation, Cue, Evidence, Hit, Talk

AnyTalk = TypeVar("AnyTalk", schema.TalkEntry, schema.Transcript)


class Wire:
    """Writes records as JSON; the settings decide how far links lead in and where our own page is reached."""

    def __init__(self, settings: Settings) -> None:
        self._lead_in_ms = round(settings.lead_in_s * 1000)
        self._public_url = settings.public_url

    def url(self, talk: Talk, cue: Cue) -> str:
        """The address that opens a talk at a cue."""
        return link(talk, cue.id, cue.start_ms, lead_in_ms=self._lead_in_ms, public_url=self._public_url)

    def hit(self, hit: Hit) -> schema.Hit:
        """A moment that was found."""
        return {**self._moment(hit.talk, hit.cues), "score": round(hit.score, 6), "text": words(hit.cues)}

    def citation(self, citation: Citation) -> schema.Citation:
        """A moment that an answer rests on."""
        return {"n": citation.n, **self._moment(citation.talk, citation.cues), "quote": words(citation.cues)}

    def claim(self, claim: CheckedClaim) -> schema.Claim:
        """One sentence of an answer."""
        return {"text": claim.text, "support": claim.support, "citations": list(claim.citations)}

    def search(self, query: str, found: Evidence) -> schema.Found:
        """What `rag search` prints."""
        return {"query": query, "hits": [self.hit(hit) for hit in found.hits], "notice": found.notice}

    def answer(self, answer: Answer) -> schema.Answer:
        """What `rag ask` prints."""
        return {
            "question": answer.question,
            "searched": answer.searched,
            "answer": answer.text,
            "abstained": answer.abstained,
            "missing": answer.missing,
            "confidence": round(answer.confidence, 4),
            "talks_searched": answer.talks_searched,
            "claims": [self.claim(claim) for claim in answer.claims],
            "citations": [self.citation(citation) for citation in answer.citations],
            "nearest": [self.hit(hit) for hit in answer.nearest],
            "answered_by": answer.answered_by,
            "notice": answer.notice,
            "usage": answer.usage,
            "timings_ms": {step: round(ms, 1) for step, ms in answer.timings_ms.items()},
        }

    def _moment(self, talk: Talk, cues: tuple[Cue, ...]) -> schema.Moment:
        return {
            "talk_id": talk.id,
            "title": talk.title,
            "first_cue": cues[0].id,
            "last_cue": cues[-1].id,
            "start_ms": cues[0].start_ms,
            "end_ms": max(cue.end_ms for cue in cues),
            "url": self.url(talk, cues[0]),
            "speakers": list(dict.fromkeys(cue.speaker for cue in cues if cue.speaker)),
        }


def words(cues: tuple[Cue, ...]) -> str:
    """What is said in these cues, as captioned; sound labels are left out unless there is nothing else."""
    spoken = [cue.text for cue in cues if not cue.is_sound_label]
    return " ".join(spoken or [cue.text for cue in cues])


def talk_json(info: TalkInfo) -> schema.TalkEntry:
    """One entry of what `rag talks` prints."""
    return {
        "talk_id": info.id,
        "title": info.title,
        "speakers": list(info.speakers),
        "event": info.event,
        "date": info.date,
        "language": info.language,
        "cues": info.cues,
        "duration_ms": info.duration_ms,
        "media": info.media,
        "source": info.source,
    }


def transcript_json(talk: Talk) -> schema.Transcript:
    """What `rag transcript` prints: the talk with its cues."""
    return {
        "talk_id": talk.id,
        "title": talk.title,
        "speakers": list(talk.speakers),
        "event": talk.event,
        "date": talk.date,
        "language": talk.language,
        "duration_ms": talk.duration_ms,
        "media": talk.media,
        "source": talk.source,
        "chapters": [{"start_ms": chapter.start_ms, "title": chapter.title} for chapter in talk.chapters],
        "cues": [
            {"id": cue.id, "start_ms": cue.start_ms, "end_ms": cue.end_ms, "text": cue.text, "speaker": cue.speaker}
            for cue in talk.cues
        ],
    }


def without_folders(talk: AnyTalk) -> AnyTalk:
    """`talk` for readers elsewhere: of a file on this machine they learn its name, not where it lies."""
    shown = talk.copy()
    shown["media"] = _file_name(talk["media"])
    shown["source"] = _file_name(talk["source"])
    return shown


def _file_name(place: str) -> str:
    return place if is_address(place) else PurePath(place).name
