"""What made a run: data, questions, model, settings, versions, commit. Kept with every result."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from pydantic import SecretStr

from eval.dataset import caption_files, digest
from eval.plan import Plan
from rag.embed import Embedder
from rag.settings import Settings

DECISIVE = ("data", "questions", "answers", "embed_model", "rag", "code")
"""What must be equal for a run to go on. A larger --limit or another --only may: each question is asked by itself."""

_ROOT = Path(__file__).parent.parent
_LIBRARIES = ("chromadb", "tantivy", "sentence-transformers", "torch", "numpy", "openai")


def made_from(plan: Plan, settings: Settings, embedder: Embedder) -> dict[str, object]:
    """A JSON document without secrets or paths of this machine."""
    question_files = plan.questions or tuple(folder / "questions.jsonl" for folder in plan.data)
    secrets = {name for name in type(settings).model_fields if isinstance(getattr(settings, name), SecretStr)}
    return {
        "data": {folder.resolve().name: digest(caption_files(folder)) for folder in plan.data},
        "questions": digest(question_files),
        "settings": list(plan.settings),
        "answers": plan.answers,
        "only": list(plan.only),
        "limit": plan.limit,
        "seed": plan.seed,
        "embed_model": embedder.name,
        "rag": settings.model_dump(mode="json", exclude={"home", "auth", *secrets}),
        "code": code_digest(),
        "commit": git_commit(_ROOT),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def code_digest() -> str:
    """Names the code that decides what comes back, as it was when this process first asked."""
    return digest(sorted([*_ROOT.glob("rag/*.py"), *_ROOT.glob("ingest/*.py"), _ROOT / "eval" / "ask.py"]))


def git_commit(folder: Path) -> str:
    """The commit that is checked out, with "+" behind it when files were changed; "" outside of git."""
    try:
        commit = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return commit.stdout.strip()
