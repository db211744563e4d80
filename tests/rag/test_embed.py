"""The bundled model, for real."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from rag import embed
from rag.embed import BUNDLED_MODEL, Embedder, LazyEmbedder, bundled_model_folder, canonical_name, load_embedder
from rag.errors import StartError
from tests.fakes import WordEmbedder

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
