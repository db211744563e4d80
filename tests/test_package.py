"""The wheel that users install: it holds what the program needs, and its command starts."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.working_copy import copy_project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source package, and the wheel that was built from it. Nothing is downloaded."""
    folder = tmp_path_factory.mktemp("package")
    copy = copy_project(folder / "copy")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def wheel(packages: Path) -> zipfile.ZipFile:
    (path,) = packages.glob("talkcite-*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_every_module_and_data_file(wheel: zipfile.ZipFile) -> None:
    expected = {"app.py", "talkcite.py"}
    for room in ("rag", "ingest", "eval"):
        expected |= {path.relative_to(ROOT).as_posix() for path in (ROOT / room).rglob("*.py")}
    for folder in ("rag/web/static", "eval/templates", "eval/data/talks"):
        expected |= {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).iterdir()}
    expected |= {"eval/data/questions.jsonl", "eval/data/talks.jsonl"}
    # The script that speaks the samples is for a clone; the folder is data and no package.
    expected -= {"eval/data/make_audio.py"}
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == expected


def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    (about,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    described = wheel.read(about).decode()
    assert "License-Expression: MIT" in described
    assert "# talkcite" in described  # the README is the description
    (licence,) = (name for name in wheel.namelist() if name.endswith("/LICENSE"))
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_the_source_package_holds_what_contributors_need(packages: Path) -> None:
    (path,) = packages.glob("talkcite-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"Makefile", "constraints.txt", "LICENSE", "tests/test_package.py", "tests/rag/talks.py"}
    assert {*wanted, "docs/architecture.md", "eval/data/README.md", "eval/baseline/made_from.json"} <= names


def test_the_installed_command_runs_without_the_sources(packages: Path, wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); import talkcite; print(talkcite.__file__); "
        "sys.exit(talkcite.main(['ingest', '--check', str(talkcite.SAMPLES)]))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    where, *_, summary = done.stdout.splitlines()
    assert where == str(tmp_path / "site" / "talkcite.py")
    assert summary.startswith("3 checked; ")
