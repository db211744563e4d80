"""A full disk, a folder that can't be written, damaged files, two at once: one line that says what to do, nothing lost,
and the next ordinary run recovers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eval.killing import WordAxes, made_up
from rag.engine import Engine
from rag.export import talk_vtt
from rag.index import writing
from rag.library import Library, content_digest
from rag.manifest import current_manifest, current_name, index_folder
from rag.settings import load_settings
from tests.conftest import ROOT
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk

pytestmark = pytest.mark.slow  # every ingest is a process of its own

LONG_VECTORS = 271_000  # bytes of the vectors file of a talk of 200 sentences, nearly
CHROMA = 300_000  # the two talks' SQLite file grows beyond this


def ingest(home: Path, *arguments: object, limit: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.ingest_fake_model", str(limit), *map(str, arguments)]
    environment = os.environ | {"RAG_HOME": str(home), "RAG_EMBED_MODEL": "fake/words"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Exit code, and what was said on stderr line by line."""
    _, said = process.communicate(timeout=120)
    assert "Traceback" not in said
    return process.returncode, said.splitlines()


def done(home: Path, *arguments: object, limit: int = 0) -> tuple[int, list[str]]:
    return ended(ingest(home, *arguments, limit=limit))


def captions(folder: Path, *names: str, cues: int = 200) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.vtt").write_text(talk_vtt(numbered_talk(cues, name)), encoding="utf-8")
    return folder


def searchable(home: Path) -> list[str]:
    """Talks whose last sentence is found where it is."""
    found = []
    with Engine(load_settings(home=home, llm="off"), WordEmbedder()) as engine:
        for info in engine.talks():
            last = engine.talk(info.id).cues[-1]
            evidence = engine.evidence(last.text, 1)
            assert evidence.notice == ""
            if last in evidence.hits[0].cues:
                found.append(info.id)
    return sorted(found)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A library that holds talk-a."""
    home = tmp_path / "home"
    assert done(home, captions(tmp_path / "first", "talk-a")) == (0, [])
    return home


def test_a_disk_too_full_for_a_talk(home: Path, tmp_path: Path) -> None:
    more = captions(tmp_path / "more", "talk-b")
    code, said = done(home, more, limit=LONG_VECTORS // 2)
    assert code == 3
    assert len(said) == 1
    assert said[0].startswith(f"ingest: {home}/vectors/fake--words/talk-b.")
    assert said[0].endswith("; free space or choose another folder")
    assert (Library(home).ids(), searchable(home)) == (["talk-a"], ["talk-a"])
    assert Library(home).leftovers() == []
    assert done(home, more) == (0, [])
    assert searchable(home) == ["talk-a", "talk-b"]


def test_a_disk_too_full_for_the_index(home: Path, tmp_path: Path) -> None:
    more = captions(tmp_path / "more", "talk-b")
    code, said = done(home, more, limit=CHROMA)
    assert code == 3
    assert said[-1].startswith(f"ingest: {home}/index/gen-000002")
    assert said[-1].endswith("free space; the talks are stored, and the next ingest publishes them all")
    assert (Library(home).ids(), searchable(home)) == (["talk-a", "talk-b"], ["talk-a"])
    assert [path.name for path in sorted(index_folder(home).iterdir())] == ["CURRENT", "gen-000001"]
    assert done(home, more) == (0, [])
    assert searchable(home) == ["talk-a", "talk-b"]


def mounted(folder: Path) -> bool:
    """Mount a disk of 2 MB where that is permitted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    return bool(shutil.which("mount")) and subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk; skips where mounting is not permitted."""
    folder = tmp_path / "disk"
    if not mounted(folder):
        pytest.skip("mounting a small disk is not permitted here (it takes root)")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_small_disk_that_fills_up(disk: Path, tmp_path: Path) -> None:
    home = disk / "home"
    assert done(home, captions(tmp_path / "first", "talk-a", cues=20)) == (0, [])
    more = captions(tmp_path / "more", *(f"talk-{n}" for n in range(9)))
    code, said = done(home, more)
    assert code == 3
    assert "free space" in said[-1]
    stored = Library(home).ids()
    assert "talk-a" in stored
    assert searchable(home) == ["talk-a"]
    subprocess.run(["mount", "-o", "remount,size=100m", str(disk)], check=True)
    assert done(home, more) == (0, [])
    assert searchable(home) == sorted(["talk-a", *(f"talk-{n}" for n in range(9))])


def test_a_disk_that_can_not_be_written(disk: Path, tmp_path: Path) -> None:
    home = disk / "home"
    assert done(home, captions(tmp_path / "first", "talk-a", cues=20)) == (0, [])
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert_not_written(home, captions(tmp_path / "more", "talk-b", cues=20))


def test_a_home_below_a_file_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert_not_written(tmp_path / "file" / "home", captions(tmp_path / "more", "talk-b", cues=20))


def assert_not_written(home: Path, talks: Path) -> None:
    code, said = done(home, talks)
    assert code == 3
    assert len(said) == 1
    assert said[0].startswith(f"ingest: RAG_HOME {home}: can't be written")
    assert said[0].endswith("choose another folder with RAG_HOME")


def truncate_talk(home: Path) -> None:
    path = home / "talks" / "talk-a.json"
    path.write_bytes(path.read_bytes()[:1000])


def delete_chroma(home: Path) -> None:
    shutil.rmtree(index_folder(home) / current_name(home) / "chroma")


def corrupt_words(home: Path) -> None:
    for path in (index_folder(home) / current_name(home) / "lexical").glob("*.*"):
        path.write_bytes(b"garbage")


@pytest.mark.parametrize("damage", [delete_chroma, corrupt_words])
@pytest.mark.parametrize("is_new", [True, False], ids=["with a new talk", "with nothing new"])
def test_a_damaged_index_at_the_next_ingest(
    home: Path, tmp_path: Path, damage: Callable[[Path], None], is_new: bool
) -> None:
    damage(home)
    code, said = done(home, captions(tmp_path / "more", "talk-b") if is_new else tmp_path / "first")
    assert code == 0
    assert len(said) == 1
    assert said[0].startswith("ingest: building the index anew")
    assert searchable(home) == (["talk-a", "talk-b"] if is_new else ["talk-a"])


def test_a_truncated_talk_at_the_next_ingest(home: Path, tmp_path: Path) -> None:
    truncate_talk(home)
    code, said = done(home, captions(tmp_path / "more", "talk-b"))
    assert code == 0
    assert [line for line in said if "talk-a.json: damaged" in line and "ingest its captions again" in line]
    assert searchable(home) == ["talk-b"]
    assert done(home, tmp_path / "first") == (0, [])
    assert searchable(home) == ["talk-a", "talk-b"]


def test_two_ingests_at_once(home: Path, tmp_path: Path) -> None:
    with writing(home, WordEmbedder()):
        code, said = done(home, captions(tmp_path / "b", "talk-b"), "--wait", "0")
        assert code == 3
        assert said[-1].startswith(f"ingest: {home}: locked by another writer")
        assert "--wait" in said[-1]
        second = ingest(home, tmp_path / "b")
        third = ingest(home, captions(tmp_path / "c", "talk-c"))
        time.sleep(1)
    assert (ended(second)[0], ended(third)[0]) == (0, 0)
    assert searchable(home) == ["talk-a", "talk-b", "talk-c"]


def test_an_ingest_while_twenty_threads_search(tmp_path: Path) -> None:
    def put(version: int) -> None:
        with writing(tmp_path, WordAxes()) as writer:
            for number in range(5):
                writer.put(made_up(number, version))

    put(0)
    stop, wrong, seen = threading.Event(), [], set()
    versions = {content_digest(made_up(number, version)) for number in range(5) for version in range(3)}

    def search(number: int) -> None:
        while not stop.is_set():
            try:
                evidence = engine.evidence(f"talk{number % 5}", 3)
                wrong.extend([evidence.notice] if evidence.notice else [])
                digests = {content_digest(hit.talk) for hit in evidence.hits if hit.talk.id == f"talk-00{number % 5}"}
                seen.update(digests)
                if len(digests) != 1 or not digests <= versions:
                    wrong.append(f"talk {number % 5}: {digests}")
            except Exception as error:  # any failure at all is what this test is about
                wrong.append(repr(error))

    with Engine(load_settings(home=tmp_path, llm="off"), WordAxes()) as engine:
        threads = [threading.Thread(target=search, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        try:
            for version in (1, 2):
                put(version)
            newest = {content_digest(made_up(number, 2)) for number in range(5)}
            deadline = time.monotonic() + 60
            while not newest <= seen and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert wrong == []
    assert newest <= seen
    manifest = current_manifest(tmp_path)
    assert manifest is not None
    assert set(manifest.digests.values()) == newest


def test_an_ingest_says_which_library_it_filled(tmp_path: Path) -> None:
    process = ingest(tmp_path / "home", captions(tmp_path / "first", "talk-a", cues=8))
    out, _ = process.communicate(timeout=120)
    assert out.splitlines()[-1] == f"library    {tmp_path / 'home'}"
