"""Where test material lies, and what every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A slow machine is no defect: time limits on single examples only make tests flaky.
settings.register_profile("talkcite", deadline=None)
settings.load_profile("talkcite")

# Test processes share the cores: threads of the model that wait for each other make everything several times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TALKCITE_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of handed-in talks and cases; tests that need it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"test material not found at {SHARED} (set TALKCITE_SHARED)")
    return SHARED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With TALKCITE_NO_SKIP set (as in CI) a skipped test is a failed one: nothing goes untested unnoticed."""
    report = yield
    if report.skipped and os.environ.get("TALKCITE_NO_SKIP") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and TALKCITE_NO_SKIP is set: {report.longrepr}"
    return report
