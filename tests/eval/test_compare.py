"""Comparing runs: what counts as a change, and when a gate must not let a run pass."""

import json
from pathlib import Path

import pytest

from eval.__main__ import main
from eval.compare import ALPHA, Comparison, compare, gate
from eval.report import compare_html
from eval.store import write_lines
from eval.types import FoundMoment, Outcome, Row
from rag.errors import InputError
from tests.eval.talks import found


def row(id_: str, **measures: float) -> Row:
    return Row(
        id=id_, data="d", setting="scope", type=f"type{int(id_) % 2}", scope="talk", talk_id=f"t{int(id_) % 10}",
        question=f"Question {id_}?", gold=(found("a", 3),), outcome=Outcome(id=id_, hits=(found("a", 4),)),
        measures={"mrr": 1.0, "cite_any": 1.0, "bad_ids": 0.0, "failed": 0.0} | measures,
    )  # fmt: skip


BASE = [row(str(n)) for n in range(40)]
WORSE = [row(str(n), mrr=0.5 if n < 20 else 1.0) for n in range(40)]
CHANCE = [row(str(n), mrr=0.5) if n == 3 else row(str(n)) for n in range(40)]


def overall(comparison: Comparison, measure: str) -> tuple[float, float, float, str]:
    (one,) = [each for each in comparison.differences if each.measure == measure and not each.group]
    return one.base, one.other, one.p, one.verdict


def test_a_clear_loss() -> None:
    base, other, p, verdict = overall(compare(BASE, WORSE), "mrr")
    assert (base, other, verdict) == (1.0, 0.75, "worse")
    assert p < ALPHA
    assert overall(compare(WORSE, BASE), "mrr")[3] == "better"


def test_a_single_question_is_chance() -> None:
    _, other, p, verdict = overall(compare(BASE, CHANCE), "mrr")
    assert (other, p, verdict) == (0.9875, 1.0, "")


def test_equal_runs_differ_nowhere() -> None:
    comparison = compare(BASE, BASE)
    assert comparison.changed == ()
    assert {each.verdict for each in comparison.differences} == {""}
    assert gate(comparison, ["mrr", "cite_any"]) == []


def test_groups_are_tested_apart() -> None:
    only_even = [row(str(n), mrr=0.5 if n % 2 == 0 else 1.0) for n in range(40)]
    verdicts = {each.group: each.verdict for each in compare(BASE, only_even).differences if each.measure == "mrr"}
    assert verdicts == {"": "worse", "type=type0": "worse", "type=type1": ""}


def test_lower_is_better_for_some() -> None:
    more = [row(str(n), ungrounded=2.0) for n in range(40)]
    fewer = [row(str(n), ungrounded=0.0) for n in range(40)]
    assert overall(compare(more, fewer), "ungrounded")[3] == "better"


def test_refusals_look_at_one_kind_of_question() -> None:
    def refusing(answerable: float, unanswerable: float) -> list[Row]:
        rows = [row(str(n), refused=answerable if n % 2 else unanswerable) for n in range(40)]
        return [each if int(each.id) % 2 else each.model_copy(update={"gold": ()}) for each in rows]

    comparison = compare(refusing(0.0, 0.0), refusing(1.0, 1.0))
    assert overall(comparison, "abst_recall")[3] == "better"
    assert overall(comparison, "false_abst")[3] == "worse"


def test_changed_questions_come_worst_first_with_their_moments() -> None:
    other = [row("0", mrr=0.5), row("1", mrr=0.1), row("2")]
    comparison = compare([row("0"), row("1"), row("2", mrr=0.2)], other)
    assert [(change.base.id, round(change.gain, 2)) for change in comparison.changed] == [
        ("1", -0.9), ("0", -0.5), ("2", 0.8),
    ]  # fmt: skip
    page = compare_html(("before", "after"), comparison)
    assert page.index("Question 1?") < page.index("Question 0?") < page.index("Question 2?")
    assert "s3 · 0:20" in page


def test_the_gate_names_the_loss() -> None:
    assert gate(compare(BASE, CHANCE), ["mrr"]) == []
    (reason,) = gate(compare(BASE, WORSE), ["mrr", "cite_any"])
    assert reason.startswith("mrr (scope): 1.0000 -> 0.7500, p = 0.0")


def test_the_gate_never_lets_invented_citations_failures_or_missing_questions_pass() -> None:
    assert gate(compare(BASE, [row("0", bad_ids=2.0), *BASE[1:]]), ["mrr"]) == [
        "bad_ids (scope): 2 in the other run, must be 0"
    ]
    assert gate(compare(BASE, [row("0", failed=1.0), *BASE[1:]]), ["mrr"]) == [
        "failed (scope): 1 in the other run, must be 0"
    ]
    assert gate(compare(BASE, BASE[1:]), ["mrr"]) == ["1 questions of the base run are missing in the other"]


def test_a_gate_that_would_check_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="--gate hit@7: not measured in both runs; expected one of mrr, cite_any"):
        gate(compare(BASE, WORSE), ["hit@7"])


def test_runs_without_a_shared_question() -> None:
    with pytest.raises(InputError, match="share no question"):
        compare([row("1")], [row("2")])


def write(folder: Path, rows: list[Row]) -> Path:
    folder.mkdir()
    write_lines(folder / "per_question.jsonl", (each.model_dump(mode="json") for each in rows))
    return folder


def test_the_command_returns_1_only_when_a_gate_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, worse = write(tmp_path / "base", BASE), write(tmp_path / "worse", WORSE)
    assert main(["compare", str(base), str(worse)]) == 0
    assert "worse" in capsys.readouterr().out
    assert main(["compare", str(base), str(worse), "--gate"]) == 1
    assert "gate: mrr (scope)" in capsys.readouterr().out
    assert main(["compare", str(worse), str(base), "--gate"]) == 0
    assert "base is not worse beyond chance on mrr, cite_any" in capsys.readouterr().out.replace("\n", "")
    assert (worse / "compare.html").exists()
    capsys.readouterr()
    assert main(["compare", str(base), str(base), str(worse), "--gate", "mrr", "--json"]) == 1
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["gate"], len(second["gate"])) == ([], 1)
    assert len(second["changed"]) == 20


def test_a_folder_without_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = write(tmp_path / "base", BASE)
    assert main(["compare", str(base), str(tmp_path)]) == 1
    assert "expected the OUT folder of a finished 'python -m eval run'" in capsys.readouterr().err
    (tmp_path / "per_question.jsonl").write_text("{}\n")
    assert main(["compare", str(base), str(tmp_path)]) == 1
    assert "not the rows of a run made by this version" in capsys.readouterr().err


def test_hostile_questions_stay_text_in_the_page() -> None:
    evil = replace_question(BASE[0], "<script>alert(1)</script>", found("a", 3))
    page = compare_html(("a<b", "c"), compare([evil], [replace_question(WORSE[0], evil.question, found("a", 4))]))
    assert "<script>alert" not in page
    assert "a&lt;b" in page


def replace_question(base: Row, question: str, hit: FoundMoment) -> Row:
    return base.model_copy(update={"question": question, "outcome": Outcome(id=base.id, hits=(hit,))})
