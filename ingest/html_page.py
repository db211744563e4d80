"""A published transcript page, saved as HTML -> captions.

Each line is an element with the id `sN` that holds a link with the time (`t=`), the start and end seconds in attributes
whose names contain `start` and `end`, and the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ingest.page import ABOUT, header, with_natural_ends
from ingest.speakers import with_prefixed_speakers
from ingest.text import clock_ms, one_line, seconds_ms, shortened
from ingest.types import Caption, NotCaptions, Problem, Reading

_LINE_ID = re.compile(r"s\d{1,7}")
_UNSEEN = {"script", "style", "template", "noscript", "button", "svg", "head"}
_VOID = {"br", "hr", "img", "input", "meta", "link", "wbr", "source", "area", "base", "col", "embed", "track"}
_INLINE = {"a", "span", "time", "b", "i", "em", "strong", "small", "sup", "code"}
_CLOCK = re.compile(r"\s*(?:\d{1,4}:)?\d{1,2}:\d{2}\s*")
_LINK_TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(\d+)s?")


@dataclass(slots=True)
class _Line:
    """A line of the transcript while it is read; `depth` is how many elements are open around its text."""

    id: str
    number: int
    depth: int
    start_ms: int | None = None
    end_ms: int | None = None
    speaker: str = ""
    text: list[str] = field(default_factory=list)


class _Page(HTMLParser):
    """Collects the lines, the title, the visible text before the first line and the recording's address."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[_Line] = []
        self.heading: list[str] = []
        self.document_title: list[str] = []
        self.preamble: list[tuple[int, str]] = []
        self.media = ""
        self._open: list[str] = []
        self._line: _Line | None = None
        self._skipped_link: int | None = None  # depth of a link that shows a time or an anchor, not words

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if _LINE_ID.fullmatch(attributes.get("id", "")):
            self._start_line(tag, attributes)
        if tag in _VOID:
            self._add(" ")
            return
        self._open.append(tag)
        if tag == "a" and self._line is not None:
            self._take_link(attributes.get("href", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._open:
            return
        while self._open.pop() != tag:
            pass  # elements left open inside the one that closes
        depth = len(self._open)
        if self._skipped_link is not None and depth < self._skipped_link:
            self._skipped_link = None
        if self._line is not None and depth < self._line.depth:
            self._line = None
        self._add("" if tag in _INLINE else " ")

    def handle_data(self, data: str) -> None:
        if "title" in self._open:
            self.document_title.append(data)
        elif not _UNSEEN.intersection(self._open) and self._skipped_link is None:
            self._add(data)
            if not self.lines:
                if "h1" in self._open:
                    self.heading.append(data)
                elif data.strip():
                    self.preamble.append((self.getpos()[0], data))

    def _add(self, text: str) -> None:
        if self._line is not None:
            self._line.text.append(text)

    def _start_line(self, tag: str, attributes: dict[str, str]) -> None:
        depth = len(self._open) + (0 if tag in _INLINE or tag in _VOID else 1)
        self._skipped_link = None
        self._line = _Line(attributes["id"], self.getpos()[0], depth)
        for name, value in attributes.items():
            time = (int(value) if value.isdigit() else None) if name.endswith("ms") else _attribute_ms(value)
            if "start" in name and self._line.start_ms is None:
                self._line.start_ms = time
            elif "end" in name and self._line.end_ms is None:
                self._line.end_ms = time
            elif "speaker" in name:
                self._line.speaker = one_line(value)
        self.lines.append(self._line)

    def _take_link(self, href: str) -> None:
        if href.startswith("#"):
            self._skipped_link = len(self._open)
            return
        address, seconds = _timed_link(href)
        if seconds is None or self._line is None:
            return
        self._skipped_link = len(self._open)
        self.media = self.media or address
        if self._line.start_ms is None:
            self._line.start_ms = seconds * 1000


def read(text: str) -> Reading:
    """The captions of a saved transcript page. Raises `NotCaptions` for any other HTML page."""
    parsed = _Page()
    parsed.feed(text)
    parsed.close()
    if not parsed.lines:
        title = one_line("".join(parsed.document_title))
        raise NotCaptions(f"an HTML page ({shortened(title)}) without transcript lines, expected ids s1, s2, …")
    captions: list[Caption] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for line in parsed.lines:
        caption = _caption(line, problems)
        if caption is None:
            continue
        if caption.id in seen:
            problems.append(Problem(line.number, f"id {line.id} is used twice"))
            caption = replace(caption, id=f"{line.id}-{line.number}")
        seen.add(caption.id or "")
        captions.append(caption)
    number, about = next(((n, data) for n, data in parsed.preamble if ABOUT.match(one_line(data))), (0, ""))
    head = header(one_line("".join(parsed.heading) or "".join(parsed.document_title)), one_line(about), number)
    if head.sentences is not None and head.sentences != len(captions):
        what = f"count: the page announces {head.sentences} sentences, {len(captions)} were found"
        problems.append(Problem(number, what))
    return Reading(
        captions=with_prefixed_speakers(with_natural_ends(captions), keeps_cutting=True),
        problems=tuple(sorted(problems, key=lambda problem: problem.line)),
        meta=replace(head.meta, media=parsed.media),
        keeps_cutting=True,
    )


def _caption(line: _Line, problems: list[Problem]) -> Caption | None:
    text = one_line("".join(line.text))
    if clock := _CLOCK.match(text):  # a timecode outside a link
        if line.start_ms is None:
            line.start_ms = clock_ms(clock[0])
        text = text[clock.end() :]
    if not text:
        return None
    if line.start_ms is None:
        problems.append(Problem(line.number, f"no time for {line.id}; left out: {shortened(text)}", lost=True))
        return None
    end_ms = line.start_ms - 1 if line.end_ms is None else line.end_ms
    if line.end_ms is not None and line.end_ms < line.start_ms:
        problems.append(Problem(line.number, f"end before start for {line.id}; the start is kept"))
        end_ms = line.start_ms
    return Caption(line.id, line.start_ms, end_ms, text, line.speaker, line.number)


def _attribute_ms(value: str) -> int | None:
    """Seconds, or a clock time, in milliseconds."""
    seconds = seconds_ms(value)
    return clock_ms(value) if seconds is None else seconds


def _timed_link(href: str) -> tuple[str, int | None]:
    """A link without its time, and that time in seconds (None for a link without one)."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return href, None
    for where in ("query", "fragment"):
        fields = parse_qsl(getattr(parts, where))
        match = _LINK_TIME.fullmatch(dict(fields).get("t", ""))
        if match:
            hours, minutes, seconds = (int(part or 0) for part in match.groups())
            rest = urlencode([(key, value) for key, value in fields if key != "t"])
            is_address = parts.scheme in ("http", "https")
            address = urlunsplit(parts._replace(**{where: rest})) if is_address else ""
            return address, hours * 3600 + minutes * 60 + seconds
    return href, None
