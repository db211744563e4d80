"""Answer -> Markdown for the clipboard: claims with links, then the sources with their quotes. Pure."""

from __future__ import annotations

import re

from rag.links import link, timecode
from rag.types import Answer, Citation
from rag.web.chat import spoken_by
from rag.wire import words

_MARKUP = re.compile(r"([\\`*_\[\]<>|~$&])")
_LINE_START = re.compile(r"^(\d+)([.)])|^([#+=-])")
_MARKS = {"weak": " *(weak support)*", "unsupported": " *(not backed by the talks)*"}


def answer_markdown(answer: Answer, *, public_url: str, lead_in_ms: int = 0) -> str:
    """`answer` in Markdown; links to recordings on this machine start with `public_url`, the address of the page.

    Every text of a talk or a model is escaped, so that it reads the same after rendering and can't add links.
    """

    def address(citation: Citation) -> str:
        cue = citation.cues[0]
        return link(citation.talk, cue.id, cue.start_ms, lead_in_ms=lead_in_ms, public_url=public_url)

    by_number = {citation.n: citation for citation in answer.citations}
    lines = [f"**{escape(answer.question)}**", ""]
    if answer.abstained:
        lines += ["The talks don't cover this.", ""]
    for claim in answer.claims:
        cited = [by_number[n] for n in claim.citations]
        chips = " ".join(f"[{timecode(found.cues[0].start_ms)}]({address(found)})" for found in cited)
        lines += [f"{escape(claim.text)} {chips}".rstrip() + _MARKS.get(claim.support or "", ""), ""]
    if answer.missing:
        lines += [f"Not covered: {escape(answer.missing)}", ""]
    for citation in answer.citations:
        talk, cues = citation.talk, citation.cues
        about = ", ".join(escape(part) for part in [*spoken_by(talk, cues), talk.event, talk.date] if part)
        title = f"[{escape(talk.title)}, {timecode(cues[0].start_ms)}]({address(citation)})"
        quote = escape(words(cues))
        lines.append(f"{citation.n}. {title}{f' ({about})' if about else ''}: “{quote}”")
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """`text` on one line with everything that Markdown would read as markup taken literally."""
    one_line = _MARKUP.sub(r"\\\1", " ".join(text.split()))
    return _LINE_START.sub(lambda match: f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[3]}", one_line)
