"""Records -> the JSON that commands, API and MCP hand out. Scripts rely on these names."""

from __future__ import annotations

from typing import Any

from rag.links import link
from rag.manifest import TalkInfo
from rag.settings import Settings
from rag.types import Answer, Citation, Cue, Evidence, Hit, Talk

Json = dict[str, Any]


class Wire:
    """Writes records as JSON; the settings decide how far links lead in and where our own page is reached."""

    def __init__(self, settings: Settings) -> None:
        self._lead_in_ms = round(settings.lead_in_s * 1000)
        self._public_url = settings.public_url

    def url(self, talk: Talk, cue: Cue) -> str:
        """The address that opens a talk at a cue."""
        return link(talk, cue.id, cue.start_ms, lead_in_ms=self._lead_in_ms, public_url=self._public_url)

    def hit(self, hit: Hit) -> Json:
        """A moment that was found."""
        return self._moment(hit.talk, hit.cues) | {"score": round(hit.score, 6), "text": words(hit.cues)}

    def citation(self, citation: Citation) -> Json:
        """A moment that an answer rests on."""
        moment = self._moment(citation.talk, citation.cues)
        return {"n": citation.n} | moment | {"quote": words(citation.cues)}

    def search(self, query: str, found: Evidence) -> Json:
        """What `rag search` prints."""
        return {"query": query, "hits": [self.hit(hit) for hit in found.hits], "notice": found.notice}

    def answer(self, answer: Answer) -> Json:
        """What `rag ask` prints."""
        return {
            "question": answer.question,
            "searched": answer.searched,
            "answer": answer.text,
            "abstained": answer.abstained,
            "missing": answer.missing,
            "confidence": round(answer.confidence, 4),
            "talks_searched": answer.talks_searched,
            "claims": [
                {"text": claim.text, "support": claim.support, "citations": list(claim.citations)}
                for claim in answer.claims
            ],
            "citations": [self.citation(citation) for citation in answer.citations],
            "nearest": [self.hit(hit) for hit in answer.nearest],
            "answered_by": answer.answered_by,
            "notice": answer.notice,
            "usage": answer.usage,
            "timings_ms": {step: round(ms, 1) for step, ms in answer.timings_ms.items()},
        }

    def _moment(self, talk: Talk, cues: tuple[Cue, ...]) -> Json:
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


def talk_json(info: TalkInfo) -> Json:
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


def transcript_json(talk: Talk) -> Json:
    """What `rag transcript` prints: the talk with its cues."""
    head = {
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
    }
    return head | {
        "cues": [
            {"id": cue.id, "start_ms": cue.start_ms, "end_ms": cue.end_ms, "text": cue.text, "speaker": cue.speaker}
            for cue in talk.cues
        ]
    }
