"""questions.jsonl + talks -> questions with gold positions, or every mistake in it with file and line."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from eval.types import Gold, Question
from ingest.metadata import CAPTION_ENDINGS
from rag.errors import InputError
from rag.types import Span, Talk

MAX_PROBLEMS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Line:
    """A question and where it stands, so that whatever is wrong with it can be said with file and line."""

    question: Question
    place: str


@dataclass(frozen=True, slots=True)
class Item:
    """A question ready to be asked and judged. `data` is the name of the data folder that it belongs to."""

    question: Question
    gold: Gold
    data: str


def read_questions(path: Path, *, allow_unchecked: bool = False) -> list[Line]:
    """Read a question file, without looking at talks yet.

    Raises `InputError` with one line a problem: malformed lines, double ids, drafts that nobody checked (unless
    allowed).
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(
            f"{path}: {reason}; expected a file with one question a line, as docs/evaluation.md shows"
        ) from error
    lines: list[Line] = []
    problems: list[str] = []
    seen: dict[str, str] = {}
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        place = f"{path}:{number}"
        try:
            question = Question.model_validate_json(raw)
        except ValidationError as error:
            problems.append(f"{place}: {_reason(error)}")
            continue
        if question.id in seen:
            problems.append(f"{place}: id {question.id!r} is already used at {seen[question.id]}; ids must differ")
        if not (question.checked or allow_unchecked):
            problems.append(
                f'{place}: draft {question.id!r} has "checked": false; check it and set true, or run with --unchecked'
            )
        seen.setdefault(question.id, place)
        lines.append(Line(question, place))
    if not lines and not problems:
        problems.append(f"{path}: holds no question; expected one JSON object a line")
    _raise(problems)
    return lines


def resolve(lines: Iterable[Line], talks: Mapping[str, Talk], data: str) -> list[Item]:
    """Find the gold cues of each question in its talk.

    Raises `InputError` with one line a problem: talks that are not there, cue ids that the talk lacks, spans that run
    backwards.
    """
    items: list[Item] = []
    problems: list[str] = []
    positions = {talk.id: {cue.id: position for position, cue in enumerate(talk.cues)} for talk in talks.values()}
    for line in lines:
        question = line.question
        known = positions.get(question.talk_id)
        if known is None:
            problems.append(f"{line.place}: talk {question.talk_id!r} is not among the {len(talks)} talks of {data}")
            continue
        try:
            relevant, also_ok = (_spans(spans, known) for spans in (question.relevant, question.also_ok))
        except LookupError as error:
            last = next(reversed(known), "none")
            problems.append(f"{line.place}: {error.args[0]} in talk {question.talk_id!r}, whose last cue is {last}")
            continue
        items.append(Item(question, Gold(question.talk_id, relevant, also_ok), data))
    _raise(problems)
    return items


def check_unique(items: Iterable[Item]) -> None:
    """Question ids name the lines of a run, so they must differ across data folders too; raises `InputError`."""
    seen: dict[str, str] = {}
    for item in items:
        if item.question.id in seen:
            raise InputError(
                f"question id {item.question.id!r} is used in {seen[item.question.id]} and in {item.data}; "
                "rename one or run the folders apart"
            )
        seen[item.question.id] = item.data


def sample(items: list[Item], limit: int | None, seed: int) -> list[Item]:
    """At most `limit` questions, drawn with `seed`, in their own order."""
    if limit is None or limit >= len(items):
        return items
    chosen = sorted(random.Random(seed).sample(range(len(items)), limit))
    return [items[index] for index in chosen]


def caption_files(folder: Path) -> list[Path]:
    """The caption files of a data folder, sorted by name; raises `InputError` when there are none."""
    talks = folder / "talks"
    present = talks.iterdir() if talks.is_dir() else ()
    files = sorted(path for path in present if path.suffix.lower() in CAPTION_ENDINGS)
    if not files:
        raise InputError(
            f"{folder}: no caption files in talks/; expected a data folder with talks/ and questions.jsonl"
        )
    return files


def digest(paths: Iterable[Path]) -> str:
    """A short hash over names and contents, so that a result names exactly the data it was made from."""
    sha = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        sha.update(f"{path.name}\0{len(content)}\0".encode())
        sha.update(content)
    return sha.hexdigest()[:16]


def _spans(spans: Iterable[tuple[str, str]], positions: Mapping[str, int]) -> tuple[Span, ...]:
    found = []
    for first, last in spans:
        for cue_id in (first, last):
            if cue_id not in positions:
                raise LookupError(f"cue {cue_id!r} does not exist")
        if positions[first] > positions[last]:
            raise LookupError(f"span {first}..{last} runs backwards; expected [first, last]")
        found.append(Span(positions[first], positions[last]))
    return tuple(found)


def _reason(error: ValidationError) -> str:
    """The first complaint in one line: which field, what is expected."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    expected = first["msg"].removeprefix("Value error, ")
    if first["type"] == "json_invalid":
        return f"not a JSON object ({expected}); expected one question a line"
    found = "" if first["type"] == "missing" else f", found {str(first['input'])[:60]!r}"
    return f"field `{where}`: {expected}{found}" if where else f"{expected}"


def _raise(problems: list[str]) -> None:
    if not problems:
        return
    more = len(problems) - MAX_PROBLEMS_SHOWN
    shown = problems[:MAX_PROBLEMS_SHOWN] + ([f"and {more} more problems"] if more > 0 else [])
    raise InputError("\n".join(shown))
