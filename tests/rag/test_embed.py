"""The bundled model, for real, and tiny ones made here."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from rag import embed
from rag.embed import (
    BUNDLED_MODEL,
    Embedder,
    LazyEmbedder,
    bundled_model_folder,
    canonical_name,
    family_prompts,
    load_embedder,
)
from rag.errors import StartError
from tests.fakes import WordEmbedder
from tests.rag.tiny_models import bert

pytestmark = pytest.mark.slow  # loads the real model

OFFICIAL = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder()


def test_the_packaged_weights_are_the_official_file() -> None:
    assert hashlib.sha256((bundled_model_folder() / "model.safetensors").read_bytes()).hexdigest() == OFFICIAL


def test_vectors_are_unit_length_and_near_for_near_meanings(embedder: Embedder) -> None:
    texts = ["The cache grows with the context.", "Long prompts need more key value memory.", "Bananas are yellow."]
    vectors = embedder.encode_passages(texts)
    assert (vectors.shape, vectors.dtype, embedder.dim) == ((3, 384), np.float32, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def test_a_question_is_encoded_like_a_passage(embedder: Embedder) -> None:
    query = embedder.encode_query("how does the cache grow?")
    passages = embedder.encode_passages(["how does the cache grow?", "x"])
    assert query.shape == (384,)
    assert query @ passages[0] > 0.999


def test_a_question_is_encoded_as_the_library_itself_would(tmp_path: Path) -> None:
    model = SentenceTransformer(str(bundled_model_folder()), prompts={"query": "search: "}, truncate_dim=64)
    model.save(str(tmp_path))
    query = load_embedder(str(tmp_path)).encode_query("How does the cache grow?")
    expected = SentenceTransformer(str(tmp_path)).encode("search: How does the cache grow?", normalize_embeddings=True)
    assert query.shape == (64,)
    assert query @ expected > 0.999


def test_nothing_to_encode(embedder: Embedder) -> None:
    assert embedder.encode_passages([]).shape == (0, 384)


def test_every_name_of_the_bundled_model_is_one() -> None:
    names = {"", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"}
    assert {canonical_name(name) for name in names} == {BUNDLED_MODEL}
    assert canonical_name("BAAI/bge-m3") == "BAAI/bge-m3"


def test_a_model_that_can_not_be_had_is_named(tmp_path) -> None:
    with pytest.raises(StartError, match=r"RAG_EMBED_MODEL: can't load '.*nothing-here'"):
        load_embedder(str(tmp_path / "nothing-here"))


def test_a_lazy_model_is_loaded_once_and_only_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(name: str) -> Embedder:
        loaded.append(name)
        return WordEmbedder()

    monkeypatch.setattr(embed, "load_embedder", load)
    known = LazyEmbedder("", dim=384)
    assert (known.name, known.dim, loaded) == (BUNDLED_MODEL, 384, [])
    unknown = LazyEmbedder("some/model")
    assert (unknown.dim, loaded) == (WordEmbedder.dim, ["some/model"])
    assert unknown.encode_passages(["a", "b"]).shape == (2, WordEmbedder.dim)
    assert unknown.encode_query("a").shape == (WordEmbedder.dim,)
    assert loaded == ["some/model"]


def tiny_model(folder: Path, prompts: dict[str, str] | None = None) -> str:
    """A sentence-transformers model with two tiny layers of random weights; `prompts` go into its configuration."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    modules = [Transformer(bert(folder.parent / f"{folder.name}-layers")), Pooling(16)]
    SentenceTransformer(modules=modules, device="cpu", prompts=prompts).save(str(folder))
    return str(folder)


def plainly(model: str, text: str) -> Any:
    """The vector of exactly this text, whatever prompts the model has."""
    from sentence_transformers import SentenceTransformer

    vector = SentenceTransformer(model, device="cpu").encode(text, prompt="")
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("name", "configured", "query", "passage"),
    [
        ("tiny", {"query": "question: ", "document": "text: "}, "question: ", "text: "),
        ("tiny-passage", {"query": "q: ", "passage": "p: "}, "q: ", "p: "),
        ("tiny-plain", None, "", ""),
        ("multilingual-e5-tiny", None, "query: ", "passage: "),
        ("multilingual-e5-own", {"query": "ask: ", "document": ""}, "ask: ", ""),
        ("bge-tiny-en-v1.5", None, "Represent this sentence for searching relevant passages: ", ""),
    ],
)
def test_questions_and_passages_get_the_prompts_of_the_model(
    tmp_path: Path, name: str, configured: dict[str, str] | None, query: str, passage: str
) -> None:
    model = tiny_model(tmp_path / name, configured)
    embedder = load_embedder(model)
    assert (embedder.name, embedder.dim) == (model, 16)
    for text in ("how large is the cache?", "x"):
        np.testing.assert_allclose(embedder.encode_query(text), plainly(model, query + text), atol=2e-2)
        np.testing.assert_allclose(embedder.encode_passages([text])[0], plainly(model, passage + text), atol=2e-2)
    asked, told = embedder.encode_query("cache"), embedder.encode_passages(["cache"])[0]
    assert (float(asked @ told) > 0.999) == (query == passage)


@pytest.mark.parametrize(
    ("name", "prompts"),
    [
        ("intfloat/e5-base-v2", {"query": "query: ", "document": "passage: "}),
        ("/models/multilingual-e5-small", {"query": "query: ", "document": "passage: "}),
        ("BAAI/bge-large-en", {"query": "Represent this sentence for searching relevant passages: "}),
        ("BAAI/bge-m3", {}),
        ("thenlper/gte-small", {}),
        ("/home/e5-user/some-model", {}),
        (BUNDLED_MODEL, {}),
    ],
)
def test_prompts_that_makers_document_but_do_not_configure(name: str, prompts: dict[str, str]) -> None:
    assert family_prompts(name) == prompts


def test_an_instruction_tuned_e5_is_told_its_task() -> None:
    prompts = family_prompts("intfloat/multilingual-e5-large-instruct")
    assert set(prompts) == {"query"}
    assert prompts["query"].startswith("Instruct: ")
    assert prompts["query"].endswith("\nQuery: ")


@pytest.mark.parametrize(
    ("gpu", "bf16", "device", "options"),
    [
        (True, True, "cuda", {}),
        (True, False, "cuda", {}),
        (False, False, "cpu", {}),
        (False, True, "cpu", {"dtype": "bfloat16"}),
    ],
)
def test_a_gpu_is_used_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, bf16: bool, device: str, options: dict[str, str]
) -> None:
    import sentence_transformers
    import torch

    made: list[tuple[str, dict[str, str]]] = []

    class Recorded:
        def __init__(self, path: str, device: str, model_kwargs: dict[str, object]) -> None:
            self.prompts: dict[str, str] = {}
            made.append((device, {name: str(value).removeprefix("torch.") for name, value in model_kwargs.items()}))

        def get_embedding_dimension(self) -> int:
            return 3

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", Recorded)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": bf16})
    assert load_embedder("some/model").dim == 3
    assert made == [(device, options)]
