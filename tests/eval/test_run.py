"""A run from data folder to files, with real ingest, index and engine, and a stand-in for the embedding model."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval import run as running
from eval.dataset import Item
from eval.plan import Plan
from eval.scores import SettingScores
from eval.store import read_outcomes, read_rows
from eval.types import Setting
from rag.engine import Engine
from rag.errors import InputError, StoreError, UsageError
from rag.settings import load_settings
from tests.eval.conftest import QUESTIONS, no_progress, silent, write_questions
from tests.fakes import WordEmbedder

pytestmark = pytest.mark.slow  # builds libraries and asks every question


def run(plan: Plan, progress: running.Progress = no_progress) -> dict[Setting, SettingScores]:
    return running.run(plan, load_settings(home=Path("unused")), WordEmbedder(), silent, progress)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_all_files_are_written(plan: Plan) -> None:
    run(plan)
    names = "outcomes.jsonl run.jsonl per_question.jsonl scores.json made_from.json report.html report.md figures"
    assert {path.name for path in plan.out.iterdir()} == set(names.split())
    rows = lines(plan.out / "run.jsonl")
    assert [row["id"] for row in rows] == ["q1", "q2", "q3", "q4"]
    for row in rows:
        assert set(row) == {"id", "hits", "cited", "abstained", "score"}
        assert all(len(hit) == 3 and hit[0] in ("a", "b") and hit[1].startswith("s") for hit in row["hits"])
    assert rows[0]["hits"][0][0] == "a"
    assert {hit[0] for hit in rows[0]["hits"]} == {"a"}  # scope talk: asked within its talk
    assert {hit[0] for hit in rows[1]["hits"]} == {"a", "b"}  # scope corpus: over both


def test_what_made_it_is_recorded_without_secrets_or_places(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_LLM_API_KEY", "sk-very-secret")
    monkeypatch.setenv("RAG_LLM_PROMPT_TOKENS", "700")
    run(plan)
    made_from = json.loads((plan.out / "scores.json").read_text())["made_from"]
    assert made_from["embed_model"] == "fake/words"
    assert made_from["rag"]["llm_prompt_tokens"] == 700
    assert not {"llm_api_key", "chroma_token", "home"} & made_from["rag"].keys()
    assert made_from["answers"] == "extract"
    assert len(made_from["data"]["data"]) == 16
    assert made_from["libraries"]["chromadb"]
    everything = "".join(path.read_text() for path in plan.out.rglob("*.*"))
    assert "sk-very-secret" not in everything
    assert str(plan.out.parent) not in everything


def test_search_only(plan: Plan) -> None:
    scores = run(replace(plan, answers="none"))
    assert set(lines(plan.out / "run.jsonl")[0]) == {"id", "hits"}
    assert "cite_any" not in scores["scope"]["all"]
    assert {"dense:hit@5", "words:hit@5", "plain:hit@5"} <= scores["scope"]["all"].keys()


def test_both_settings_write_two_runs(plan: Plan) -> None:
    scores = run(replace(plan, settings=("talk", "corpus")))
    assert [row["id"] for row in lines(plan.out / "run.talk.jsonl")] == ["q1", "q2", "q3", "q4"]
    assert [row["id"] for row in lines(plan.out / "run.corpus.jsonl")] == ["q2", "q4"]
    q2 = lines(plan.out / "run.talk.jsonl")[1]
    assert {hit[0] for hit in q2["hits"]} == {"b"}
    assert set(scores) == {"talk", "corpus"}
    assert len(read_rows(plan.out)) == 6


def test_an_interrupted_run_goes_on_where_it_stopped(plan: Plan) -> None:
    def interrupted(items: Iterable[Item], _: str) -> Iterator[Item]:
        for asked, item in enumerate(items):
            if asked == 2:
                raise KeyboardInterrupt
            yield item

    with pytest.raises(KeyboardInterrupt):
        run(plan, interrupted)
    assert not (plan.out / "run.jsonl").exists()
    with (plan.out / "outcomes.jsonl").open("a") as file:
        file.write('{"id": "q3", "hal')  # cut off in the middle of a line
    asked: list[str] = []

    def counted(items: Iterable[Item], _: str) -> Iterator[Item]:
        for item in items:
            asked.append(item.question.id)
            yield item

    run(plan, counted)
    assert asked == ["q3", "q4"]
    assert [row["id"] for row in lines(plan.out / "run.jsonl")] == ["q1", "q2", "q3", "q4"]


def test_a_finished_run_is_only_scored_again(plan: Plan) -> None:
    first = run(plan)
    assert run(plan, lambda items, title: pytest.fail(f"asked again: {title}")) == first


def test_a_failing_question_is_counted_and_asked_again(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    working = Engine.search

    def failing(self: Engine, query: str, *more: Any, **named: Any) -> Any:
        if "paging" in query:
            raise StoreError("talk b: gone")
        return working(self, query, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "search", failing)
        scores = run(replace(plan, answers="none"))
    assert scores["scope"]["all"]["failed"]["value"] == 1
    assert scores["scope"]["all"]["questions"]["value"] == 4
    failed = lines(plan.out / "run.jsonl")[1]
    assert (failed["hits"], failed["failed"]) == ([], "StoreError: talk b: gone")
    assert "talk b: gone" in (plan.out / "report.html").read_text()
    assert run(replace(plan, answers="none"))["scope"]["all"]["failed"]["value"] == 0
    assert [outcome.error for outcome in read_outcomes(plan.out / "outcomes.jsonl").values()] == [""] * 4


def test_another_run_in_the_same_folder_is_refused(plan: Plan) -> None:
    run(plan)
    with pytest.raises(UsageError, match="holds a run with another answers; choose another --out"):
        run(replace(plan, answers="none"))


def test_more_questions_may_join_a_run(plan: Plan) -> None:
    run(replace(plan, limit=2))
    assert len(lines(plan.out / "run.jsonl")) == 2
    run(plan)
    assert len(lines(plan.out / "run.jsonl")) == 4
    assert len(lines(plan.out / "outcomes.jsonl")) == 4


def test_only_some_types(plan: Plan) -> None:
    run(replace(plan, only=("factoid", "unanswerable")))
    assert [row["id"] for row in lines(plan.out / "run.jsonl")] == ["q1", "q4"]
    with pytest.raises(UsageError, match="no question is of this type"):
        run(replace(plan, only=("nonsense",)))


def test_other_questions_go_to_the_folder_that_holds_their_talk(plan: Plan, tmp_path: Path) -> None:
    other = write_questions(tmp_path / "more.jsonl", [QUESTIONS[0] | {"id": "m1"}, QUESTIONS[1] | {"id": "m2"}])
    run(replace(plan, questions=(other,)))
    assert [row["id"] for row in lines(plan.out / "run.jsonl")] == ["m1", "m2"]
    write_questions(other, [QUESTIONS[0] | {"talk_id": "nowhere"}])
    with pytest.raises(InputError, match=r"more\.jsonl:1: talk 'nowhere' is not among the 2 talks"):
        run(replace(plan, questions=(other,), out=tmp_path / "out2"))


def test_mistakes_are_found_before_anything_is_asked(plan: Plan) -> None:
    write_questions(plan.data[0] / "questions.jsonl", [QUESTIONS[0] | {"relevant": [["s5", "s77"]]}])
    with pytest.raises(InputError, match=r"questions\.jsonl:1: cue 's77' does not exist"):
        run(plan)
    assert not plan.out.exists()


def test_a_caption_file_that_cannot_be_read_stops_the_run(plan: Plan) -> None:
    (plan.data[0] / "talks" / "c.vtt").write_bytes(b"\x00\x01\x02 no captions")
    with pytest.raises(InputError, match=r"1 of 3 caption files can't be read, first .*c\.vtt"):
        run(plan)


def test_a_folder_without_talks(plan: Plan, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    write_questions(empty / "questions.jsonl", QUESTIONS)
    with pytest.raises(InputError, match="no caption files in talks/"):
        run(replace(plan, data=(empty,)))


def test_written_answers_need_a_model(plan: Plan) -> None:
    with pytest.raises(UsageError, match="set RAG_LLM"):
        run(replace(plan, answers="llm"))


def test_the_library_is_built_once_and_renewed_when_the_talks_change(plan: Plan, tmp_path: Path) -> None:
    plan = replace(plan, cache=tmp_path / "cache")
    run(plan)
    (first,) = plan.cache.iterdir()
    run(plan)
    assert list(plan.cache.iterdir()) == [first]
    captions = plan.data[0] / "talks" / "a.vtt"
    captions.write_text(captions.read_text().replace("12 gigabytes", "13 gigabytes"))
    with pytest.raises(UsageError, match="holds a run with another data"):
        run(plan)
    assert len(list(plan.cache.iterdir())) == 2
