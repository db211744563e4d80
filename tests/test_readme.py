"""The README's commands do what it says, in the order in which it gives them, and its tables are complete."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from rag.settings import Settings
from tests.conftest import ROOT
from tests.working_copy import copy_project

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

# What needs the network, minutes, or never ends, and what is run in its place. Everything else runs as it is printed.
SHORTENED = {
    "make run": "make --dry-run run",
    "make test": "make --dry-run test",
    "pip install -c constraints.txt .": (
        "pip install --dry-run --no-deps --no-index --no-build-isolation -c constraints.txt ."
    ),
    "pip install '.[local]'": "pip install --dry-run --no-deps --no-index --no-build-isolation '.[local]'",
    "yt-dlp": "{} --help",  # all its options are read, nothing is fetched
    "chroma run": "{} --help",
    "export RAG_CHROMA_URL": "true",  # its server is not there; tests/rag/test_server.py ingests into a real one
    "curl": "true",  # asks a page that runs; the tests of its API do
    "talkcite user ada": "echo 'correct horse' | {}",
    "talkcite page": "briefly talkcite page --port 0",
    "talkcite eval run": "{} --limit 3",
    "talkcite eval bench": "{} --help",
}
BRIEFLY = """\
briefly() {  # run a server until it tells its address
  "$@" > page.log & served=$!
  for _ in $(seq 600); do grep -q http:// page.log && break; sleep 0.1; done
  grep http:// page.log
  kill $served; wait $served || true
}
"""


def shortened(line: str) -> str:
    """The command as it is run here."""
    command = re.sub(r"\s+# .*", "", line)
    for start, instead in SHORTENED.items():
        if command.startswith(start):
            return instead.format(command)
    return command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project with the captions that the README's user has, and its programs on the PATH."""
    project = copy_project(tmp_path / "project")
    sample = (ROOT / "eval" / "data" / "talks" / "grading-the-librarian.vtt").read_text(encoding="utf-8")
    own = sample.replace("talk_id: grading-the-librarian", "talk_id: own")
    (project / "path" / "to" / "captions").mkdir(parents=True)
    (project / "path" / "to" / "captions" / "own.vtt").write_text(own, encoding="utf-8")
    (project / "talk.vtt").write_text(own.replace("talk_id: own", "talk_id: other"), encoding="utf-8")
    # What the yt-dlp command leaves behind.
    (project / "talks").mkdir()
    events = {"events": [{"tStartMs": 1000, "dDurationMs": 2000, "segs": [{"utf8": "Hello from a playlist."}]}]}
    about = {"id": "VIDEOID12ch", "title": "A video", "webpage_url": "https://www.youtube.com/watch?v=VIDEOID12ch"}
    (project / "talks" / "VIDEOID12ch.en.json3").write_text(json.dumps(events))
    (project / "talks" / "VIDEOID12ch.info.json").write_text(json.dumps(about))
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "activate").touch()
    for name, module in {"talkcite": "-m talkcite", "python": "", "pip": "-m pip", "yt-dlp": "-m yt_dlp"}.items():
        program = project / ".venv" / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        program.chmod(0o755)
    return project


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_command_runs(project: Path, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_", "OPENAI_", "CHROMA_"))}
    environment = kept | {
        "PATH": f"{project / '.venv' / 'bin'}:{Path(sys.executable).parent}:{kept['PATH']}",
        "PYTHONPATH": str(project),
        "XDG_DATA_HOME": str(tmp_path / "user"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    said = ""
    for block in BLOCKS:
        script = "set -euo pipefail\n" + BRIEFLY + "\n".join(shortened(line) for line in block.splitlines())
        done = subprocess.run(
            ["bash", "-c", script], cwd=project, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        said += done.stdout
    assert (tmp_path / "user" / "talkcite" / "talks").is_dir()
    assert "https://www.youtube.com/watch?v=VIDEOID11ch" in (project / "corpus.jsonl").read_text(encoding="utf-8")
    assert re.search(r"^added +talks/VIDEOID12ch\.en\.json3: VIDEOID12ch, 1 cues", said, re.MULTILINE)
    assert "Quotes from the talks:" in said
    assert not re.search(r"^WRONG", said, re.MULTILINE)


def test_the_table_of_settings_is_complete() -> None:
    told = set(re.findall(r"`((?:RAG|CHROMA)_[A-Z_]+)`", README.partition("## Settings")[2].partition("\n## ")[0]))
    names = {
        field.validation_alias if isinstance(field.validation_alias, str) else f"RAG_{name.upper()}"
        for name, field in Settings.model_fields.items()
    }
    assert told == names


STATES = ("page", "page-dark", "page-phone", "page-refusal", "page-adding")


def test_the_pictures_are_there_and_small() -> None:
    for name in STATES:
        picture = ROOT / "docs" / f"{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 300_000


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(900)
def test_the_pictures_can_be_taken_again(tmp_path: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("no chromium on the PATH")
    code = f"from pathlib import Path; import docs.make_screenshot as it; it.main(Path({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=800, stdout=subprocess.DEVNULL)
    taken = {path.stem: path.read_bytes() for path in tmp_path.glob("*.png")}
    assert set(taken) == set(STATES)
    assert {struct.unpack(">II", taken[name][16:24]) for name in STATES if name != "page-phone"} == {(1280, 800)}
    assert struct.unpack(">II", taken["page-phone"][16:24]) == (390, 780)
    assert len(set(taken.values())) == len(STATES)
