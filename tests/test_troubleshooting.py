"""docs/troubleshooting.md quotes messages as the program prints them, and knows every error of the core."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

HOLE = "…"
PAGE = ROOT / "docs" / "troubleshooting.md"
SOURCES = [ROOT / "app.py", *(path for room in ("rag", "ingest") for path in sorted((ROOT / room).rglob("*.py")))]
STATIC = ROOT / "rag" / "web" / "static"
SCRIPTS = "".join(path.read_text(encoding="utf-8") for kind in ("js", "html") for path in STATIC.glob(f"*.{kind}"))
ERRORS = {"StartError", "StoreError", "NewerFormat", "UsageError", "LLMError", "ContextTooLong", "SchemaNotTaken"}


def template(node: ast.expr) -> str:
    """A string as written, with a hole for everything that is filled in; a hole alone for what is no string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part) for part in node.values)
    return HOLE


def strings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            yield template(node)


def raised(path: Path) -> Iterator[str]:
    """What errors say, where they say it themselves; those that only pass a message on are left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS and node.args:
            said = template(node.args[0])
            if re.search(r"\w", said):
                yield said


def quoted() -> list[str]:
    """The messages in the first column of the page's tables."""
    rows = re.findall(r"^\| (.+?) \| .+ \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [message for row in rows for message in re.findall(r"`([^`]+)`", row)]


def pieces(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(HOLE) if piece.strip(" :;,.()'%")]


def says(template_: str, message: str) -> bool:
    """True when the quoted message may be what the template makes: its words stand there in the same order."""
    return bool(re.search(".*?".join(re.escape(piece) for piece in pieces(message)), template_, re.DOTALL))


WRITTEN = [text for path in SOURCES for text in strings(path)]


@pytest.mark.parametrize("message", quoted())
def test_a_quoted_message_is_in_the_code(message: str) -> None:
    assert pieces(message), "a quoted message needs words of its own"
    assert any(says(text, message) for text in WRITTEN) or message in SCRIPTS


@pytest.mark.parametrize(
    "said", sorted({text for path in SOURCES if "ingest" not in path.parts for text in raised(path)})
)
def test_every_error_of_the_core_is_on_the_page(said: str) -> None:
    assert any(says(said, message) for message in quoted()), f"docs/troubleshooting.md does not explain: {said}"
