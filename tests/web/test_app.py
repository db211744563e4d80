"""`python app.py`: starting, and each way of not starting in one line."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import app
from rag.errors import StartError
from rag.settings import Settings
from rag.users import User, write_users

pytestmark = pytest.mark.slow  # starts the program

ROOT = Path(__file__).resolve().parents[2]


def run(*args: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"RAG_HOME": str(home)}
    command = [sys.executable, str(ROOT / "app.py"), *args]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)


def test_help_needs_nothing_heavy(tmp_path: Path) -> None:
    loaded = "import sys, app\ntry: app.main(['--help'])\nexcept SystemExit: print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "--port" in done.stdout
    assert not re.search(r"'(gradio|torch|chromadb|fastapi|uvicorn|sentence_transformers)'", done.stdout)
    assert not list(tmp_path.iterdir())


def test_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("--port", str(port), home=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (f"app.py: 127.0.0.1:{port}: Address already in use; choose another with --host and --port\n")


def test_host_that_does_not_exist(tmp_path: Path) -> None:
    done = run("--host", "no such host", home=tmp_path)
    assert done.returncode == 3
    assert re.fullmatch(r"app\.py: no such host:7860: .+; choose another with --host and --port\n", done.stderr)


@pytest.mark.parametrize("port", ["many", "-1", "65536", "7860.5", ""])
def test_ports_that_are_none(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        app.main([f"--port={port}"])
    assert stopped.value.code == 2
    assert f"found {port!r}, expected a number from 0 to 65535" in capsys.readouterr().err


def test_folder_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        done = run(home=home)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith(f"app.py: RAG_HOME {home}: can't be written (")
        assert done.stderr.endswith("); choose another folder with RAG_HOME\n")


def test_wrong_setting(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RAG_TOP_K", "many")
    assert app.main([]) == 3
    assert capsys.readouterr().err.startswith("app.py: RAG_TOP_K: found 'many', expected ")


OPEN = (
    "app.py: --host 0.0.0.0: others could come in without signing in; name a users file with RAG_AUTH, or listen on "
    "127.0.0.1 behind a proxy that knows your users, or give --insecure\n"
)


def test_others_are_let_in_on_purpose_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # An address behind a proxy is no sign-in.
    monkeypatch.setenv("RAG_PUBLIC_URL", "https://example.org")
    done = run("--host", "0.0.0.0", "--port", "0", home=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", OPEN)


def listener(host: str) -> socket.socket:
    return app._listen(host, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.9.9.9"])
def test_this_machine_alone_needs_no_users(host: str) -> None:
    with listener(host) as bound:
        app._check_users(Settings(), bound, insecure=False)
        assert app._is_owners(Settings(), bound)
        assert not app._is_owners(Settings(public_url="https://example.org"), bound)
        assert not app._is_owners(Settings(read_only=True), bound)


def test_what_opens_the_page_to_others(tmp_path: Path) -> None:
    users = tmp_path / "users"
    with listener("0.0.0.0") as bound:
        app._check_users(Settings(), bound, insecure=True)
        assert not app._is_owners(Settings(), bound)
        with pytest.raises(
            StartError, match=r"^RAG_AUTH .*users: can't be read \(No such file or directory\); correct"
        ):
            app._check_users(Settings(auth=users), bound, insecure=True)
        write_users(users, {})
        with pytest.raises(StartError, match=r"users: holds no users; add one with 'python -m rag user NAME'$"):
            app._check_users(Settings(auth=users), bound, insecure=False)
        write_users(users, {"ada": User("ada", token="0" * 64)})
        app._check_users(Settings(auth=users), bound, insecure=False)


@pytest.mark.timeout(180)
def test_starts_prints_its_address_serves_an_empty_library_and_stops(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "app.py"), "--port", "0"]
    environment = os.environ | {"RAG_HOME": str(tmp_path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        found = re.fullmatch(r"talkcite is at (http://127\.0\.0\.1:\d+/) .+\n", process.stdout.readline())
        assert found is not None
        assert httpx.get(f"{found[1]}desk/talks", timeout=60).json() == []
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=90) == 0
        assert process.stderr.read() == ""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("read_only", [False, True])
def test_an_upload_to_the_running_app(tmp_path: Path, read_only: bool) -> None:
    command = [sys.executable, str(ROOT / "app.py"), "--port", "0"]
    environment = os.environ | {"RAG_HOME": str(tmp_path), "RAG_READ_ONLY": str(read_only), "RAG_LLM": "off"}
    vtt = b"WEBVTT\n\n00:01.000 --> 00:03.000\nMarmots whistle to warn each other.\n"
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        found = re.fullmatch(r"talkcite is at (http://\S+/) .+\n", process.stdout.readline())
        assert found is not None
        with httpx.Client(base_url=found[1], timeout=120) as client:
            assert client.get("healthz").status_code == 200
            answer = client.post("api/ingest", files={"files": ("marmots.vtt", vtt)})
            assert answer.status_code == (403 if read_only else 202)
            if not read_only:
                job = answer.json()
                deadline = time.monotonic() + 200
                while job["state"] in ("waiting", "running") and time.monotonic() < deadline:
                    time.sleep(0.2)
                    job = client.get(f"api/jobs/{job['job_id']}").json()
                assert [entry["status"] for entry in job["report"]["files"]] == ["added"]
                assert client.get("readyz").status_code == 200
                hits = client.post("api/search", json={"query": "why do marmots whistle?"}).json()["hits"]
                assert [hit["text"] for hit in hits] == ["Marmots whistle to warn each other."]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=90) == 0
