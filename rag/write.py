"""The written answer: a language model's reply -> claims that are shown as they complete and checked right after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from rag.asked import gives_what_was_asked
from rag.cite import Numbering
from rag.claims import ClaimReader, Draft, denies
from rag.embed import Embedder
from rag.errors import LLMError
from rag.llm import LLM, ContextTooLong, Delta, SchemaNotTaken
from rag.prompt import DEFAULT_BUDGET, Prompt, build_prompt
from rag.support import SupportCheck
from rag.types import Answer, CheckedClaim, CueRef, Support, Turn


class Declined(LLMError):
    """The model says that the talks do not answer; the message is what it says is missing."""


def written(
    answer: Answer,
    llm: LLM,
    embedder: Embedder,
    history: Sequence[Turn],
    budget: int = DEFAULT_BUDGET,
    *,
    in_order: bool = False,
) -> Iterator[Answer]:
    """Growing snapshots of the answer to `answer.question`; the model reads up to `budget` tokens of `answer.hits`.

    With `in_order` it reads a bit of each of them, as a broad question needs.
    Raises `Declined` when the model finds no answer, another `LLMError` when it gives none that the talks support.
    """
    page = _Page(replace(answer, answered_by=llm.name), embedder)
    reader: ClaimReader | None = None
    cut = False
    failure: LLMError | None = None
    try:
        for prompt, delta in _reply(answer, llm, history, budget, in_order):
            if reader is None:
                reader = ClaimReader(prompt.shown)
                page.shown = prompt.shown
            yield from page.add(reader.feed(delta.text))
            yield page.answer
            cut = cut or delta.cut
            page.answer = replace(page.answer, usage={**page.answer.usage, **delta.usage})
            if reader.is_full:
                cut = True
                break
    except LLMError as error:
        failure = error
    if reader is not None:
        yield from page.add(reader.close(cut=cut or failure is not None))
    if failure and not page.holds:
        raise failure
    if reader is None:
        raise LLMError(f"{llm.name} sent an empty answer")
    if reader.covered is False or (page.denials and not page.holds):
        raise Declined(reader.missing or " ".join(page.denials))
    if page.holds and not gives_what_was_asked(answer.question, (claim.text for claim in page.answer.claims)):
        raise Declined(reader.missing)
    if not page.answer.claims:
        raise LLMError(f"{llm.name} {'was cut off before it said anything' if cut else 'sent no readable answer'}")
    if not page.holds:
        raise LLMError(f"{llm.name} answered with something that the talks do not say")
    notice = f"The answer may be incomplete: {failure}." if failure else ""
    if cut and not failure:
        notice = "The answer may be incomplete: it reached the length limit."
    yield replace(page.answer, missing=reader.missing or " ".join(page.denials), notice=notice)


def _reply(
    answer: Answer, llm: LLM, history: Sequence[Turn], budget: int, in_order: bool
) -> Iterator[tuple[Prompt, Delta]]:
    """The model's reply, each bit with the prompt that it answers.

    Asks once more with marks when the server takes no schema, and with half the passages when they are too long.
    """
    as_json, shrunk = llm.takes_schema, False
    while True:
        prompt = build_prompt(
            answer.question, answer.hits, history=history, as_json=as_json, budget=budget, in_order=in_order
        )
        try:
            with closing(llm.stream(prompt.messages, prompt.schema)) as deltas:
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
            shrunk, budget = True, budget // 2


class _Page:
    """The claims written so far, with their citations and checks."""

    def __init__(self, answer: Answer, embedder: Embedder) -> None:
        self.answer = answer
        self.shown: dict[str, CueRef] = {}
        self.denials: list[str] = []
        talks = {hit.talk.id: hit.talk for hit in answer.hits}.values()
        self._numbering = Numbering(talks)
        self._check = SupportCheck(embedder, talks, answer.searched)

    @property
    def holds(self) -> bool:
        """True when the talks support at least one claim."""
        return any(claim.support in ("supported", "weak") for claim in self.answer.claims)

    def add(self, drafts: Sequence[Draft]) -> Iterator[Answer]:
        """The answer with each claim added, first unchecked, then checked. What denies an answer is no claim."""
        for draft in drafts:
            if denies(draft.text):
                self.denials.append(draft.text)
            elif draft.text not in (claim.text for claim in self.answer.claims):
                refs = [self.shown[cue_id] for cue_id in draft.ids]
                if refs:
                    yield self._put(draft.text, refs, None)
                yield self._put(draft.text, *self._judge(draft.text, refs))

    def _judge(self, text: str, refs: list[CueRef]) -> tuple[list[CueRef], Support]:
        """The cues of a claim and how well they support it.

        Where the model cited nothing, or cues that do not carry the claim, the best cue that it read is cited instead,
        or beside them; only a mark by the model's own cues makes a claim fully supported.
        """
        verdict = self._check.check(text, refs)
        best = None if verdict == "supported" else self._check.best(text, list(self.shown.values()))
        if best is None:
            return refs, verdict
        return ([*refs, best] if verdict == "weak" else [best]), "weak"

    def _put(self, text: str, refs: Sequence[CueRef], support: Support | None) -> Answer:
        others = tuple(claim for claim in self.answer.claims if claim.text != text)
        claim = CheckedClaim(text, self._numbering.cite(refs), support)
        self.answer = replace(self.answer, claims=(*others, claim), citations=self._numbering.citations)
        return self.answer
