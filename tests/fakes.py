"""Stand-ins at our own seams, simple enough to check by hand."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

from rag.embed import Vectors


class WordEmbedder:
    """An `Embedder` in which each word is one axis: texts that share words are near, others are at right angles."""

    name = "fake/words"
    dim = 256

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(word.encode()) % self.dim] += 1
            row[0] += 0.01  # a text without words still has a direction
            row /= np.linalg.norm(row)
        return rows

    def encode_query(self, text: str) -> Vectors:
        vector: Vectors = self.encode_passages([text])[0]
        return vector
