"""The files of a run: read back, written whole or line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from eval.types import Outcome, Row
from rag.errors import InputError
from rag.files import write_whole


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """The outcomes written so far, the last one of each question; a line cut off by an interruption is left out."""
    if not path.exists():
        return {}
    outcomes = {}
    lines = path.read_text(encoding="utf-8").split("\n")
    for line in lines[:-1]:  # a whole line ends in a newline
        outcome = Outcome.model_validate_json(line)
        outcomes[outcome.id] = outcome
    if lines[-1]:
        path.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")
    return outcomes


def read_rows(out: Path) -> list[Row]:
    """The rows of a finished run. Raises `InputError` when OUT holds none."""
    path = out / "per_question.jsonl"
    try:
        return [Row.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; expected the OUT folder of a finished 'python -m eval run'"
        ) from error
    except ValueError as error:
        raise InputError(
            f"{path}: not the rows of a run made by this version ({str(error).splitlines()[0]})"
        ) from error


def write_lines(path: Path, records: Iterable[object]) -> None:
    """Write records as JSON lines, all or nothing."""
    write_text(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def write_json(path: Path, document: object) -> None:
    """Write one JSON document, all or nothing."""
    write_text(path, json.dumps(document, ensure_ascii=False, indent=1))


def write_text(path: Path, text: str) -> None:
    """Write a text, all or nothing."""
    content = text.encode()
    write_whole(path, lambda file: file.write(content))
