"""The HTTP API over a real library: the same JSON as the commands, uploads until they are found."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingest.pipeline import ingest
from ingest.upload import ingest_uploads
from rag import __main__ as cli
from rag import engine as engine_module
from rag.engine import Engine
from rag.index import writing
from rag.settings import load_settings
from rag.web.jobs import Jobs
from tests.conftest import ROOT
from tests.fakes import WordEmbedder
from tests.web.conftest import Server

TALKS = ROOT / "eval" / "data" / "talks"
PAGER = "the-pager-and-the-agent"
QUESTION = "How do you keep a key value cache small?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two of the sample talks; the third is there to be uploaded."""
    home = tmp_path_factory.mktemp("library")
    with writing(home, WordEmbedder()) as writer:
        ingest([path for path in sorted(TALKS.glob("*.vtt")) if path.stem != PAGER], writer)
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    configured = load_settings(home=home, llm="off")
    with Engine(configured, WordEmbedder()) as engine:
        store = partial(ingest_uploads, settings=configured, embedder=engine.embedder)
        with Jobs(store) as jobs:
            server = Server(engine, jobs=jobs, home=home, llm="off")
            yield server
            server.stop()


@pytest.fixture
def command(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `python -m rag … --json` on the same library and returns its document."""
    monkeypatch.setattr(engine_module, "load_embedder", lambda _: WordEmbedder())
    monkeypatch.setattr(cli, "settings", lambda: load_settings(home=home, llm="off"))

    def run(*arguments: str) -> Any:
        assert cli.main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def post(server: Server, path: str, **body: Any) -> Any:
    response = httpx.post(f"{server.url}api/{path}", json=body, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()


def test_search_and_ask_answer_as_the_commands_do(server: Server, command: Any) -> None:
    filters = {"speaker": "Marit Oselund", "year": "2023"}
    options = ["--speaker", "Marit Oselund", "--year", "2023"]
    found = post(server, "search", query=QUESTION, k=3, **filters)
    assert len(found["hits"]) == 3
    assert found == command("search", QUESTION, "-k", "3", *options)
    answer, printed = post(server, "ask", question=QUESTION, **filters), command("ask", QUESTION, *options)
    assert answer.pop("timings_ms").keys() == printed.pop("timings_ms").keys()
    assert answer == printed


def test_a_follow_up_is_completed_from_the_history(server: Server, command: Any, tmp_path: Path) -> None:
    history = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "By evicting."}]
    file = tmp_path / "history.json"
    file.write_text(json.dumps(history))
    answer = post(server, "ask", question="And why?", history=history)
    assert answer["searched"] == command("ask", "And why?", "--history", str(file))["searched"] != "And why?"


def test_talks_and_transcripts_are_those_of_the_commands_without_folders(server: Server, command: Any) -> None:
    def without_folders(talk: dict[str, Any]) -> dict[str, Any]:
        return talk | {key: Path(talk[key]).name for key in ("media", "source")}

    talks = httpx.get(f"{server.url}api/talks").json()
    assert talks == [without_folders(talk) for talk in command("talks")]
    talk_id = talks[0]["talk_id"]
    transcript = httpx.get(f"{server.url}api/talks/{talk_id}").json()
    assert transcript == without_folders(command("transcript", talk_id))
    assert str(TALKS) not in json.dumps([talks, transcript])


def finished(server: Server, address: str) -> dict[str, Any]:
    """A job once it is over."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        job: dict[str, Any] = httpx.get(address, timeout=60).json()
        if job["state"] in ("done", "failed"):
            return job
        time.sleep(0.05)
    raise AssertionError("the job did not end")


def uploaded(server: Server, files: list[Any]) -> dict[str, Any]:
    """The job that an upload became, once it is over."""
    response = httpx.post(f"{server.url}api/ingest", files=files, timeout=60)
    assert response.status_code == 202, response.text
    return finished(server, str(response.url.join(response.headers["location"])))


def until_found(server: Server, query: str, talk_id: str) -> None:
    """Readers look for a new index once a second."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if post(server, "search", query=query, k=1)["hits"][0]["talk_id"] == talk_id:
            return
        time.sleep(0.05)
    raise AssertionError(f"{talk_id} was not found")


@pytest.mark.slow
def test_an_upload_is_stored_and_found_and_what_could_not_be_read_is_named(server: Server, home: Path) -> None:
    vtt = "WEBVTT\n\nNOTE\ntitle: Marmots\nmedia: /etc/passwd.mp3\n\n00:01.000 --> 00:03.000\nMarmots whistle loudly.\n"
    files = [("files", ("marmots.vtt", vtt.encode())), ("files", ("broken.vtt", b"no captions"))]
    job = uploaded(server, files)
    assert (job["state"], job["files"], job["files_done"], job["error"]) == ("done", 2, 2, "")
    broken, marmots = sorted(job["report"]["files"], key=lambda entry: entry["path"])
    assert (marmots["path"], marmots["status"], marmots["talk_id"], marmots["cues"]) == (
        "marmots.vtt", "added", "marmots", 1,
    )  # fmt: skip
    assert (broken["path"], broken["status"]) == ("broken.vtt", "failed")
    assert broken["error"].startswith("broken.vtt")
    assert "talkcite-upload" not in json.dumps(job)
    until_found(server, "marmots whistle", "marmots")
    transcript = httpx.get(f"{server.url}api/talks/marmots").json()
    assert (transcript["media"], transcript["source"]) == ("", "upload: marmots.vtt")
    again = uploaded(server, files[:1])
    assert [entry["status"] for entry in again["report"]["files"]] == ["unchanged"]


@pytest.mark.slow
def test_a_recording_goes_with_its_captions_and_is_heard(server: Server, home: Path) -> None:
    vtt = b"WEBVTT\n\n00:01.000 --> 00:03.000\nHerons stand still.\n"
    sound = (TALKS / f"{PAGER}.mp3").read_bytes()
    files = [("files", (name, content)) for name, content in (("h.vtt", vtt), ("h.mp3", sound), ("x.mp3", b"ID3"))]
    job = uploaded(server, files)
    (entry,) = job["report"]["files"]
    assert (entry["status"], entry["recording"]) == ("added", "h.mp3")
    why = "no captions of its name came with it, or they name a recording elsewhere"
    assert job["report"]["ignored"] == [{"path": "x.mp3", "why": why}]
    until_found(server, "herons still", entry["talk_id"])
    heard = httpx.get(f"{server.url}desk/media/{entry['talk_id']}", headers={"Range": "bytes=100-199"})
    assert (heard.status_code, heard.headers["content-type"]) == (206, "audio/mpeg")
    assert heard.content == sound[100:200]
    assert httpx.get(f"{server.url}desk/talks/{entry['talk_id']}").json()["media"]["kind"] == "audio"
    assert len(list((home / "recordings").iterdir())) == 1
    alone = uploaded(server, files[1:2])
    (failed,) = alone["report"]["files"]
    assert failed["error"] == "h.mp3: a recording, expected its captions with it; nothing is transcribed here"


@pytest.mark.slow
def test_a_description_of_yt_dlp_goes_with_its_captions(server: Server) -> None:
    vtt = b"WEBVTT\n\n00:01.000 --> 00:03.000\nOtters juggle stones.\n"
    info = {"id": "VIDEOID22ch", "title": "Otters", "extractor": "youtube", "upload_date": "20250102",
            "webpage_url": "https://www.youtube.com/watch?v=VIDEOID22ch"}  # fmt: skip
    files = [("files", ("o.en.vtt", vtt)), ("files", ("o.info.json", json.dumps(info).encode()))]
    job = uploaded(server, files)
    (entry,) = job["report"]["files"]
    assert (entry["status"], entry["title"]) == ("added", "Otters")
    transcript = httpx.get(f"{server.url}api/talks/{entry['talk_id']}").json()
    assert (transcript["date"], transcript["media"]) == ("2025-01-02", info["webpage_url"])
    alone = uploaded(server, files[1:])
    assert [entry["status"] for entry in alone["report"]["files"]] == ["failed"]


def test_ready_once_a_search_succeeds(server: Server, tmp_path: Path) -> None:
    assert httpx.get(f"{server.url}readyz", timeout=60).json() == {"ready": True}
    with Engine(load_settings(home=tmp_path, llm="off"), WordEmbedder()) as empty:
        deadline = time.monotonic() + 20
        while "loaded" in empty.unready() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert empty.unready() == f"{tmp_path}: no talks yet; add some with 'python -m ingest PATH'"


@pytest.mark.slow
def test_the_commands_of_the_readme(server: Server, home: Path) -> None:
    block = re.search(r"```sh\n(curl .*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    script = block[1].replace("http://127.0.0.1:7860/", server.url)
    assert script.count(server.url) == len(script.splitlines())
    search, ask, stream, upload = (
        subprocess.run(line, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
        for line in script.splitlines()
    )
    assert len(json.loads(search)["hits"]) == 3
    assert json.loads(ask)["citations"]
    assert re.findall(r"^event: (\w+)$", stream, re.MULTILINE)[-1] == "answer"
    job_id = json.loads(upload)["job_id"]
    (entry,) = finished(server, f"{server.url}api/jobs/{job_id}")["report"]["files"]
    assert (entry["path"], entry["status"]) == (f"{PAGER}.vtt", "added")


def test_a_model_that_is_not_the_index_s_any_more_stores_nothing(home: Path, tmp_path: Path) -> None:
    other = WordEmbedder()
    other.name = "fake/other"
    with Jobs(partial(ingest_uploads, settings=load_settings(home=home), embedder=other)) as jobs:
        job_id = jobs.submit({"x.vtt": (TALKS / f"{PAGER}.vtt").open("rb")})["job_id"]
        deadline = time.monotonic() + 20
        while (job := jobs.get(job_id)) and job["state"] != "failed" and time.monotonic() < deadline:
            time.sleep(0.01)
    assert job is not None
    assert job["error"].endswith("made with fake/words, this app still asks with fake/other; start it again")
