import threading
import time
from pathlib import Path

import pytest

from rag.doctor import examine
from rag.errors import StoreError
from rag.index import removing, writing
from rag.manifest import set_current
from rag.reader import IndexReader, published_talks
from rag.settings import load_settings
from rag.types import Talk
from rag.windows import TEXT_FORM
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk

pytestmark = pytest.mark.slow  # every ingest starts a process that checks what was built


def ingest(home: Path, *talks: Talk) -> None:
    with writing(home, WordEmbedder()) as writer:
        for talk in talks:
            writer.put(talk)


def test_nothing_published(tmp_path: Path) -> None:
    with IndexReader(tmp_path).generation() as generation:
        assert generation is None
    assert published_talks(tmp_path) == []


def test_a_reader_follows_within_two_seconds_while_queries_go_on(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10))
    reader, seen, failures, stop = IndexReader(tmp_path), set(), [], threading.Event()

    def search() -> None:
        while not stop.is_set():
            try:
                with reader.generation() as generation:
                    assert generation is not None
                    found = generation.vectors.nearest(WordEmbedder().encode_query("word1"), 50)
                    assert len(found) == generation.manifest.windows
                    seen.add(generation.name)
            except Exception as error:  # any failure at all is what this test is about
                failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        ingest(tmp_path, numbered_talk(10), numbered_talk(20, "talk-b"))
        deadline = time.monotonic() + 10
        while "gen-000002" not in seen and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    reader.close()
    assert failures == []
    assert seen == {"gen-000001", "gen-000002"}


def test_a_reader_sees_the_old_talk_until_the_new_one_is_published(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10))
    reader = IndexReader(tmp_path)
    with reader.generation() as generation:
        assert generation is not None
        ingest(tmp_path, numbered_talk(20))
        assert len(generation.talk("talk-a")[0].talk.cues) == 10
    reader.close()


def test_an_old_generation_is_closed_after_its_last_query(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10))
    reader = IndexReader(tmp_path)
    with reader.generation() as generation:
        assert generation is not None
        reader.close()
        assert len(generation.vectors.nearest(WordEmbedder().encode_query("word1"), 5)) == 2
        assert generation.vectors.notice == ""
    assert generation.vectors.notice != ""


def test_a_broken_successor_leaves_the_old_generation_serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.reader._LOOK_EVERY_S", 0.0)
    ingest(tmp_path, numbered_talk(10))
    reader = IndexReader(tmp_path)
    with reader.generation() as generation:
        assert generation is not None
    set_current(tmp_path, "gen-999999")
    for _ in range(5):
        with reader.generation() as generation:
            assert generation is not None
            assert generation.name == "gen-000001"
        time.sleep(0.05)
    reader.close()


def test_a_broken_first_generation_is_named(tmp_path: Path) -> None:
    set_current(tmp_path, "gen-000001")
    with (
        pytest.raises(StoreError, match=r"gen-000001: damaged; 'python -m rag doctor --repair'"),
        IndexReader(tmp_path).generation(),
    ):
        pass


def test_published_talks_are_sorted_by_title(tmp_path: Path) -> None:
    from dataclasses import replace

    ingest(tmp_path, replace(numbered_talk(3), title="zeta"), replace(numbered_talk(3, "talk-b"), title="Alpha"))
    assert [(info.id, info.title, info.cues) for info in published_talks(tmp_path)] == [
        ("talk-b", "Alpha", 3),
        ("talk-a", "zeta", 3),
    ]


def test_an_index_that_another_version_made_names_the_cure(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10))
    path = tmp_path / "index" / "gen-000001" / "manifest.json"
    path.write_text(path.read_text().replace(TEXT_FORM, "w8s3+cues/1"))
    with pytest.raises(StoreError, match="gen-000001: made by another version; 'python -m rag doctor --repair' builds"):
        with IndexReader(tmp_path).generation():
            pass
    (check,) = (check for check in examine(load_settings(home=tmp_path), WordEmbedder()) if check.name == "index")
    assert (check.ok, check.found) == (False, "gen-000001: it was made by another version")
    said: list[str] = []
    with writing(tmp_path, WordEmbedder(), say=said.append):
        pass
    assert said == ["building the index anew: it was made by another version (2 passages)"]
    with IndexReader(tmp_path).generation() as generation:
        assert generation is not None
        assert generation.name == "gen-000002"


def test_after_a_while_without_questions_the_first_one_finds_what_counts_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(tmp_path, numbered_talk(10), numbered_talk(10, "talk-b"))
    reader = IndexReader(tmp_path)
    with reader.generation() as generation:
        assert generation is not None
    with reader.generation():
        pass
    removing(tmp_path, "talk-b")
    monkeypatch.setattr("rag.reader._LOOK_EVERY_S", -1.0)
    monkeypatch.setattr("rag.reader._IDLE_S", -1.0)
    with reader.generation() as generation:
        assert generation is not None
        assert list(generation.manifest.talks) == ["talk-a"]
    reader.close()
