"""The whole way as a user goes it: caption file -> library -> cited answer, by the commands, with the real model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

MEDIA = "https://www.youtube.com/watch?v=VIDEOID11ch"
QUESTION = "how does Together handle long-context KV cache?"
# As for any model on a CPU: a short prompt. The time limit allows for a busy machine.
MODEL = {"RAG_LLM": "local", "RAG_LLM_PROMPT_TOKENS": "600", "RAG_LLM_TIMEOUT_S": "600"}

pytestmark = pytest.mark.slow


def run(*arguments: str, home: Path, code: int = 0, **settings: str) -> str:
    """Run `python -m …` in a process of its own and return its stdout."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("RAG_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=environment | {"RAG_HOME": str(home)} | settings,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def panel(home: Path, shared: Path) -> dict:
    """The published transcript page, ingested; the entry of the report."""
    page = shared / "data" / "agents-at-scale" / "page.txt"
    report = json.loads(run("ingest", str(page), "--media", MEDIA, "--json", home=home))
    (entry,) = report["files"]
    return entry


def positions(answer: dict) -> list[tuple[int, int]]:
    """First and last cue number of every citation."""
    return [(int(c["first_cue"][1:]), int(c["last_cue"][1:])) for c in answer["citations"]]


def assert_kv_cache_answer(answer: dict) -> None:
    """Most citations lie inside s196–s209 (16:11–17:15), at least one inside s199–s207; quotes and links are exact."""
    spans = positions(answer)
    inside = [span for span in spans if span[0] >= 196 and span[1] <= 209]
    assert len(inside) > len(spans) / 2, spans
    assert any(first >= 199 and last <= 207 for first, last in spans), spans
    for citation in answer["citations"]:
        assert citation["url"] == f"{MEDIA}&t={citation['start_ms'] // 1000}s"
        assert citation["quote"]
    assert all(claim["citations"] or claim["support"] == "unsupported" for claim in answer["claims"])
    assert {n for claim in answer["claims"] for n in claim["citations"]} <= {c["n"] for c in answer["citations"]}


def test_the_page_is_read_as_published(panel: dict, home: Path) -> None:
    assert (panel["status"], panel["cues"], panel["skipped"]) == ("added", 252, [])
    talk = json.loads(run("rag", "transcript", panel["talk_id"], "--json", home=home))
    assert talk["title"] == "Agents at Scale: Inside MiniMax's Model and the Infrastructure Behind It"
    assert talk["speakers"] == ["Dan Fu", "Olive Song"]
    assert [cue["id"] for cue in talk["cues"]] == [f"s{n}" for n in range(1, 253)]
    assert (talk["cues"][198]["id"], talk["cues"][198]["start_ms"]) == ("s199", 983_000)


def test_an_answer_made_of_quotes(panel: dict, home: Path) -> None:
    answer = json.loads(run("rag", "ask", QUESTION, "--json", home=home))
    assert answer["answered_by"] == "quotes"
    assert not answer["abstained"]
    assert_kv_cache_answer(answer)


def test_a_search(panel: dict, home: Path) -> None:
    (hit, *_) = json.loads(run("rag", "search", QUESTION, "--json", "-k", "3", home=home))["hits"]
    assert 196 <= int(hit["first_cue"][1:]) <= 209


def test_a_question_from_another_world_is_refused(panel: dict, home: Path) -> None:
    answer = json.loads(run("rag", "ask", "What is the best recipe for sourdough bread?", "--json", home=home))
    assert answer["abstained"]
    assert (answer["citations"], answer["claims"]) == ([], [])
    assert len(answer["nearest"]) > 0


def test_a_model_that_can_not_be_reached_gives_quotes_and_says_so(panel: dict, home: Path) -> None:
    settings = {"RAG_LLM": "some-model", "RAG_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    answer = json.loads(run("rag", "ask", QUESTION, "--json", home=home, **settings))
    assert answer["answered_by"] == "quotes"
    assert "127.0.0.1" in answer["notice"]
    assert "\n" not in answer["notice"]
    assert_kv_cache_answer(answer)


def test_a_second_ingest_changes_nothing(panel: dict, home: Path, shared: Path) -> None:
    page = shared / "data" / "agents-at-scale" / "page.txt"
    before = (home / "index" / "CURRENT").read_text()
    report = json.loads(run("ingest", str(page), "--media", MEDIA, "--json", home=home))
    assert [entry["status"] for entry in report["files"]] == ["unchanged"]
    assert (home / "index" / "CURRENT").read_text() == before


@pytest.fixture(scope="module")
def written(panel: dict, home: Path) -> dict:
    """The answer that the real local model writes."""
    return json.loads(run("rag", "ask", QUESTION, "--json", home=home, **MODEL))


@pytest.mark.llm
@pytest.mark.timeout(1800)
def test_a_written_answer_of_a_real_model(written: dict) -> None:
    assert written["answered_by"] == "Qwen2.5-Coder 1.5B", written["notice"]
    assert written["claims"]
    assert_kv_cache_answer(written)


@pytest.mark.llm
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "question", ["What is Dan's job title at Together AI?", "How many parameters does MiniMax M3 have?"]
)
def test_a_real_model_never_cites_what_it_was_not_shown(panel: dict, home: Path, question: str) -> None:
    answer = json.loads(run("rag", "ask", question, "--json", home=home, **MODEL))
    assert all(1 <= first <= last <= 252 for first, last in positions(answer))
    assert answer["abstained"] or answer["citations"]
    assert not (answer["abstained"] and answer["citations"])
