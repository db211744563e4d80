"""The line that CI holds: today's code passes against the committed baseline, broken retrieval does not."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eval import run as running
from eval.compare import compare, gate
from eval.plan import Plan
from eval.store import read_rows
from rag.embed import Embedder, Vectors, load_embedder
from rag.lexical import LexicalStore
from rag.settings import load_settings
from tests.conftest import ROOT
from tests.eval.conftest import no_progress, silent

pytestmark = pytest.mark.slow  # builds libraries and asks every question

SAMPLE = ROOT / "eval" / "data"
BASELINE = ROOT / "eval" / "baseline"
GATED = ("mrr", "ndcg@20", "dense:mrr", "words:mrr", "start<=15")


class Shuffled:
    """A model whose vectors are right but belong to other texts."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self.name = f"shuffled/{model.name}"
        self.dim = model.dim

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = self._model.encode_passages(texts)
        return vectors[np.random.default_rng(3).permutation(len(vectors))]

    def encode_query(self, text: str) -> Vectors:
        return self._model.encode_query(text)


@pytest.fixture(scope="module")
def model() -> Embedder:
    return load_embedder()


@pytest.fixture
def sample(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Search only, over the sample talks; libraries are shared by the tests of this file."""
    cache = tmp_path_factory.getbasetemp() / "eval-cache"
    return Plan(data=(SAMPLE,), out=tmp_path / "out", cache=cache, answers="none")


def reasons(plan: Plan, embedder: Embedder) -> list[str]:
    running.run(plan, load_settings(), embedder, silent, no_progress)
    return gate(compare(read_rows(BASELINE), read_rows(plan.out)), GATED)


def test_the_baseline_covers_all_sample_questions() -> None:
    rows = read_rows(BASELINE)
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(lines)
    assert {"mrr", "cite_any", "refused"} <= {name for row in rows for name in row.measures}


def test_todays_code_holds_the_line(sample: Plan, model: Embedder) -> None:
    assert reasons(sample, model) == []


def test_shuffled_vectors_do_not_pass(sample: Plan, model: Embedder) -> None:
    found = reasons(sample, Shuffled(model))
    assert any(reason.startswith("dense:mrr (scope)") for reason in found)
    assert any(reason.startswith("mrr (scope)") for reason in found)


def test_a_missing_lexical_arm_does_not_pass(sample: Plan, model: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LexicalStore, "best", lambda *_, **__: [])
    found = reasons(sample, model)
    assert any(reason.startswith("words:mrr (scope)") for reason in found)


def test_skipped_questions_do_not_pass(sample: Plan, model: Embedder) -> None:
    found = reasons(replace(sample, limit=20), model)
    assert "36 questions of the base run are missing in the other" in found
