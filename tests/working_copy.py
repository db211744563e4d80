"""A copy of the project without what only lies in a working copy, for tests that build or write in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.conftest import ROOT

_LOCAL = {".git", ".venv", ".hypothesis", "__pycache__", "build", "dist", "out"}


def copy_project(target: Path) -> Path:
    """Copy the project to `target`, which must not exist; returns it."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        local = {name for name in names if name in _LOCAL or name.endswith(("_cache", ".egg-info"))}
        return local | ({"data"} if Path(folder) == ROOT else set())  # the library of `make run`

    return Path(shutil.copytree(ROOT, target, ignore=left_out))
