"""The command: exit codes, what goes to stdout and stderr, and what it does not load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.__main__ import main
from tests.conftest import ROOT

VTT = "WEBVTT\n\n1\n00:01.000 --> 00:03.000\n<v Ada>Hello there. Bye.\n\nlost\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.vtt"
    path.write_text(VTT)
    return path


def test_cues_as_stored_and_as_read(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cues", str(file)]) == 0
    printed = capsys.readouterr()
    assert [json.loads(line) for line in printed.out.splitlines()] == [
        {"id": "s1", "start_ms": 1000, "end_ms": 2444, "text": "Hello there.", "speaker": "Ada"},
        {"id": "s2", "start_ms": 2444, "end_ms": 3000, "text": "Bye.", "speaker": "Ada"},
    ]
    assert printed.err == f'{file}:7: text outside a cue, no timing line above it: "lost"\n'
    assert main(["--cues", str(file), "--as-read"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"id": "1", "start_ms": 1000, "end_ms": 3000, "text": "Hello there. Bye.", "speaker": "Ada"}
    ]


def test_a_refused_file_is_one_line_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.vtt"
    bad.write_text("1\n00:00:00.000 --> 00:00:01.000\nx\n")
    for arguments in (["--cues", str(bad)], ["--cues", str(tmp_path / "none.vtt")]):
        assert main(arguments) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
    assert main(["--check", str(bad)]) == 1
    assert f"ingest: {bad}:1: found" in capsys.readouterr().err


def test_a_folder_without_captions_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letter.txt").write_text("Dear all, nothing is captioned here.\n")
    assert main(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"ingest: {tmp_path}: no captions in this folder, expected .vtt, .srt or another caption format\n"
    )


def test_the_health_report_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--json", str(file)]) == 0
    [entry] = json.loads(capsys.readouterr().out)["files"]
    assert entry == {
        "path": str(file),
        "talk_id": "a",
        "title": "a",
        "status": "checked",
        "language": entry["language"],
        "cues": 2,
        "minutes": 0.1,
        "repaired": ["2 sentences rebuilt from 1 captions"],
        "skipped": [f'{file}:7: text outside a cue, no timing line above it: "lost"'],
        "warnings": entry["warnings"],
    }


def test_a_call_without_paths_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--check"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert "no PATH given" in capsys.readouterr().err


def test_a_report_loads_nothing_heavy(file: Path) -> None:
    code = (
        "import sys; from ingest.__main__ import main; main(sys.argv[1:]);"
        "print([name for name in ('torch', 'chromadb', 'sentence_transformers', 'numpy', 'rich', 'yt_dlp')"
        " if name in sys.modules], file=sys.stderr)"
    )
    file.write_text(VTT.replace("Hello there", "This is what we have for you and for the others that are there"))
    command = [sys.executable, "-c", code, "--check", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "a.srt"
    entries = (
        f"{n}\n00:{n // 60:02}:{n % 60:02},000 --> 00:{n // 60:02}:{n % 60:02},900\nWord {n}.\n\n" for n in range(3000)
    )
    file.write_text("".join(entries))
    command = f"{sys.executable} -m ingest --cues {file} | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["text"] == "Word 0."
    assert done.stderr == ""


def test_a_title_in_any_script_on_a_narrow_terminal(tmp_path: Path) -> None:
    (tmp_path / "メモリ.vtt").write_text(VTT)
    command = [sys.executable, "-m", "ingest", "--check", str(tmp_path)]
    narrow = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=narrow, check=False)
    assert (done.returncode, done.stderr) == (0, "")
