"""Models with two tiny layers of random weights, made on the spot: the real code, without a download."""

from pathlib import Path
from typing import Any


def bert(folder: Path, labels: int = 0) -> str:
    """A BERT with a vocabulary of letters, saved to `folder`; with `labels` one that sorts texts into that many."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

    letters = "abcdefghijklmnopqrstuvwxyz0123456789?.:"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        num_labels=labels, initializer_range=1.0,
    )  # fmt: skip
    model: Any = (BertForSequenceClassification if labels else BertModel)(config)
    model.save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)
