"""What is ours in the comparison with others: text -> cues, the budget, plain fusion, the folders and the table."""

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval import peers
from eval.compare import compare
from eval.dataset import read_questions
from eval.plan import Plan
from eval.recipes import RECIPES, Script, bm25, budgeted, plain_fusion, windows
from eval.store import read_rows
from eval.types import Outcome, Row
from rag.errors import StartError, UsageError
from rag.settings import load_settings
from rag.types import Cue, Span, Talk
from tests.conftest import ROOT
from tests.eval.conftest import silent
from tests.eval.talks import TALKS, found
from tests.fakes import WordEmbedder

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(str.strip)


def talk_of(*texts: str) -> Talk:
    return Talk("t", "T", tuple(Cue(f"s{n}", n * 1000, n * 1000 + 900, text) for n, text in enumerate(texts, start=1)))


def test_characters_are_found_again_as_cues() -> None:
    script = Script.of(talk_of("One two.", "Three\nfour.", "Five."))
    assert script.text == "One two.\nThree four.\nFive."
    assert script.starts == [0, 9, 21]
    assert script.cues(0, 8) == Span(0, 0)
    assert script.cues(9, 12) == Span(1, 1)  # the line's end belongs to the line
    assert script.cues(4, 6) == Span(0, 1)
    assert script.cues(15, 11) == Span(1, 2)
    assert script.cues(21, 0) == Span(2, 2)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.data())
def test_a_stretch_of_lines_is_the_cues_that_it_was_made_of(texts: list[str], data: st.DataObject) -> None:
    script = Script.of(talk_of(*texts))
    assert len(script.text.split("\n")) == len(script.starts) == len(texts)
    first = data.draw(st.integers(0, len(texts) - 1))
    last = data.draw(st.integers(first, len(texts) - 1))
    end = script.starts[last + 1] - 1 if last + 1 < len(texts) else len(script.text)
    assert script.cues(script.starts[first], end - script.starts[first]) == Span(first, last)


def test_what_is_found_is_cut_to_eight_cues_and_overlaps_are_dropped() -> None:
    spans = [Span(10, 21), Span(17, 20), Span(18, 20), Span(3, 10), Span(2, 5), Span(4, 4)]
    assert budgeted(spans, 10) == [Span(10, 17), Span(18, 20), Span(2, 5)]
    assert budgeted(spans, 2) == [Span(10, 17), Span(18, 20)]
    assert budgeted([], 5) == []


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)).map(lambda at: Span(at[0], at[0] + at[1]))))
def test_the_budget_is_kept_whatever_is_found(spans: list[Span]) -> None:
    kept = budgeted(spans, 5)
    assert kept[:1] == [Span(first, min(last, first + 7)) for first, last in spans[:1]]
    cues = [cue for first, last in kept for cue in range(first, last + 1)]
    assert len(kept) <= 5
    assert len(cues) == len(set(cues)) <= 40


@given(st.integers(1, 40))
def test_windows_cover_a_talk_without_one_inside_another(count: int) -> None:
    spans = windows(talk_of(*["word"] * count))
    assert {cue for first, last in spans for cue in range(first, last + 1)} == set(range(count))
    assert all(last - first < 5 for first, last in spans)
    assert all(a.first < b.first and a.last < b.last for a, b in pairwise(spans))


def test_bm25_by_hand() -> None:
    score = bm25(["Caches grow.", "Caching caches pages.", "Bananas!"])
    # "cache" is in 2 of 3 texts, twice in the second; their lengths are 2, 3 and 1, so 2 on average.
    rarity = math.log(1 + 1.5 / 2.5)
    assert score("The cache?") == pytest.approx(
        [rarity * 2.2 / (1 + 1.2), rarity * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 1.5)), 0]
    )
    assert score("zebra") == [0, 0, 0]
    assert score("the") == [0, 0, 0]


def test_plain_fusion_finds_what_both_arms_agree_on() -> None:
    search = plain_fusion(WordEmbedder())(TALKS["a"])
    assert search("Paging cut our cost")[0] in {Span(2, 6), Span(4, 8), Span(6, 9)}
    assert set(search("evict old pages")[:2]) == {Span(4, 8), Span(6, 9)}


@pytest.mark.slow
def test_plain_fusion_on_the_sample_talks(tmp_path: Path) -> None:
    sample = ROOT / "eval" / "data"
    plan = Plan((sample,), tmp_path / "out", tmp_path / "cache", settings=("talk",))
    runs = peers.run(plan, ["plain-fusion", "talkcite"], WordEmbedder(), load_settings(), silent)
    asked = [line.question.id for line in read_questions(sample / "questions.jsonl") if line.question.answerable]
    for name, rows in runs.items():
        assert sorted(row.id for row in rows) == sorted(asked)
        assert all(row.setting == "talk" and len(row.outcome.hits) <= 10 for row in rows)
        assert {hit.talk_id for row in rows for hit in row.outcome.hits} <= {row.talk_id for row in rows}
        lines = (tmp_path / "out" / name / "run.jsonl").read_text().splitlines()
        assert [json.loads(line)["id"] for line in lines] == [row.id for row in rows]
        made_from = json.loads((tmp_path / "out" / name / "made_from.json").read_text())
        assert (made_from["recipe"], made_from["embed_model"]) == (name, "fake/words")
    base, other = (read_rows(tmp_path / "out" / name) for name in runs)
    differences = {found.measure: found for found in compare(base, other).differences if not found.group}
    assert differences["mrr"].n == len(asked)
    assert differences["mrr"].base > 0.5  # even words as vectors find most of it
    assert differences["start<=15"].other > differences["start<=15"].base  # the link lands on the sentence


@pytest.mark.slow
def test_a_recipe_without_its_library_says_what_is_missing(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def needs_what_is_not_there(_: object) -> object:
        raise ModuleNotFoundError("No module named 'llama_index'", name="llama_index")

    monkeypatch.setitem(RECIPES, "llamaindex-windows", needs_what_is_not_there)  # type: ignore[arg-type]
    with pytest.raises(StartError, match=r"llamaindex-windows: llama_index is not installed; docs/evaluation\.md"):
        peers.run(plan, ["llamaindex-windows"], WordEmbedder(), load_settings(), silent)
    with pytest.raises(UsageError, match=r"--only google: expected names out of llamaindex-windows, .*, talkcite"):
        peers.run(plan, ["talkcite", "google"], WordEmbedder(), load_settings(), silent)


def row(id_: str, type_: str, mrr: float) -> Row:
    measures = {"hit@1": mrr, "hit@5": 1.0, "mrr": mrr, "start<=15": 0.0}
    return Row(id=id_, data="d", setting="talk", type=type_, scope="talk", talk_id="a", question="?",
               gold=(found("a", 1),), measures=measures, outcome=Outcome(id=id_))  # fmt: skip


def test_the_table_keeps_stretches_and_sentences_apart() -> None:
    theirs = [row("q1", "chapter-title", 0.0), row("q2", "factoid", 0.5), row("q3", "paraphrase", 1.0)]
    best = [row("q1", "chapter-title", 1.0), row("q2", "factoid", 1.0), row("q3", "paraphrase", 1.0)]
    assert peers.table({"plain-fusion": theirs, "talkcite": best}).splitlines() == [
        "| questions | n | recipe | hit@1 | hit@5 | mrr | start<=15 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| stretches | 1 | plain-fusion | .000 (1) | 1.000 (1) | .000 (1) | .000 (1) |",
        "| stretches | 1 | talkcite | 1.000 | 1.000 | 1.000 | .000 |",
        "| hand-written | 2 | plain-fusion | .750 (1) | 1.000 (1) | .750 (1) | .000 (1) |",
        "| hand-written | 2 | talkcite | 1.000 | 1.000 | 1.000 | .000 |",
    ]
