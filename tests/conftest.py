"""Where test material lies, and what every test may use."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TALKCITE_SHARED", ROOT.parent / "shared"))


@pytest.fixture
def shared() -> Path:
    """The folder of handed-in talks and cases; tests that need it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"test material not found at {SHARED} (set TALKCITE_SHARED)")
    return SHARED
