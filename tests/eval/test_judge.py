"""Which measure is applied to what, with every number worked out by hand; and the scores made from the rows."""

import pytest

from eval.dataset import Item
from eval.judge import judge
from eval.scores import score
from eval.types import ClaimOutcome, FoundMoment, Message, Outcome, Question, Row
from tests.eval.talks import TALKS, found, gold

HISTORY = (Message(role="user", content="Who speaks?"), Message(role="assistant", content="Ada."))


def item(answerable: bool = True, history: tuple[Message, ...] = (), reference: str = "They serve 40 models.") -> Item:
    question = Question(
        id="q",
        talk_id="a",
        question="How many models?",
        answer=reference if answerable else "",
        relevant=(("s3", "s3"),) if answerable else (),
        also_ok=(("s4", "s4"),) if answerable else (),
        type="follow-up" if history else "factoid",
        scope="talk",
        history=history,
    )
    return Item(question, gold((3, 3), also_ok=((4, 4),)) if answerable else gold(), "data")


def answered(text: str, *citations: FoundMoment, **more: object) -> Outcome:
    claim = ClaimOutcome(text=text, citations=tuple(range(1, len(citations) + 1)), support="supported")
    fields = {
        "id": "q",
        "answered": True,
        "answer": text,
        "claims": (claim,),
        "citations": citations,
        "confidence": 0.9,
    }
    return Outcome.model_validate(fields | more)


def measures(outcome: Outcome, **options: object) -> dict[str, float]:
    return judge(item(**options), outcome, TALKS, "scope").measures  # type: ignore[arg-type]


def test_a_right_answer() -> None:
    row = measures(answered("They serve 40 models.", found("a", 3), hits=(found("a", 4, 6), found("a", 2, 3))))
    assert (row["hit@1"], row["hit_ok@1"], row["hit@3"], row["mrr"]) == (0, 1, 1, 0.5)
    assert (row["off_s"], row["start<=5"], row["start<=15"]) == (10, 0, 1)
    assert (row["cite_any"], row["cite_prec"], row["cite_rec"], row["alce_rec"], row["alce_prec"]) == (1, 1, 1, 1, 1)
    assert (row["cite_off_s"], row["cite_iou@1"], row["cite_inside@1"]) == (0, 1, 1)
    assert (row["facts"], row["ungrounded"], row["refused"], row["bad_ids"], row["bad_times"]) == (1, 0, 0, 0, 0)


def test_a_wrong_citation_and_an_invented_number() -> None:
    outcome = answered("They serve 4,000 models.", found("a", 9), found("a", 4))
    row = judge(item(), outcome, TALKS, "scope")
    assert row.measures["cite_prec"] == 0.5
    assert row.measures["cite_rec"] == 0
    assert row.measures["cite_any"] == 1
    assert row.measures["alce_prec"] == 0.5
    assert row.measures["facts"] == 0
    assert row.ungrounded == ("4000",)


def test_search_only_has_no_answer_measures() -> None:
    row = measures(Outcome(id="q", hits=(found("a", 3),)))
    assert row["hit@1"] == 1
    assert not {"cite_any", "refused", "bad_ids", "facts", "alce_rec"} & row.keys()


def test_a_refusal_of_an_answerable_question_misses_citation_and_facts() -> None:
    row = measures(Outcome(id="q", answered=True, abstained=True, confidence=0.1))
    assert (row["refused"], row["cite_any"], row["facts"]) == (1, 0, 0)
    assert "cite_prec" not in row


def test_an_unanswerable_question_has_only_refusal_and_validity() -> None:
    outcome = answered("Ada said 40.", found("a", 3), hits=(found("a", 3),))
    assert measures(outcome, answerable=False) == {
        "failed": 0, "refused": 0, "notice": 0, "bad_ids": 0, "bad_times": 0, "ungrounded": 0,
    }  # fmt: skip


def test_a_failed_question_counts_as_missed() -> None:
    row = measures(Outcome(id="q", error="StoreError: gone"))
    assert (row["failed"], row["hit@10"], row["mrr"], row["cite_any"], row["facts"], row["refused"]) == (
        1,
        0,
        0,
        0,
        0,
        0,
    )


def test_citations_that_cannot_be_are_counted() -> None:
    real = found("a", 3)
    outcome = answered(
        "x",
        real.model_copy(update={"first_cue": "s77"}),
        real.model_copy(update={"talk_id": "nowhere"}),
        real.model_copy(update={"start_ms": 19_999}),
        found("a", 5).model_copy(update={"last_cue": "s2"}),
    )
    row = measures(outcome)
    assert (row["bad_ids"], row["bad_times"]) == (3, 1)


def test_arms_and_the_question_without_its_history_are_measured_apart() -> None:
    outcome = Outcome(
        id="q", hits=(found("a", 3),), arms={"dense": (found("b", 3),)}, plain_hits=(found("b", 1), found("a", 3))
    )
    row = measures(outcome, history=HISTORY)
    assert (row["mrr"], row["dense:mrr"], row["plain:mrr"]) == (1, 0, 0.5)


def test_names_known_without_a_citation_are_not_ungrounded() -> None:
    outcome = answered("Ada of Caches serves 40 models, Bob says.", found("a", 3))
    assert judge(item(), outcome, TALKS, "scope").ungrounded == ("Bob",)


def test_gold_is_spelt_out() -> None:
    row = judge(item(), Outcome(id="q"), TALKS, "talk")
    assert [moment.row for moment in row.gold] == [("a", "s3", "s3")]
    assert row.gold[0].text == "We serve 40 models."
    assert row.gold[0].start_ms == 20_000
    assert row.setting == "talk"


def rows() -> list[Row]:
    right = answered("They serve 40 models.", found("a", 3), hits=(found("a", 3),), timings_ms={"search": 10.0})
    refused = Outcome(id="q", answered=True, abstained=True, confidence=0.2, timings_ms={"search": 30.0})
    return [
        judge(item(), right, TALKS, "scope"),
        judge(item(), refused, TALKS, "scope"),
        judge(item(answerable=False), refused, TALKS, "scope"),
        judge(item(answerable=False), answered("Ada.", confidence=0.5), TALKS, "scope"),
    ]


def test_scores_of_four_questions() -> None:
    scores = score(rows())
    value = {name: found["value"] for name, found in scores["all"].items()}
    assert (value["questions"], value["answerable"], value["unanswerable"]) == (4, 2, 2)
    assert (value["hit@1"], value["cite_any"], value["cite_prec"]) == (0.5, 0.5, 1.0)
    assert scores["all"]["cite_prec"]["n"] == 1
    assert (value["abst_acc"], value["abst_recall"], value["false_abst"], value["abst_f1"]) == (0.5, 0.5, 0.5, 0.5)
    assert value["auroc"] == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert value["start_med"] == 0
    assert scores["cost"]["search ms"] == {"p50": 30.0, "p95": 30.0, "n": 3.0}


def test_every_share_has_an_interval_around_it() -> None:
    for name, found_score in score(rows())["all"].items():
        low, high = found_score["low"], found_score["high"]
        if low is not None and high is not None:
            assert low <= found_score["value"] <= high, name


def test_groups_by_type_scope_and_data() -> None:
    groups = score(rows())["groups"]
    assert set(groups) == {"data=data", "scope=talk", "type=factoid"}
    assert groups["type=factoid"]["hit@1"]["value"] == 0.5


def test_scores_of_nothing() -> None:
    assert score([])["all"]["questions"]["value"] == 0
