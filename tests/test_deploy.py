"""systemd takes the unit, and the container file's steps work in a clean folder, without an engine."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import httpx
import pytest

import app
from tests.conftest import ROOT
from tests.working_copy import copy_project

UNIT = ROOT / "deploy" / "talkcite.service"
NOBODY = 10001


def steps() -> list[tuple[str, str]]:
    """Each instruction of the container file with its arguments."""
    text = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def argument(name: str, nth: int = -1) -> str:
    """The arguments of an instruction: the last of that name, or another one."""
    return [arguments for instruction, arguments in steps() if instruction == name][nth]


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    # The program is not installed here, nor is its user.
    unit = (
        UNIT.read_text(encoding="utf-8")
        .replace("/opt/talkcite/bin/talkcite", "/bin/true")
        .replace("talkcite\n", "root\n")
    )
    (tmp_path / "talkcite.service").write_text(unit, encoding="utf-8")
    done = subprocess.run(
        [analyze, "verify", str(tmp_path / "talkcite.service")], capture_output=True, text=True, timeout=60
    )
    said = [line for line in done.stderr.splitlines() if "talkcite.service" in line]
    assert (done.returncode, said) == (0, [])


START = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("command", [*START, " ".join(json.loads(argument("CMD")))], ids=["unit", "container"])
def test_the_command_is_one_that_there_is(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, page, *options = command.split()
    assert (Path(program).name, page) == ("talkcite", "page")
    with pytest.raises(SystemExit) as ended:
        app.main([*options, "--help"])
    assert ended.value.code == 0
    assert "--port" in capsys.readouterr().out


def test_the_container_is_small_and_runs_as_nobody() -> None:
    names = [name for name, _ in steps()]
    assert names.count("FROM") == 2
    assert all(
        arguments.startswith("docker.io/library/python:3.11-slim") for name, arguments in steps() if name == "FROM"
    )
    assert names.index("USER") < names.index("CMD")
    assert argument("USER") == f"{NOBODY}:{NOBODY}"
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    (torch,) = re.findall(r"torch==(\S+)", " ".join(arguments for _, arguments in steps()))
    assert f"\ntorch=={torch}\n" in pins


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")
def test_the_steps_without_an_engine(tmp_path: Path) -> None:
    """The COPY, RUN, ENV, CMD and HEALTHCHECK of the file: built as root in an empty folder, run as its user.

    Only the packages are those that are here already: their installation would take 2 GB.
    """
    python = next((found for found in ("/usr/bin/python3", "/usr/local/bin/python3") if same_python(found)), None)
    if python is None:
        pytest.skip("no Python of this version that another user may run")
    root = Path(tempfile.gettempdir(), f"talkcite-container-{os.getpid()}")  # pytest's folders are closed to others
    (root / "src").mkdir(parents=True)
    root.chmod(0o755)
    try:
        source = copy_project(tmp_path / "clone")
        for arguments in (arguments for name, arguments in steps() if name == "COPY" and "--from" not in arguments):
            *names, target = arguments.split()
            for name in names:
                copied = root / "src" / target / (name if target == "./" else "")
                (shutil.copytree if (source / name).is_dir() else shutil.copy)(source / name, copied)
        venv = root / "opt" / "talkcite"
        runs = [arguments for name, arguments in steps() if name == "RUN"]
        assert [shlex.split(run)[:3] for run in runs] == [
            ["python", "-m", "venv"],
            ["/opt/talkcite/bin/pip", "install", "--no-cache-dir"],
            ["/opt/talkcite/bin/pip", "install", "--no-cache-dir"],
            ["install", "-d", "-o"],
        ]
        subprocess.run([python, "-m", "venv", "--without-pip", "--copies", venv], check=True)
        (site,) = (venv / "lib").glob("python3*/site-packages")
        (site / "here.pth").write_text(sysconfig.get_paths()["purelib"])
        # As `pip install .` does, without what it depends on.
        install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation", "--quiet"]
        subprocess.run([*install, "--target", site, "."], cwd=root / "src", check=True, timeout=120)
        shutil.rmtree(root / "src")  # the second stage has the environment alone
        subprocess.run([*shlex.split(runs[-1])[:-1], root / "data"], check=True)
        settings = dict(item.split("=", 1) for item in argument("ENV").split())
        assert settings.pop("PATH").startswith("/opt/talkcite/bin:")
        environment = {name: value.replace("/data", str(root / "data")) for name, value in settings.items()}
        environment |= {"PATH": f"{venv / 'bin'}:/usr/bin:/bin", "OMP_NUM_THREADS": "1", "TMPDIR": str(root / "data")}
        as_user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
        command = [*as_user, "python", "-m", "talkcite", *json.loads(argument("CMD"))[1:]]
        command[command.index("7860")] = "0"
        with subprocess.Popen(
            command, env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as run:
            assert run.stdout is not None
            assert run.stderr is not None
            line = run.stdout.readline()
            found = re.match(r"talkcite is at http://0\.0\.0\.0:(\d+)/ ", line)
            assert found is not None, run.stderr.read()
            check = json.loads(argument("HEALTHCHECK").partition("CMD ")[2])
            check[-1] = check[-1].replace("7860", found[1])
            subprocess.run([*as_user, *check], env=environment, cwd="/", check=True, timeout=60)
            url = f"http://127.0.0.1:{found[1]}"
            upload = {"files": ("x.vtt", b"WEBVTT\n\n00:01.000 --> 00:03.000\nMarmots whistle to warn each other.\n")}
            assert httpx.post(f"{url}/api/ingest", files=upload, timeout=60).status_code == 202
            deadline = time.monotonic() + 200
            while httpx.get(f"{url}/readyz", timeout=60).status_code != 200:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            run.send_signal(signal.SIGTERM)
            assert run.wait(timeout=120) == 0
            assert '"route": "/api/ingest"' in run.stderr.read()
        made = {path.relative_to(root).parts[0] for path in root.rglob("*") if path.stat().st_uid == NOBODY}
        assert made == {"data"}
    finally:
        shutil.rmtree(root)


def same_python(program: str) -> bool:
    """True when a Python is there, and the packages of this one are for it too."""
    if not Path(program).exists():
        return False
    shown = subprocess.run(
        [program, "-c", "import sys, venv; print(*sys.version_info[:2])"], capture_output=True, text=True
    )
    return shown.stdout.split() == [str(part) for part in sys.version_info[:2]]
