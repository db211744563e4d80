"""Outcome + Gold -> a row of measures. Pure: the one place that decides which measure is applied to what.

Names of measures are those of scores.json; docs/evaluation.md lists them. A measure that does not apply to a question
(a citation measure without citations, anything about gold where there is none) is left out of its row, never set to 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.dataset import Item
from eval.measures import alce, budget, cited, coverage, facts, grounding, ndcg, reciprocal_rank, timing
from eval.measures.hit import hit_at
from eval.types import FoundMoment, Gold, Moment, Outcome, Row, Setting
from rag.types import CueRef, Span, Talk

KS = (1, 3, 5, 10)

Talks = Mapping[str, Talk]


def judge(item: Item, outcome: Outcome, talks: Talks, setting: Setting) -> Row:
    """Apply every measure that fits the question. `talks` are those of the question's data folder."""
    question, gold = item.question, item.gold
    measures: dict[str, float] = {"failed": float(bool(outcome.error))}
    ungrounded: list[str] = []
    if question.answerable:
        hits = [locate(hit, talks) for hit in outcome.hits]
        measures |= _retrieval(hits, gold, talks) | _time(hits, gold, talks)
        for arm, found in outcome.arms.items():
            measures |= _brief(arm, [locate(hit, talks) for hit in found], gold)
        if question.history and outcome.plain_hits is not None:
            measures |= _brief("plain", [locate(hit, talks) for hit in outcome.plain_hits], gold)
    if outcome.answered or outcome.error:
        measures["refused"] = float(outcome.abstained)
        measures["notice"] = float(bool(outcome.notice))
        measures |= _impossible(outcome.citations, talks)
        if question.answerable:
            measures |= _citations(outcome, gold, talks)
            if (found_facts := facts.nugget_recall(question.answer, outcome.answer)) is not None:
                measures["facts"] = found_facts
        if outcome.claims:
            ungrounded = _ungrounded(item, outcome, talks)
            measures["ungrounded"] = float(len(ungrounded))
    talk = talks[question.talk_id]
    return Row(
        id=question.id,
        data=item.data,
        setting=setting,
        type=question.type,
        scope=question.scope,
        talk_id=question.talk_id,
        question=question.question,
        history=question.history,
        reference=question.answer,
        note=question.note,
        gold=tuple(FoundMoment.of(talk, span) for span in gold.relevant),
        also_ok=tuple(FoundMoment.of(talk, span) for span in gold.also_ok),
        measures=measures,
        ungrounded=tuple(ungrounded),
        outcome=outcome,
    )


def locate(found: FoundMoment, talks: Talks) -> Moment:
    """The moment by positions. One that names a talk or cue that does not exist matches no gold but keeps its rank."""
    positions = _positions(found, talks)
    return Moment(found.talk_id, *positions) if positions else Moment(f"missing {found.talk_id}", 0, 0)


def _positions(found: FoundMoment, talks: Talks) -> Span | None:
    talk = talks.get(found.talk_id)
    if talk is None:
        return None
    by_id = {cue.id: position for position, cue in enumerate(talk.cues)}
    if found.first_cue not in by_id or found.last_cue not in by_id:
        return None
    first, last = by_id[found.first_cue], by_id[found.last_cue]
    return Span(first, last) if first <= last else None


def _retrieval(hits: Sequence[Moment], gold: Gold, talks: Talks) -> dict[str, float]:
    measures = {}
    for k in KS:
        top = hits[:k]
        measures[f"hit@{k}"] = hit_at(hits, gold, k)
        measures[f"hit_ok@{k}"] = hit_at(hits, gold, k, also_ok=True)
        measures[f"span@{k}"] = coverage.span_recall(top, gold)
        measures[f"cue_rec@{k}"] = coverage.cue_recall(top, gold)
        measures[f"cue_prec@{k}"] = coverage.cue_precision(top, gold)
    measures["mrr"] = reciprocal_rank.reciprocal_rank(hits, gold)
    measures["ndcg@20"] = ndcg.ndcg(hits, gold)
    read = budget.read_within(hits, lambda ref: _words(ref, talks))
    measures["prec@200w"], measures["rec@200w"] = budget.precision_and_recall(read, gold)
    return measures


def _brief(name: str, hits: Sequence[Moment], gold: Gold) -> dict[str, float]:
    """The measures by which arms and rewrites are compared."""
    measures = {f"{name}:hit@{k}": hit_at(hits, gold, k) for k in KS}
    return measures | {f"{name}:mrr": reciprocal_rank.reciprocal_rank(hits, gold)}


def _time(hits: Sequence[Moment], gold: Gold, talks: Talks, prefix: str = "") -> dict[str, float]:
    first = timing.timing(hits[0] if hits else None, gold, talks[gold.talk_id])
    measures = {f"{prefix}start<={limit}": first.within(limit) for limit in timing.WITHIN_S}
    measures |= {
        f"{prefix}iou30@1": float(first.iou >= 0.3),
        f"{prefix}iou50@1": float(first.iou >= 0.5),
        f"{prefix}iou@1": first.iou,
        f"{prefix}inside@1": float(first.inside),
    }
    if first.off_ms is not None:
        measures[f"{prefix}off_s"] = first.off_ms / 1000
    return measures


def _citations(outcome: Outcome, gold: Gold, talks: Talks) -> dict[str, float]:
    moments = [locate(citation, talks) for citation in outcome.citations]
    measures = {"cite_any": cited.any_right(moments, gold)}
    if moments:
        measures["cite_prec"] = cited.citation_precision(moments, gold)
        measures["cite_rec"] = cited.citation_recall(moments, gold)
        measures |= _time(moments, gold, talks, prefix="cite_")
    if outcome.claims:
        claims = [alce.Claimed(claim.text, tuple(moments[n - 1] for n in claim.citations)) for claim in outcome.claims]
        measures["alce_rec"], measures["alce_prec"] = alce.alce(claims, alce.gold_judge(gold))
    return measures


def _impossible(citations: Sequence[FoundMoment], talks: Talks) -> dict[str, float]:
    """Citations of cues that do not exist, and citations whose times are not those of their cues. Must be 0."""
    bad_ids = bad_times = 0
    for citation in citations:
        positions = _positions(citation, talks)
        if positions is None:
            bad_ids += 1
            continue
        real = FoundMoment.of(talks[citation.talk_id], positions)
        bad_times += (citation.start_ms, citation.end_ms) != (real.start_ms, real.end_ms)
    return {"bad_ids": float(bad_ids), "bad_times": float(bad_times)}


def _ungrounded(item: Item, outcome: Outcome, talks: Talks) -> list[str]:
    evidence = [item.question.question, *(message.content for message in item.question.history)]
    for citation in outcome.citations:
        evidence.append(citation.text)
        if talk := talks.get(citation.talk_id):
            evidence += [talk.title, *talk.speakers]
    return grounding.ungrounded(outcome.answer, evidence)


def _words(ref: CueRef, talks: Talks) -> int:
    """Words of a cue; a cue that does not exist has one, so that it still uses up the reader's time."""
    talk = talks.get(ref.talk_id)
    return len(talk.cues[ref.position].text.split()) if talk else 1
