"""Earlier turns of a conversation, from a JSON file."""

from __future__ import annotations

import json
from pathlib import Path

from rag.errors import InputError
from rag.types import Turn


def read_history(path: Path) -> tuple[Turn, ...]:
    """Earlier turns from a JSON file. Raises `InputError` naming what is wrong with it."""
    expected = 'expected [{"role": "user" or "assistant", "content": "…"}, …]'
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        turns = tuple(Turn(turn["role"], turn["content"]) for turn in data)
    except OSError as error:
        raise InputError(f"--history {path}: can't be read ({error.strerror or error})") from None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"--history {path}: not a conversation ({error}), {expected}") from None
    for turn in turns:
        if turn.role not in ("user", "assistant") or not isinstance(turn.content, str):
            raise InputError(f"--history {path}: found a turn with role {turn.role!r}, {expected}")
    return turns
