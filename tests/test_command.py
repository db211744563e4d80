"""The `talkcite` command hands on to the four programs and says what it is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import talkcite
from rag.__main__ import _parser
from tests.conftest import ROOT


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_help_names_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert talkcite.main(arguments) == 0
    told = set(re.findall(r"^  (\w+) ", capsys.readouterr().out, re.MULTILINE))
    (choices,) = (action.choices for action in _parser("x")._actions if action.choices)
    assert told == {*choices, "ingest", "samples", "eval", "page"}


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert talkcite.main(["--version"]) == 0
    assert re.fullmatch(r"talkcite \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("ask", "usage: talkcite ask "),
        ("doctor", "usage: talkcite doctor "),
        ("ingest", "usage: talkcite ingest "),
        ("samples", "usage: talkcite samples "),
        ("eval", "usage: talkcite eval "),
        ("page", "usage: talkcite page "),
    ],
)
def test_each_command_has_help_under_its_own_name(command: str, usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        talkcite.main([command, "--help"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(usage)


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        talkcite.main(["asc"])
    assert stopped.value.code == 2
    assert "'asc'" in capsys.readouterr().err


def test_exit_codes_and_options_are_handed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert talkcite.main(["samples", "--check"]) == 0
    assert "3 checked; " in capsys.readouterr().out
    assert talkcite.main(["ingest", "--check", str(tmp_path / "gone.vtt")]) == 1


def test_looking_at_the_library_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, talkcite; talkcite.main(['talks']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"RAG_HOME": str(tmp_path)},
        check=True,
    )
    assert not {"torch", "chromadb", "gradio", "openai"} & set(done.stdout.split())
