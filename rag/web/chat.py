"""Answer -> the data that the conversation shows. Pure.

The result is plain JSON; the page puts every string on the screen as text, so nothing is escaped here. The numbers
of the citations come from the answer's own table, which drives chips, source cards and the Markdown alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag.links import is_address, link, page_link, start_within, timecode
from rag.types import Answer, Citation, Cue, Hit, Span, Talk
from rag.wire import words

# As much of the sentence before and after a quote as a card shows, in characters.
_CONTEXT = 140


def answer_view(answer: Answer, *, lead_in_ms: int = 0) -> dict[str, Any]:
    """What the page shows of `answer`, complete or still growing.

    `nearest` (under a refusal) and `more` (found but not cited) are moments without a number.
    """
    cited = [(citation.talk.id, Span(citation.first, citation.last)) for citation in answer.citations]
    return {
        "searched": answer.searched,
        "done": answer.done,
        "abstained": answer.abstained,
        "missing": answer.missing,
        "talks_searched": answer.talks_searched,
        "answered_by": answer.answered_by,
        "notice": answer.notice,
        "claims": [
            {"text": claim.text, "support": claim.support, "citations": list(claim.citations)}
            for claim in answer.claims
        ],
        "citations": [{"n": citation.n, **_moment(citation, lead_in_ms)} for citation in answer.citations],
        "nearest": [_moment(hit, lead_in_ms) for hit in answer.nearest],
        "more": [_moment(hit, lead_in_ms) for hit in _uncited(answer.hits, cited)] if not answer.abstained else [],
    }


def _uncited(hits: Sequence[Hit], cited: Sequence[tuple[str, Span]]) -> list[Hit]:
    """The hits that share no cue with a citation."""

    def overlaps(hit: Hit) -> bool:
        return any(
            hit.talk.id == talk_id and hit.first <= last and first <= hit.last for talk_id, (first, last) in cited
        )

    return [hit for hit in hits if not overlaps(hit)]


def _moment(found: Citation | Hit, lead_in_ms: int) -> dict[str, Any]:
    """A citation or hit as the page shows it: where it is, who speaks, what is said, and the ways to it."""
    talk, cues = found.talk, found.cues
    start_ms = cues[0].start_ms
    play_ms = start_within(talk, start_ms, lead_in_ms)
    return {
        "talk": talk.id,
        "title": talk.title,
        "event": talk.event,
        "date": talk.date,
        "speakers": spoken_by(talk, cues),
        "cue": cues[0].id,
        "last_cue": cues[-1].id,
        "play_ms": play_ms,
        "end_ms": max(cue.end_ms for cue in cues),
        "duration_ms": talk.duration_ms,
        "time": timecode(start_ms),
        "quote": words(cues),
        "before": _shorten(talk.cues[found.first - 1].text, keep_end=True) if found.first else "",
        "after": _shorten(talk.cues[found.last + 1].text) if found.last + 1 < len(talk.cues) else "",
        "href": page_link(talk.id, cues[0].id, play_ms // 1000).removeprefix("/"),
        "url": link(talk, cues[0].id, start_ms, lead_in_ms=lead_in_ms) if is_address(talk.media) else "",
    }


def spoken_by(talk: Talk, cues: Sequence[Cue]) -> list[str]:
    """Who speaks in `cues`, in order of appearance; a talk's only speaker counts when its cues name none."""
    named = list(dict.fromkeys(cue.speaker for cue in cues if cue.speaker))
    if named:
        return named
    return list(talk.speakers) if len(talk.speakers) == 1 else []


def _shorten(text: str, *, keep_end: bool = False) -> str:
    """`text` cut to `_CONTEXT` characters at a blank, with an ellipsis where something was left out."""
    if len(text) <= _CONTEXT:
        return text
    if keep_end:
        tail = text[-_CONTEXT:]
        return "…" + tail.partition(" ")[2] if " " in tail else "…" + tail
    head = text[:_CONTEXT]
    return head.rpartition(" ")[0] + "…" if " " in head else head + "…"
