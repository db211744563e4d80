"""SIGKILL at any moment of an ingest, with searches going on: nothing reported as stored is lost, nobody sees half."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from eval.killing import STAGES, made_up, searching
from eval.soak import Trial
from rag.library import Library
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

SEED = 20261201
KILLS = 25
EACH = 4
TRIES = 60  # a kill can come after its stage is over: then another one is tried


@pytest.mark.timeout(600)
def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    killed_in: Counter[str] = Counter()
    wrong = []
    trial = Trial(tmp_path, SEED)
    with searching(tmp_path) as seen:
        for _ in range(TRIES):
            stage = min(STAGES, key=lambda name: killed_in[name])
            kill = trial.kill(stage)
            killed_in[kill.stage] += 1
            wrong += [*kill.lost, *kill.unlike]
            if wrong or (min(killed_in[name] for name in STAGES) >= EACH and killed_in.total() >= KILLS):
                break
    said = f"seed {SEED}, killed in {dict(killed_in)}"
    print(said, f"{seen.searches} searches")
    assert (wrong, seen.wrong) == ([], []), said
    assert min(killed_in[name] for name in STAGES) >= EACH, said
    assert killed_in.total() >= KILLS, said
    assert seen.searches > KILLS, said


def test_versions_differ_in_every_sentence() -> None:
    old, new = made_up(7, 1), made_up(7, 2)
    assert {cue.text for cue in old.cues} & {cue.text for cue in new.cues} == set()


def talkcite(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=os.environ | {"RAG_HOME": str(home), "RAG_LLM": "off", "RAG_EMBED_MODEL": ""},
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_a_killed_ingest_with_the_real_model(tmp_path: Path) -> None:
    captions = str(ROOT / "eval" / "data" / "talks")
    environment = os.environ | {"RAG_HOME": str(tmp_path), "RAG_EMBED_MODEL": ""}
    command = [sys.executable, "-m", "ingest", captions]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not (stored := Library(tmp_path).ids()) and time.monotonic() < deadline:
            time.sleep(0.005)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert stored
    assert not (tmp_path / "index" / "CURRENT").exists()

    again = talkcite(tmp_path, "ingest", captions, "--json")
    assert again.returncode == 0, again.stderr
    files = json.loads(again.stdout)["files"]
    assert {entry["talk_id"] for entry in files if entry["status"] == "unchanged"} >= set(stored)
    assert {entry["status"] for entry in files} <= {"unchanged", "added"}
    doctor = talkcite(tmp_path, "rag", "doctor", "--json")
    assert (doctor.returncode, json.loads(doctor.stdout)["ok"]) == (0, True), doctor.stdout
