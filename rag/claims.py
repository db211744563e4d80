"""The model's stream -> claims, each shown to nobody before it is complete. Pure.

Two forms are read, told apart by how the reply begins: the JSON of the answer schema, and sentences with inline
marks. Ids are prompt ids (`s12`); one that was not shown to the model is dropped here and reaches nobody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import jiter

from rag.marks import Code, Mark, MarkScanner, Piece, Text, plain, scan

# A reply longer than this is not an answer; reading stops.
MAX_REPLY = 32_000
_MAX_IDS = 8

_JSON_START = re.compile(r"\s*(?:```[a-z]*\s*)?\{", re.IGNORECASE)
_UNDECIDED = re.compile(r"\s*(?:`{0,3}|```[a-z]*\s*)", re.IGNORECASE)
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_TOKENS = re.compile(r"\n|[^\S\n]+|[^\s。！？]*[。！？]+|[^\s。！？]+")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]*_]*$")
_NO_END = re.compile(
    r"^[\"'(\[]*(?:[A-Z]\.|(?:e\.g|i\.e|[Mm]rs?|[Mm]s|[Dd]r|[Pp]rof|vs|etc|cf|approx|ca|no|No|St|Jr|Inc|[0-9]+)\.|[0-9]+\))$"
)
_BULLET = re.compile(r"^(?:[-*+•]|[0-9]{1,3}[.)]|#{1,6})\s+")
# "The talks do not say …": a claim that the answer is not there is a refusal, not a claim about a talk.
_DENIAL = re.compile(
    r"(?:\b(?:not|no|never|unable|cannot|nothing)|n['’]t)\b[^.]{0,60}\b(?:cover|mention|answer|found|find|stat|specif|provid|"
    r"information|discuss|contain|given|say|address|reveal|disclos|detail|clear|known|explicit)",
    re.IGNORECASE,
)
_NOT_COVERED = re.compile(r"\W*not covered\b", re.IGNORECASE)


class Draft(NamedTuple):
    """A complete claim as the model wrote it: `ids` were shown to the model, `dropped` were not."""

    text: str
    ids: tuple[str, ...]
    dropped: tuple[str, ...] = ()


class ClaimReader:
    """Reads one reply. `shown` are the prompt ids that may be cited.

    After `close`, `readable` is False when the reply held no answer in any known form.
    """

    def __init__(self, shown: Collection[str]) -> None:
        self._shown = frozenset(shown)
        self._text = ""
        self._form: _JsonForm | _MarkedForm | None = None
        self.readable = True

    @property
    def covered(self) -> bool | None:
        """What the model said about the talks answering the question; None when it did not say."""
        return self._form.covered if self._form else None

    @property
    def missing(self) -> str:
        """The part of the question that the model says is left open."""
        return self._form.missing if self._form else ""

    @property
    def is_full(self) -> bool:
        """True once the reply is longer than any answer: stop the stream."""
        return len(self._text) > MAX_REPLY

    def feed(self, chunk: str) -> list[Draft]:
        """Claims that `chunk` completes."""
        self._text += chunk
        if self.is_full or not self.readable:
            return []
        if self._form is None:
            if _UNDECIDED.fullmatch(self._text):
                return []
            self._form = self._told_by_start()
            chunk = self._text
        return list(self._form.feed(chunk))

    def close(self, *, cut: bool = False) -> list[Draft]:
        """The last claims. `cut` says that the reply ended early: an unfinished sentence is left out."""
        if self._form is None and self._text.strip():
            self._form = self._told_by_start()
            last = [*self._form.feed(self._text), *self._form.close(cut)]
        else:
            last = list(self._form.close(cut)) if self._form else []
        if self._form is None or not self._form.readable or _PAGE.match(self._text):
            self.readable = False
            return []
        return last

    def _told_by_start(self) -> _JsonForm | _MarkedForm:
        return _JsonForm(self._shown) if _JSON_START.match(self._text) else _MarkedForm(self._shown)


class _JsonForm:
    """The JSON of the answer schema, tolerant of fences around it and of ids in other dress."""

    def __init__(self, shown: frozenset[str]) -> None:
        self._shown = shown
        self._raw = ""
        self._given = 0
        self.covered: bool | None = None
        self.missing = ""
        self.readable = False

    def feed(self, chunk: str) -> Iterator[Draft]:
        self._raw += chunk
        if any(sign in chunk for sign in '"]}'):  # nothing else can complete a claim
            yield from self._new_claims(final=False)

    def close(self, cut: bool) -> Iterator[Draft]:
        yield from self._new_claims(final=not cut)

    def _new_claims(self, *, final: bool) -> Iterator[Draft]:
        document = self._document()
        covered, missing, claims = (document.get(key) for key in ("covered", "missing", "claims"))
        self.covered = covered if isinstance(covered, bool) else None
        self.missing = " ".join(missing.split()) if isinstance(missing, str) else ""
        self.readable = covered is False or (bool(claims) and isinstance(claims, list))
        if not isinstance(claims, list):
            return
        closed = final or list(document)[-1] != "claims" or (claims and _is_complete(claims[-1]))
        complete = len(claims) if closed else len(claims) - 1
        for claim in claims[self._given : complete]:
            yield from self._draft(claim)
        self._given = max(self._given, complete)

    def _document(self) -> dict[str, Any]:
        """What can be read so far; of a broken document, and of one with words after it, the part that is in order."""
        text = self._raw[self._raw.find("{") :]
        try:
            document = jiter.from_json(text.encode(), partial_mode=True)
        except ValueError:
            document = jiter.from_json(text[: _first_error(text)].encode(), partial_mode=True)
        return document if isinstance(document, dict) else {}

    def _draft(self, claim: object) -> Iterator[Draft]:
        fields = claim if isinstance(claim, dict) else {"text": claim}
        text, cues = fields.get("text"), fields.get("cues")
        if not isinstance(text, str):
            return
        listed = cues if isinstance(cues, list) else [cues]
        named = "".join(f"[{str(cue).strip(' []')}]" for cue in listed if isinstance(cue, str | int))
        marks = [piece for piece in scan(named, self._shown) if isinstance(piece, Mark)]
        draft = _draft_of([*marks, *scan(text, self._shown)])
        if draft is not None:
            yield draft


def _first_error(text: str) -> int:
    try:
        json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        return error.pos
    return len(text)


def _is_complete(claim: object) -> bool:
    """True when nothing can be added to the last claim of an unfinished list: its text came after its cues."""
    return isinstance(claim, dict) and "cues" in claim and list(claim)[-1] == "text"


class _MarkedForm:
    """Sentences with inline marks. A mark after a full stop belongs to the sentence before it, unless the line
    began with a mark: then marks stand before their sentences."""

    def __init__(self, shown: frozenset[str]) -> None:
        self._scanner = MarkScanner(shown)
        self._sentence: list[Piece] = []
        self._word = ""
        self._ended = False  # a full stop was read; the next word decides whether the sentence is over
        self._marks_lead = False
        self._start = ""
        self.missing = ""

    @property
    def covered(self) -> bool | None:
        """False when the reply begins with the agreed words of a refusal."""
        return False if _NOT_COVERED.match(self._start) else None

    @property
    def readable(self) -> bool:
        return any(char.isalnum() for char in self._start)

    def feed(self, chunk: str) -> Iterator[Draft]:
        self._start = (self._start + chunk)[:200]
        for piece in self._scanner.feed(chunk):
            yield from self._take(piece)

    def close(self, cut: bool) -> Iterator[Draft]:
        for piece in self._scanner.close():
            yield from self._take(piece)
        if not cut or self._ended or _ends_sentence(self._word):
            yield from self._finish()

    def _take(self, piece: Piece) -> Iterator[Draft]:
        if isinstance(piece, Mark):
            if not plain(self._sentence):
                self._marks_lead = True
            elif self._marks_lead and (self._ended or _ends_sentence(self._word)):
                yield from self._finish()
            self._sentence.append(piece)
        elif isinstance(piece, Code):
            self._sentence.append(piece)
            self._word, self._ended = "`", False
        else:
            for token in _TOKENS.findall(piece.raw):
                yield from self._token(token)

    def _token(self, token: str) -> Iterator[Draft]:
        if token == "\n":
            yield from self._finish()
            self._marks_lead = False
        elif token.isspace():
            self._ended = self._ended or _ends_sentence(self._word)
            self._word = ""
            self._sentence.append(Text(token))
        else:
            wide_stop = bool(self._word) and self._word[-1] in "。！？" and token[0] not in "。！？”’」』)"
            if wide_stop or (self._ended and not self._word and not token[0].islower()):
                yield from self._finish()
            self._ended = False
            self._word += token
            self._sentence.append(Text(token))

    def _finish(self) -> Iterator[Draft]:
        sentence, self._sentence = self._sentence, []
        self._word, self._ended = "", False
        draft = _draft_of(sentence)
        if draft is not None and not _NOT_COVERED.match(draft.text):
            yield draft


def _ends_sentence(word: str) -> bool:
    return bool(_SENTENCE_END.search(word)) and not _NO_END.match(word)


def _draft_of(pieces: list[Piece]) -> Draft | None:
    text = _BULLET.sub("", plain(pieces))
    if not any(char.isalnum() for char in text):
        return None
    marks = [piece for piece in pieces if isinstance(piece, Mark)]
    ids = tuple(dict.fromkeys(cue for mark in marks for cue in mark.ids))
    return Draft(text, ids[:_MAX_IDS], tuple(dict.fromkeys(cue for mark in marks for cue in mark.dropped)))


def denies(text: str) -> bool:
    """True for a sentence that says that the answer is not there."""
    return bool(_DENIAL.search(text)) and len(text) < 300
