"""Each kind of damage: the doctor names it and the way out, repairs it, and then finds nothing; nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag import __main__ as cli
from rag import doctor as doctor_module
from rag import repair as repair_module
from rag.doctor import Check, examine
from rag.index import writing
from rag.library import FORMAT, Library
from rag.manifest import current_name, index_folder
from rag.repair import repair
from rag.settings import Settings, load_settings
from tests.fakes import WordEmbedder
from tests.rag.stub_server import said, serving
from tests.rag.talks import numbered_talk

pytestmark = pytest.mark.slow  # the index is opened in processes of their own

NAMES = ["versions", "home", "lock", "library", "vectors", "index", "words", "search", "leftovers", "llm"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("library")
    with writing(home, WordEmbedder()) as writer:
        for name in ("talk-a", "talk-b", "talk-c"):
            writer.put(numbered_talk(12, name))
    return home


@pytest.fixture
def home(library: Path, tmp_path: Path) -> Path:
    return shutil.copytree(library, tmp_path / "home")


def of(home: Path, **explicit: object) -> Settings:
    return load_settings(home=home, **{"llm": "off", "embed_model": WordEmbedder.name} | explicit)


def wrong(settings: Settings) -> dict[str, Check]:
    return {check.name: check for check in examine(settings, WordEmbedder()) if not check.ok}


def mend(home: Path) -> list[str]:
    said: list[str] = []
    repair(of(home), said.append, WordEmbedder())
    return said


def generation(home: Path) -> Path:
    return index_folder(home) / current_name(home)


def test_a_sound_library(home: Path) -> None:
    checks = {check.name: check for check in examine(of(home), WordEmbedder())}
    assert list(checks) == NAMES
    assert all(check.ok and not check.repair for check in checks.values()), checks
    assert checks["library"].found == "3 talks, 36 cues"
    assert checks["index"].found == "gen-000001: 9 passages of 3 talks, made with fake/words"
    assert checks["words"].found == "9 passages"
    assert checks["search"].found == "3 stored sentences found themselves"
    assert checks["llm"].found == "off: answers are quotes"
    assert "chromadb 1." in checks["versions"].found


def test_before_the_first_ingest_nothing_is_wrong_and_nothing_is_created(tmp_path: Path) -> None:
    assert wrong(of(tmp_path / "none")) == {}
    assert list(tmp_path.iterdir()) == []


def damage_chroma(home: Path) -> None:
    shutil.rmtree(generation(home) / "chroma")


def garble_chroma(home: Path) -> None:
    for path in (generation(home) / "chroma").glob("*/*.bin"):
        path.write_bytes(os.urandom(path.stat().st_size))
    (generation(home) / "chroma" / "chroma.sqlite3").write_bytes(b"SQLite format 3\0" + bytes(8000))


def damage_words(home: Path) -> None:
    (generation(home) / "lexical" / "meta.json").write_text("{")


def delete_words(home: Path) -> None:
    shutil.rmtree(generation(home) / "lexical")


def damage_manifest(home: Path) -> None:
    (generation(home) / "manifest.json").write_text("{")


def forget_index(home: Path) -> None:
    shutil.rmtree(home / "index")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (damage_chroma, {"index"}),
        (garble_chroma, {"index"}),
        (damage_words, {"index", "words"}),
        (delete_words, {"words"}),
        (damage_manifest, {"index"}),
        (forget_index, {"index"}),
    ],
)
def test_a_damaged_index_is_built_anew_without_embedding(
    home: Path, damage: Callable[[Path], None], named: set[str]
) -> None:
    class Mute(WordEmbedder):
        def encode_passages(self, texts):
            raise AssertionError("nothing is to be embedded")

    damage(home)
    found = wrong(of(home))
    assert found.keys() >= named
    assert all("doctor --repair" in found[name].repair for name in named)
    repair(of(home), lambda _: None, Mute())
    assert wrong(of(home)) == {}
    assert Library(home).ids() == ["talk-a", "talk-b", "talk-c"]


@pytest.mark.parametrize("how", ["missing", "truncated", "not numbers"])
def test_vectors_are_made_again(home: Path, how: str) -> None:
    (path,) = home.glob("vectors/*/talk-b.*.npy")
    if how == "missing":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        rows = np.load(path)
        rows[3] = np.nan
        np.save(path, rows)
    found = wrong(of(home))["vectors"]
    assert found.found == "1 talks without sound vectors of fake/words: talk-b"
    assert mend(home)[0] == "talk talk-b: embedded again with fake/words"
    assert wrong(of(home)) == {}
    assert np.isfinite(np.load(path)).all()


def test_a_damaged_talk_is_set_aside_and_named_with_its_captions(home: Path) -> None:
    path = home / "talks" / "talk-b.json"
    half = path.read_text(encoding="utf-8")[:200]
    path.write_text(half, encoding="utf-8")
    found = wrong(of(home))
    assert found["library"].found == "2 talks, 24 cues; damaged: talk-b"
    assert "ingest their captions again" in found["library"].repair
    aside = home / "talks" / "talk-b.json.damaged"
    assert f"talk talk-b: damaged, set aside as {aside}; ingest its captions again" in mend(home)
    assert aside.read_text(encoding="utf-8") == half
    assert wrong(of(home)) == {}
    assert Library(home).ids() == ["talk-a", "talk-c"]

    with writing(home, WordEmbedder()) as writer:
        assert writer.put(numbered_talk(12, "talk-b")) == "added"
    path.write_text("{", encoding="utf-8")
    mend(home)  # a second damaged file does not take the first one's place
    assert aside.read_text(encoding="utf-8") == half
    assert (home / "talks" / "talk-b.json.damaged-2").read_text(encoding="utf-8") == "{"


def test_a_talk_of_a_newer_version_is_left_alone(home: Path) -> None:
    path = home / "talks" / "talk-b.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"format": FORMAT + 1}), encoding="utf-8")
    found = wrong(of(home))
    assert found["library"].found == "2 talks, 24 cues; written by a newer version: talk-b"
    assert found["library"].repair == "update talkcite"
    mend(home)
    assert json.loads(path.read_text(encoding="utf-8"))["format"] == FORMAT + 1
    assert len(list(home.glob("vectors/*/talk-b.*.npy"))) == 1


def test_leftovers_are_deleted(home: Path) -> None:
    (home / "talks" / ".abc.tmp").write_text("half")
    (index_folder(home) / "gen-000007" / "chroma").mkdir(parents=True)
    assert wrong(of(home))["leftovers"].found == "of an ingest that was stopped: index/gen-000007, talks/.abc.tmp"
    mend(home)
    assert wrong(of(home)) == {}
    assert current_name(home) == "gen-000001"  # the index was sound: it is not built again


def test_talks_that_were_committed_but_not_published(home: Path) -> None:
    shutil.copytree(home / "index", home / "before")
    with writing(home, WordEmbedder()) as writer:
        writer.put(numbered_talk(20, "talk-d"))
    shutil.rmtree(home / "index")
    (home / "before").rename(home / "index")
    found = wrong(of(home))
    assert list(found) == ["index"]
    assert found["index"].found.endswith("; not yet in it as stored: talk-d")
    mend(home)
    assert wrong(of(home)) == {}


def test_while_another_process_writes_its_files_are_no_damage(home: Path) -> None:
    with writing(home, WordEmbedder()):
        (home / "talks" / ".abc.tmp").write_text("half")
        checks = {check.name: check for check in examine(of(home), WordEmbedder())}
    assert checks["lock"].found == "another process is writing at this moment"
    assert all(check.ok for check in checks.values())


def test_another_model_in_the_settings_is_no_damage(home: Path) -> None:
    checks = {check.name: check for check in examine(of(home, embed_model="other/model"), WordEmbedder())}
    assert checks["index"].ok
    assert checks["index"].found.endswith(
        "RAG_EMBED_MODEL is other/model: 'python -m ingest --reembed' would embed 3 talks with it"
    )


def test_a_language_model_that_can_not_be_reached(home: Path) -> None:
    settings = of(home, llm="some-model", llm_base_url="http://127.0.0.1:9/v1", llm_api_key="sk-secret")
    found = wrong(settings)
    assert list(found) == ["llm"]
    assert found["llm"].found.startswith("the language model some-model at 127.0.0.1 can't be reached")
    assert "sk-secret" not in str(found)


def test_a_language_model_that_answers(home: Path) -> None:
    with serving(lambda _, exchange: exchange.stream(said("yes"))) as stub:
        settings = of(home, llm="some-model", llm_base_url=stub.url, llm_api_key="sk-secret")
        checks = {check.name: check for check in examine(settings, WordEmbedder())}
    assert (checks["llm"].ok, checks["llm"].found) == (True, "some-model at 127.0.0.1 answers")
    assert len(stub.requests) == 1


def test_the_command(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli, "settings", lambda: of(home))
    monkeypatch.setattr(repair_module, "load_embedder", lambda _: WordEmbedder())
    monkeypatch.setattr(doctor_module, "in_own_process", with_the_fake_model)
    damage_words(home)
    assert cli.main(["doctor"]) == 1
    assert "WRONG  words" in capsys.readouterr().out
    assert cli.main(["doctor", "--repair", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["ok"]
    assert [check["name"] for check in found["checks"]] == NAMES
    assert set(found["checks"][0]) == {"name", "ok", "found", "repair"}
    assert captured.err == "building the index anew: it is damaged (9 passages)\n"


def with_the_fake_model(function: Callable[..., str], *arguments: object, limit_s: float) -> str:
    given = [WordEmbedder() if argument is None else argument for argument in arguments]
    return function(*given)


def test_a_home_that_can_not_be_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cli, "settings", lambda: of(tmp_path / "file" / "home"))
    assert cli.main(["doctor"]) == 3
    assert capsys.readouterr().err.count("\n") == 1
