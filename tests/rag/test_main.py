"""`python -m rag` as a user meets it: stdout, stderr and exit code."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rag import __main__ as cli
from rag import engine as engine_module
from rag.index import writing
from rag.settings import load_settings, settings
from tests.conftest import ROOT
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk, talk_of

WATCH = "https://www.youtube.com/watch?v=VIDEOID11ch"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two talks, built once."""
    home = tmp_path_factory.mktemp("library")
    known = {"media": WATCH, "speaker": "Ann", "speakers": ("Ann",)}
    with writing(home, WordEmbedder()) as writer:
        writer.put(talk_of("Hello.", "Preemption evicts the longest sequence.", "Bye\x1b[31m.", **known))
        writer.put(numbered_talk(5, "talk-b"))
    return home


@pytest.fixture
def home(library: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library, set as RAG_HOME; the model is the fake one."""
    monkeypatch.setattr(engine_module, "load_embedder", lambda _: WordEmbedder())
    use(monkeypatch, library)
    return library


def use(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(cli, "settings", lambda: load_settings(home=home, llm="off"))


def test_search_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["search", "preemption", "-k", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["hits"][0].pop("score") > 0
    assert data == {
        "query": "preemption",
        "hits": [
            {
                "talk_id": "talk-a",
                "title": "A talk",
                "first_cue": "s2",
                "last_cue": "s3",
                "start_ms": 2000,
                "end_ms": 6000,
                "text": "Preemption evicts the longest sequence. Bye\x1b[31m.",
                "speakers": ["Ann"],
                "url": f"{WATCH}&t=2s",
            }
        ],
        "notice": "",
    }


def test_ask_json_has_the_promised_fields(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ask", "what does preemption evict?", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) >= {
        "question", "searched", "answer", "abstained", "missing", "confidence", "talks_searched", "claims", "citations",
        "nearest", "answered_by", "notice", "usage", "timings_ms",
    }  # fmt: skip
    assert data["talks_searched"] == 2


def test_talks_and_transcript(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["talks", "--json"]) == 0
    assert [(talk["talk_id"], talk["cues"]) for talk in json.loads(capsys.readouterr().out)] == [
        ("talk-a", 3),
        ("talk-b", 5),
    ]
    assert cli.main(["transcript", "talk-a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cues"][1] == {
        "id": "s2",
        "start_ms": 2000,
        "end_ms": 4000,
        "text": "Preemption evicts the longest sequence.",
        "speaker": "Ann",
    }


def test_control_characters_of_captions_do_not_reach_the_terminal(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["transcript", "talk-a"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_remove(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, shutil.copytree(home, tmp_path / "copy"))
    assert cli.main(["remove", "talk-b"]) == 0
    assert cli.main(["talks", "--json"]) == 0
    assert [talk["talk_id"] for talk in json.loads(capsys.readouterr().out)] == ["talk-a"]


@pytest.mark.parametrize("command", [["transcript"], ["remove"], ["search", "x", "--talk"], ["ask", "x", "--talk"]])
def test_an_unknown_talk_is_one_line_and_code_2(
    home: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert cli.main([*command, "nope"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: talk 'nope': not in the library; ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't be read"),
        ("{", "not a conversation"),
        ("[1]", "not a conversation"),
        ('[{"role": "system", "content": "x"}]', "found a turn with role 'system'"),
    ],
)
def test_a_wrong_history_is_named(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, message: str
) -> None:
    path = tmp_path / "history.json"
    if content is not None:
        path.write_text(content)
    assert cli.main(["ask", "x", "--history", str(path)]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["mcp", "--help"], ["talks"]])
def test_nothing_heavy_is_loaded_for_little(tmp_path: Path, arguments: list[str]) -> None:
    call = f"try: main({arguments})\nexcept SystemExit: pass"
    code = f"import sys\nfrom rag.__main__ import main\n{call}\nprint(*sys.modules)"
    environment = os.environ | {"RAG_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    heavy = {"torch", "sentence_transformers", "mcp", "fastapi", "gradio", "openai"}
    assert heavy & set(done.stdout.splitlines()[-1].split()) == set()


def test_an_empty_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use(monkeypatch, tmp_path)
    monkeypatch.setattr(engine_module, "load_embedder", lambda _: WordEmbedder())
    assert cli.main(["talks"]) == 0
    assert "no talks yet" in capsys.readouterr().err
    assert cli.main(["search", "x"]) == 3
    assert "add some with 'python -m ingest PATH'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["talks"], ["transcript", "a"], ["remove", "a"], ["export", "x.jsonl"], ["search", "x"], ["ask", "x"]]
)
def test_a_home_below_a_file_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    use(monkeypatch, tmp_path / "file" / "home")
    assert cli.main(command) == 3
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith(f"error: RAG_HOME {tmp_path / 'file' / 'home'}: ")


def test_wrong_settings_are_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    settings.cache_clear()
    monkeypatch.setenv("RAG_TOP_K", "none")
    assert cli.main(["talks"]) == 3
    assert capsys.readouterr().err.startswith("error: RAG_TOP_K: found 'none', expected ")
    settings.cache_clear()


@pytest.mark.parametrize("k", ["0", "-1", "1001"])
def test_k_out_of_range(home: Path, capsys: pytest.CaptureFixture[str], k: str) -> None:
    assert cli.main(["search", "x", "-k", k]) == 2
    assert f"-k: found {k}, expected 1 to 1000" in capsys.readouterr().err


def test_export_of_one_talk_is_webvtt(home: Path, tmp_path: Path) -> None:
    assert cli.main(["export", "--talk", "talk-a", str(tmp_path / "talk.vtt")]) == 0
    text = (tmp_path / "talk.vtt").read_text(encoding="utf-8")
    assert text.startswith("WEBVTT\n\nNOTE\ntalk_id: talk-a\ntitle: A talk\n")
    assert "\ns2\n00:00:02.000 --> 00:00:04.000\n<v Ann>Preemption evicts the longest sequence.\n" in text


def test_export_of_the_corpus_is_one_json_line_a_talk(home: Path, tmp_path: Path) -> None:
    assert cli.main(["export", str(tmp_path / "corpus.jsonl")]) == 0
    lines = (tmp_path / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["talk_id"] for line in lines] == ["talk-a", "talk-b"]


def test_export_of_an_unknown_talk_writes_nothing(home: Path, tmp_path: Path) -> None:
    assert cli.main(["export", "--talk", "nope", str(tmp_path / "x.vtt")]) == 2
    assert not (tmp_path / "x.vtt").exists()


def test_export_below_a_file_is_one_line(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert cli.main(["export", str(tmp_path / "file" / "x.jsonl")]) == 3
    assert "x.jsonl: can't be written" in capsys.readouterr().err
