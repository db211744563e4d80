"""What anyone would write with sentence-transformers and nothing else: the yardstick for ingest and search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rag.embed import BUNDLED_MODEL, Embedder, Vectors, bundled_model_folder

Encode = Callable[[Sequence[str]], Vectors]


def plain_encode(embedder: Embedder) -> Encode | None:
    """`SentenceTransformer.encode` in float32, with its own defaults, of the model of `embedder`.

    None for a model that sentence-transformers did not load.
    """
    if embedder.name != BUNDLED_MODEL:
        return None
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(bundled_model_folder()), device="cpu", model_kwargs={"dtype": torch.float32}, local_files_only=True
    )
    return lambda texts: model.encode(list(texts), show_progress_bar=False)
