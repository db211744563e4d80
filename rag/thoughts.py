"""Models that think aloud: `<think>…</think>` is no part of a reply. Pure."""

from __future__ import annotations


class Thoughts:
    """Takes `<think>…</think>` out of a text that arrives in pieces."""

    _TAGS = ("<think>", "</think>")

    def __init__(self) -> None:
        self._pending = ""
        self._inside = False

    def feed(self, text: str) -> str:
        """The words outside of thoughts that `text` decides."""
        self._pending += text
        out = ""
        while True:
            tag = self._TAGS[self._inside]
            before, found, after = self._pending.partition(tag)
            if not found:
                break
            out += "" if self._inside else before
            self._pending, self._inside = after, not self._inside
        held = next((n for n in range(len(tag) - 1, 0, -1) if self._pending.endswith(tag[:n])), 0)
        ready, self._pending = self._pending[: len(self._pending) - held], self._pending[len(self._pending) - held :]
        return out if self._inside else out + ready

    def close(self) -> str:
        """What was held back because it might have begun a tag."""
        return "" if self._inside else self._pending
