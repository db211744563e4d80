"""The written answer: a language model's reply -> claims that are shown as they complete and checked right after.

A broad question is answered in parts: a model reads a few of the moments at a time, in order, so that a long talk fits
and the first sentences show before the last moments are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from rag.asked import asks_for_number, gives_what_was_asked, only_repeats
from rag.cite import Numbering
from rag.claims import ClaimReader, Draft, denies
from rag.embed import Embedder
from rag.errors import LLMError
from rag.llm import LLM, ContextTooLong, Delta, SchemaNotTaken
from rag.prompt import DEFAULT_BUDGET, Prompt, build_prompt
from rag.support import StoredVector, SupportCheck, nothing_stored
from rag.types import Answer, CheckedClaim, CueRef, Hit, Support, Turn

_MOMENTS_A_PART = 4
# How sure a small model must be that the lines answer, and that they hold a number: docs/experiments.md.
_DOUBT_BELOW, _DOUBT_NUMBER_BELOW = 0.48, 0.55


class Declined(LLMError):
    """The model says that the talks do not answer; the message is what it says is missing, `usage` what it cost.

    `is_measured` tells that it was asked how sure it is, which can be relied on more than what it says by itself.
    """

    def __init__(self, missing: str, usage: Mapping[str, int], *, is_measured: bool = False) -> None:
        super().__init__(missing)
        self.usage = usage
        self.is_measured = is_measured


def written(
    answer: Answer,
    llm: LLM,
    embedder: Embedder,
    history: Sequence[Turn],
    budget: int = DEFAULT_BUDGET,
    *,
    in_order: bool = False,
    stored: StoredVector = nothing_stored,
) -> Iterator[Answer]:
    """Growing snapshots of the answer to `answer.question`; the model reads up to `budget` tokens of `answer.hits`.

    With `in_order` it reads all of them, in parts of up to `budget` tokens, as a broad question needs.
    Raises `Declined` when the model finds no answer, another `LLMError` when it gives none that the talks support.
    """
    page = _Page(replace(answer, answered_by=llm.name), embedder, stored)
    reply = _Reply(page, llm, answer.question, history, budget)
    failure: LLMError | None = None
    try:
        for hits, part in _parts(answer.hits) if in_order else [(answer.hits, None)]:
            yield from reply.read(hits, part)
    except LLMError as error:
        if not page.holds:
            raise
        failure = error
    missing = reply.missing or " ".join(page.denials)
    if (reply.declined or page.denials) and not page.holds:
        raise Declined(missing, page.answer.usage)
    if page.holds and not gives_what_was_asked(answer.question, (claim.text for claim in page.answer.claims)):
        raise Declined(reply.missing, page.answer.usage)
    if not page.answer.claims:
        raise LLMError(f"{llm.name} {_why_nothing(reply, page)}")
    if not page.holds:
        raise LLMError(f"{llm.name} answered with something that the talks do not say")
    notice = f"The answer may be incomplete: {failure}." if failure else ""
    if reply.cut and not failure:
        notice = "The answer may be incomplete: it reached the length limit."
    yield replace(page.answer, missing=missing, notice=notice)


def _why_nothing(reply: _Reply, page: _Page) -> str:
    """Why a reply holds no claim."""
    if page.repeats:
        return "only repeated the question"
    return "was cut off before it said anything" if reply.cut else "sent no readable answer"


def _parts(hits: Sequence[Hit]) -> Iterator[tuple[Sequence[Hit], tuple[int, int]]]:
    """The moments, a few at a time, each time with the number of the part and how many there are."""
    count = -(-len(hits) // _MOMENTS_A_PART)
    for number in range(count):
        yield hits[len(hits) * number // count : len(hits) * (number + 1) // count], (number + 1, count)


@dataclass
class _Reply:
    """What the model is asked and what it replies, part by part; the claims go to `page`.

    `declined` is True when it said of every part that the talks do not answer, `cut` when a part reached its limit.
    """

    page: _Page
    llm: LLM
    question: str
    history: Sequence[Turn]
    budget: int
    declined: bool = True
    cut: bool = False
    missing: str = ""

    def read(self, hits: Sequence[Hit], part: tuple[int, int] | None) -> Iterator[Answer]:
        """Snapshots of the answer while the model replies to one part. Raises `LLMError`."""
        reader: ClaimReader | None = None
        failure: LLMError | None = None
        cut = False
        try:
            for prompt, delta in self._stream(hits, part):
                if reader is None:
                    reader = ClaimReader(prompt.shown)
                    self.page.shown = prompt.shown
                yield from self.page.add(reader.feed(delta.text))
                yield self.page.answer
                self.page.count(delta.usage)
                cut = cut or delta.cut or reader.is_full
                if reader.is_full:
                    break
        except LLMError as error:
            failure = error
        if reader is not None:
            yield from self.page.add(reader.close(cut=cut or failure is not None))
        if failure is not None:
            raise failure
        if reader is None:
            raise LLMError(f"{self.llm.name} sent an empty answer")
        self.declined = self.declined and reader.covered is False
        self.cut = self.cut or cut
        if part is None:  # of a part of many, what it leaves out tells nothing
            self.missing = reader.missing

    def _stream(self, hits: Sequence[Hit], part: tuple[int, int] | None) -> Iterator[tuple[Prompt, Delta]]:
        """The reply to one part, each bit with the prompt that it answers.

        Asks once more with marks when the server takes no schema, and with half the passages when they are too long.
        """
        as_json, shrunk, asked = self.llm.takes_schema, False, False
        while True:
            prompt = build_prompt(
                self.question, hits, history=self.history, as_json=as_json, budget=self.budget, part=part
            )
            try:
                if part is None and not asked:
                    asked = True
                    yield from self._ask_whether_answered(prompt)
                with closing(self.llm.stream(prompt.messages, prompt.schema)) as deltas:
                    for delta in deltas:
                        yield prompt, delta
                return
            except SchemaNotTaken:
                if not as_json:
                    raise
                as_json = False
            except ContextTooLong:
                if shrunk:
                    raise
                shrunk, self.budget = True, self.budget // 2

    def _ask_whether_answered(self, prompt: Prompt) -> Iterator[tuple[Prompt, Delta]]:
        """Raise `Declined` when a small model doubts that the lines answer: left alone it answers all the same."""
        asking = self.llm.agrees(prompt.is_answered)
        with closing(asking):
            sure = None
            while True:
                try:
                    yield prompt, next(asking)
                except StopIteration as end:
                    sure = end.value
                    break
        enough = _DOUBT_NUMBER_BELOW if asks_for_number(self.question) else _DOUBT_BELOW
        if sure is not None and sure < enough:
            raise Declined("", self.page.answer.usage, is_measured=True)


class _Page:
    """The claims written so far, with their citations and checks."""

    def __init__(self, answer: Answer, embedder: Embedder, stored: StoredVector) -> None:
        self.answer = answer
        self.shown: dict[str, CueRef] = {}
        self.denials: list[str] = []
        self.repeats = False
        self._talks = {hit.talk.id: hit.talk for hit in answer.hits}.values()
        self._claims: dict[str, tuple[Sequence[CueRef], Support | None]] = {}
        self._check = SupportCheck(embedder, self._talks, answer.searched, stored)

    @property
    def holds(self) -> bool:
        """True when the talks support at least one claim."""
        return any(claim.support in ("supported", "weak") for claim in self.answer.claims)

    def count(self, usage: Mapping[str, int]) -> None:
        """Add what a reply cost, in tokens."""
        so_far = self.answer.usage
        if usage:
            total = {name: so_far.get(name, 0) + tokens for name, tokens in usage.items()}
            self.answer = replace(self.answer, usage={**so_far, **total})

    def add(self, drafts: Sequence[Draft]) -> Iterator[Answer]:
        """The answer with each claim added, first unchecked, then checked.

        What denies an answer or asks the question again is no claim.
        """
        for draft in drafts:
            if denies(draft.text):
                self.denials.append(draft.text)
            elif only_repeats(self.answer.question, draft.text):
                self.repeats = True
            elif draft.text not in self._claims:
                refs = [self.shown[cue_id] for cue_id in draft.ids]
                if refs:
                    yield self._put(draft.text, refs, None)
                yield self._put(draft.text, *self._judge(draft.text, refs))

    def _judge(self, text: str, refs: list[CueRef]) -> tuple[list[CueRef], Support]:
        """The cues of a claim and how well they support it.

        The cues that carry the claim are cited, which small models often miss by a few lines. A claim that was cited
        nowhere, or that only another cue supports, is weak at best.
        """
        shown = list(self.shown.values())
        carriers = self._check.carriers(text, refs, shown) if refs else []
        verdict = self._check.check(text, carriers)
        if verdict == "supported":
            return carriers, verdict
        best = self._check.best(text, shown)
        if best is None:
            return carriers, verdict
        return ([*carriers, best] if verdict == "weak" else [best]), "weak"

    def _put(self, text: str, refs: Sequence[CueRef], support: Support | None) -> Answer:
        self._claims[text] = refs, support
        # Numbered anew each time: what only an unchecked claim cited is no source of the answer any more.
        numbering = Numbering(self._talks)
        claims = tuple(CheckedClaim(said, numbering.cite(cues), mark) for said, (cues, mark) in self._claims.items())
        self.answer = replace(self.answer, claims=claims, citations=numbering.citations)
        return self.answer
