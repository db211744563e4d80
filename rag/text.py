"""Texts from outside, made safe for a place that holds one line. Pure."""

from __future__ import annotations


def one_line(text: str) -> str:
    """The text without line breaks or control characters: safe to print on a terminal, and no way out of its line."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
