from pathlib import Path

import pytest

from eval import plots
from eval.bench.run import run
from eval.bench.scale import grow
from eval.bench.types import Measured
from eval.tables import benchmarks, growth
from rag.embed import load_embedder
from rag.errors import UsageError
from rag.settings import load_settings
from tests.conftest import ROOT
from tests.fakes import WordEmbedder

pytestmark = pytest.mark.slow  # builds libraries, asks every question, starts the page


def silent(_: str) -> None:
    """Says nothing."""


def test_without_the_real_model_what_needs_none_is_measured(data: Path, tmp_path: Path) -> None:
    results = run([data], WordEmbedder(), load_settings(), silent, tmp_path)
    assert [each.name for each in results] == [
        "ingest / own encoding", "ingest again, nothing new", "search / floor", "search within a talk / floor",
        "first claim, without the model", "python -m ingest --help", "python -m ingest --check", "peak memory",
    ]  # fmt: skip
    assert all(each.value > 0 for each in results)
    assert "24 texts of 2 talks" in results[0].detail  # of each talk 10 sentences and 2 passages
    assert results[0].goal is None  # too little to judge
    assert benchmarks(results).row_count == 8


def test_search_and_start_are_within_generous_bounds(tmp_path: Path) -> None:
    """The goals, with room for a machine that has other things to do: what breaks them is a change for the worse."""
    results = run(
        [ROOT / "eval" / "data"], load_embedder(), load_settings(), silent, tmp_path, ["search", "answer", "start"]
    )
    found = {each.name: each.value for each in results}
    assert found["search / floor"] < 2
    assert found["search within a talk / floor"] < 2
    assert found["cold search / floor"] < 2
    assert found["page ready / floor"] < 2
    assert found["idle memory of the page"] < 1200


def test_twenty_clients_are_served(tmp_path: Path) -> None:
    (served,) = run([ROOT / "eval" / "data"], load_embedder(), load_settings(), silent, tmp_path, ["clients"])
    assert served.at_least
    assert 0 < served.value < 1.5


def test_only_what_there_is_can_be_measured(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--only sleep: expected some of ingest,search"):
        run([data], WordEmbedder(), load_settings(), silent, tmp_path, ["search", "sleep"])


def test_a_missed_goal_does_not_hold() -> None:
    assert not Measured("x", 1.3, "×", 1.25, "", "").holds
    assert Measured("x", 1.25, "×", 1.25, "", "").holds
    assert Measured("x", 99, "MB", None, "", "").holds
    assert not Measured("x", 0.8, "×", 0.9, "", "", at_least=True).holds
    assert Measured("x", 0.95, "×", 0.9, "", "", at_least=True).holds


def test_a_made_up_library_doubles_until_it_is_large_enough(tmp_path: Path) -> None:
    steps = list(grow(tmp_path, 400, silent))
    assert [(step.windows, step.added) for step in steps] == [(455, 455)]  # seven talks of 65 passages
    assert all(value > 0 for value in (steps[0].search_ms, steps[0].chroma_ms, steps[0].index_mb, steps[0].library_mb))
    assert growth(steps).row_count == 1
    assert plots.growth(steps).startswith("<svg")
    assert plots.growth([]) == ""
