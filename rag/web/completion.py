"""Answer -> the text of a chat completion: claims with numbered links as they are checked, then the sources. Pure.

Chat clients show Markdown and can't take back what they have shown. So a claim is told once it is checked, and one that
the talks don't support waits until another claim holds; an answer that still turns out otherwise says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from typing_extensions import TypedDict

from rag.links import timecode
from rag.types import Answer, CheckedClaim, Citation, Hit
from rag.web.markdown import MARKS, escape, escape_address, moment_markdown
from rag.wire import Wire

_NOTE, _SOURCES, _NEAREST = "Note: ", "Sources:", "Nearest moments:"
_WITHDRAWN = "*The sentences above are withdrawn. What the talks answer is this:*"
_WHERE = re.compile(rf"(?:^|\n\n)(?:{_SOURCES}|{_NEAREST})\n\n")
_LINK = re.compile(r" \[\d+\]\([^\s()]+\)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class UrlCitation(TypedDict):
    """Where in the text a link stands (characters, the end not included), and where it leads."""

    start_index: int
    end_index: int
    url: str
    title: str


class Annotation(TypedDict):
    """A link of the text, as the chat API states it."""

    type: str
    url_citation: UrlCitation


class CompletionText:
    """The text of one answer as it grows; `text` is all of it so far, `annotations` its links in claims."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._told: list[CheckedClaim] = []
        self.text = ""
        self.annotations: list[Annotation] = []

    def grow(self, answer: Answer) -> str:
        """What a snapshot adds to the text."""
        before = len(self.text)
        claims = answer.claims if answer.done else _checked(answer.claims)
        if self._told != list(claims[: len(self._told)]):
            if not answer.done:
                return ""  # what becomes of it, the last snapshot tells
            self._told, self.annotations = [], []
            self._add_paragraph(_WITHDRAWN)
        citations = {citation.n: citation for citation in answer.citations}
        for claim in claims[len(self._told) :]:
            self._told.append(claim)
            self._add_claim(claim, [citations[n] for n in claim.citations])
        if answer.done:
            for paragraph in self._ending(answer):
                self._add_paragraph(paragraph)
        return self.text[before:]

    def _add_paragraph(self, text: str) -> None:
        self.text += f"\n\n{text}" if self.text else text

    def _add_claim(self, claim: CheckedClaim, cited: Iterable[Citation]) -> None:
        self._add_paragraph(escape(claim.text))
        for citation in cited:
            address = self._address(citation)
            start = len(self.text) + 1
            self.text += f" [{citation.n}]({address})"
            title = f"{' '.join(citation.talk.title.split())}, {timecode(citation.cues[0].start_ms)}"
            found = UrlCitation(start_index=start, end_index=len(self.text), url=address, title=title)
            self.annotations.append({"type": "url_citation", "url_citation": found})
        self.text += MARKS.get(claim.support or "", "")

    def _ending(self, answer: Answer) -> Iterable[str]:
        """The paragraphs that follow the claims."""
        if answer.abstained:
            yield f"The talks don't cover this ({answer.talks_searched} searched)."
        if answer.missing:
            yield f"Not covered: {escape(answer.missing)}"
        if answer.notice:
            yield f"{_NOTE}{escape(answer.notice)}"
        if answer.citations:
            yield _SOURCES
            yield "\n".join(f"{found.n}. {moment_markdown(found, self._address(found))}" for found in answer.citations)
        if answer.nearest:
            yield _NEAREST
            yield "\n".join(f"- {moment_markdown(found, self._address(found))}" for found in answer.nearest)

    def _address(self, found: Citation | Hit) -> str:
        return escape_address(self._wire.url(found.talk, found.cues[0]))


def plain(text: str) -> str:
    """An earlier answer of ours as it was said, without links, marks, notes and sources; other text nearly as it is."""
    said = []
    for paragraph in _WHERE.split(text, maxsplit=1)[0].split("\n\n"):
        for mark in MARKS.values():
            paragraph = paragraph.removesuffix(mark)
        if not paragraph.startswith((_NOTE, _WITHDRAWN)):
            said.append(_ESCAPED.sub(r"\1", _LINK.sub("", paragraph)))
    return " ".join(said).strip()


def _checked(claims: tuple[CheckedClaim, ...]) -> tuple[CheckedClaim, ...]:
    """The claims that can be told: those before the first unchecked one, once one of them holds."""
    count = next((n for n, claim in enumerate(claims) if claim.support is None), len(claims))
    holds = any(claim.support in ("supported", "weak") for claim in claims[:count])
    return claims[:count] if holds else ()
