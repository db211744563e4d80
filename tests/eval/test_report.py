"""The report holds every question, opens offline, and trusts no text."""

import re

import pytest

from eval import report
from eval.dataset import Item
from eval.judge import judge
from eval.scores import score
from eval.types import ClaimOutcome, FoundMoment, Outcome, Question, Row
from tests.eval.talks import TALKS, found, gold

MADE_FROM: dict[str, object] = {
    "data": {"sample": "0123abcd"},
    "answers": "extract",
    "embed_model": "fake/words",
    "commit": "abc",
    "started": "now",
    "rag": {"llm": "off"},
}


def row(question: str, outcome: Outcome, answerable: bool = True) -> Row:
    asked = Question(
        id=outcome.id, talk_id="a", question=question, answer="40.", relevant=(("s3", "s3"),) if answerable else (),
        type="factoid", scope="talk",
    )  # fmt: skip
    return judge(Item(asked, gold((3, 3)) if answerable else gold(), "sample"), outcome, TALKS, "scope")


def cited(id_: str, *moments: FoundMoment, text: str = "They serve 40 models.") -> Outcome:
    claim = ClaimOutcome(text=text, citations=tuple(range(1, len(moments) + 1)), support="weak")
    return Outcome(
        id=id_, hits=(found("a", 3),), answered=True, answer=text, claims=(claim,), citations=moments, confidence=0.8,
        answered_by="quotes", timings_ms={"search": 12.0},
    )  # fmt: skip


REFUSAL = Outcome(id="refused", answered=True, abstained=True, confidence=0.1)
VERDICTS = [
    (row("?", Outcome(id="f", error="StoreError: gone")), report.FAILED),
    (row("?", cited("i", found("a", 3).model_copy(update={"start_ms": 1}))), report.IMPOSSIBLE),
    (row("?", cited("w", found("a", 9))), report.WRONG_LINK),
    (row("?", Outcome(id="n", hits=(found("b", 3),))), report.NOT_FOUND),
    (row("?", Outcome(id="l", hits=(found("b", 3), found("a", 3)))), report.FOUND_LOWER),
    (row("?", REFUSAL.model_copy(update={"hits": (found("a", 3),)})), report.WRONGLY_REFUSED),
    (row("?", cited("s", found("a", 9)), answerable=False), report.SHOULD_REFUSE),
    (row("?", REFUSAL, answerable=False), report.RIGHTLY_REFUSED),
    (row("?", cited("r", found("a", 3))), report.RIGHT),
    (row("?", Outcome(id="o"), answerable=False), report.NOT_JUDGED),
]


@pytest.mark.parametrize(("judged", "expected"), VERDICTS)
def test_verdicts(judged: Row, expected: report.Verdict) -> None:
    assert report.verdict(judged) == expected


def rendered(*rows: Row) -> str:
    return report.html(rows, {"scope": score(rows)}, MADE_FROM)


def test_every_question_is_there_with_failures_first() -> None:
    page = rendered(*(judged for judged, _ in reversed(VERDICTS)))
    shown = re.findall(r'<span class="pill [a-z]*">([^<]+)</span>', page)
    assert shown == [expected.words for expected in sorted(expected for _, expected in VERDICTS)]


def test_the_page_asks_nothing_of_the_network() -> None:
    page = rendered(*(judged for judged, _ in VERDICTS))
    outside = set(re.findall(r'(?:src|href)="((?:https?:)?//[^"]*)"', page))
    assert outside == {found("a", 3).url, found("a", 9).url}  # links to moments, opened only when clicked
    assert not re.search(r"<(?:link|img|script) [^>]*(?:src|href)=", page)
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_hostile_text_stays_text() -> None:
    evil = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    outcome = cited("evil", found("a", 3).model_copy(update={"text": evil, "url": "javascript:alert(3)"}), text=evil)
    page = rendered(row(evil, outcome))
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "javascript:" not in page
    strange = [row("a | b\n# c", Outcome(id="x"))]
    text = report.markdown(strange, {"scope": score(strange)}, MADE_FROM)
    assert "a \\| b # c" in text


def test_figures_are_drawn_and_the_same_each_time() -> None:
    rows = [judged for judged, _ in VERDICTS]
    page = rendered(*rows)
    assert page.count("<figure>") == 5
    assert page == rendered(*rows)


def test_a_run_without_answers_has_no_answer_figures() -> None:
    page = rendered(row("?", Outcome(id="n", hits=(found("a", 3),))))
    assert "Precision against coverage" not in page
    assert "Time by step" not in page


def test_markdown_lists_failures_only() -> None:
    rows = [judged for judged, _ in VERDICTS]
    text = report.markdown(rows, {"scope": score(rows)}, MADE_FROM)
    failures = sum(expected.kind == "bad" for _, expected in VERDICTS)
    assert f"## Failures ({failures} of {len(rows)})" in text
    assert "rightly refused" not in text
