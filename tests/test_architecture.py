"""Imports go one way, each outside library has one owner, and docs/architecture.md names every file."""

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGES = ("rag", "ingest", "eval")
FILES = [
    ROOT / "app.py",
    ROOT / "talkcite.py",
    *(path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))),
]

# Who may import whom, beyond itself. `eval` and the web app build libraries and take uploads through ingest.
ALLOWED = {
    "rag": set(),
    "ingest": {"rag"},
    "eval": {"rag", "ingest"},
    "app": {"rag", "ingest"},
    "talkcite": {"rag", "ingest", "eval", "app"},  # it hands on to each of them
}

# Outside library -> the one file that knows it. Where two are named each makes something else of it: two kinds of
# models, locks of a library and of a download, a word with a Chroma server and a download.
OWNERS = {
    "sentence_transformers": ("eval/bench/yardstick.py", "rag/embed.py", "rag/rerank.py"),
    "chromadb": ("rag/vectors.py",),
    "tantivy": ("rag/lexical.py",),
    "openai": ("rag/openai_chat.py",),
    "filelock": ("rag/index.py", "rag/weights.py"),
    "httpx": ("rag/server.py", "rag/weights.py"),
    "xllamacpp": ("rag/llama.py",),
    "huggingface_hub": ("rag/weights.py",),
    "prometheus_client": ("rag/web/metrics.py",),
    "mcp": ("rag/mcp_server.py",),
    "webvtt": ("ingest/vtt.py",),
}


def imported(path: Path) -> set[str]:
    """Top-level names of all modules that a file imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    ours = {*ALLOWED, "tests"} - {room}
    assert imported(path) & ours <= ALLOWED[room]


@pytest.mark.parametrize("library", OWNERS)
def test_each_library_has_one_owner(library: str) -> None:
    users = {path.relative_to(ROOT).as_posix() for path in FILES if library in imported(path)}
    assert users == set(OWNERS[library])


def reads_environment(path: Path) -> bool:
    """True when a file looks a variable up; setting one for a library is not reading."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.getenv", "os.environ.get"):
            return True
        if (
            isinstance(node, ast.Subscript)
            and ast.unparse(node.value) == "os.environ"
            and isinstance(node.ctx, ast.Load)
        ):
            return True
    return False


def test_only_the_settings_read_the_environment() -> None:
    assert [path.relative_to(ROOT).as_posix() for path in FILES if reads_environment(path)] == []


def test_the_architecture_page_names_every_file() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = [path.relative_to(ROOT).as_posix() for path in FILES if path.name != "__init__.py"]
    assert [name for name in names if f"`{name}`" not in page] == []
