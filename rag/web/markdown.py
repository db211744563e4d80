"""Answer -> Markdown for the clipboard: claims with links, then the sources with their quotes. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

from rag.links import link, timecode
from rag.types import Answer, Citation, Hit
from rag.web.chat import spoken_by
from rag.wire import words

# Besides markup, the signs by which many readers make links of bare addresses.
_MARKUP = re.compile(r"([\\`*_\[\]<>|~$&@]|:(?=//)|(?<=\bwww)\.)", re.I)
_LINE_START = re.compile(r"^(\d+)([.)])|^([#+=-])")
# What could end a link's address, or begin other markup inside it; a talk's media address is text from outside.
_IN_ADDRESS = re.compile(r"[\s\x00-\x1f\x7f()<>\[\]\\`\"';|*]")
MARKS = {"weak": " *(weak support)*", "unsupported": " *(not backed by the talks)*"}


def answer_markdown(answer: Answer, *, public_url: str, lead_in_ms: int = 0) -> str:
    """`answer` in Markdown; links to recordings on this machine start with `public_url`, the address of the page.

    Every text of a talk or a model is escaped, so that it reads the same after rendering and can't add links.
    """

    def address(citation: Citation) -> str:
        cue = citation.cues[0]
        return escape_address(link(citation.talk, cue.id, cue.start_ms, lead_in_ms=lead_in_ms, public_url=public_url))

    by_number = {citation.n: citation for citation in answer.citations}
    lines = [f"**{escape(answer.question)}**", ""]
    if answer.abstained:
        lines += ["The talks don't cover this.", ""]
    for claim in answer.claims:
        cited = [by_number[n] for n in claim.citations]
        chips = " ".join(f"[{timecode(found.cues[0].start_ms)}]({address(found)})" for found in cited)
        lines += [f"{escape(claim.text)} {chips}".rstrip() + MARKS.get(claim.support or "", ""), ""]
    if answer.missing:
        lines += [f"Not covered: {escape(answer.missing)}", ""]
    for citation in answer.citations:
        lines.append(f"{citation.n}. {moment_markdown(citation, address(citation))}")
    return "\n".join(lines).rstrip() + "\n"


def moment_markdown(found: Citation | Hit, address: str) -> str:
    """A moment on one line: talk and time as a link to `address`, who speaks where and when, what is said."""
    talk, cues = found.talk, found.cues
    about = ", ".join(escape(part) for part in [*spoken_by(talk, cues), talk.event, talk.date] if part)
    title = f"[{escape(talk.title)}, {timecode(cues[0].start_ms)}]({address})"
    return f"{title}{f' ({about})' if about else ''}: “{escape(words(cues))}”"


def escape_address(address: str) -> str:
    """`address` with everything percent-encoded that could end it inside a Markdown link."""
    return _IN_ADDRESS.sub(lambda found: quote(found[0]), address)


def escape(text: str) -> str:
    """`text` on one line with everything that Markdown would read as markup taken literally."""
    one_line = _MARKUP.sub(r"\\\1", " ".join(text.split()))
    return _LINE_START.sub(lambda match: f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[3]}", one_line)
