from pathlib import Path

import pytest

from eval import bench
from eval.tables import benchmarks
from rag.settings import load_settings
from tests.fakes import WordEmbedder

pytestmark = pytest.mark.slow  # builds libraries and asks every question


def test_every_benchmark_gives_a_number(data: Path) -> None:
    results = bench.run([data], WordEmbedder(), load_settings(), lambda _: None)
    assert [each.name for each in results] == [
        "ingest / encoding", "ingest again, nothing new", "search / encoding its query", "peak memory",
    ]  # fmt: skip
    assert all(each.value > 0 for each in results)
    assert "24 texts of 2 talks" in results[0].detail  # of each talk 10 sentences and 2 passages
    assert results[0].goal is None  # too little to judge
    assert benchmarks(results).row_count == 4


def test_a_missed_goal_does_not_hold() -> None:
    assert not bench.Measured("x", 1.3, "×", 1.25, "").holds
    assert bench.Measured("x", 1.25, "×", 1.25, "").holds
    assert bench.Measured("x", 99, "MB", None, "").holds
