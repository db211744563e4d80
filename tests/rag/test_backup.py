"""A copy of RAG_HOME is a backup, whenever it is made: docs/operations.md promises so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rag.doctor import examine
from rag.engine import Engine
from rag.index import writing
from rag.repair import repair
from rag.settings import load_settings
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk

pytestmark = pytest.mark.slow  # the index is opened in processes of its own


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with writing(tmp_path / "home", WordEmbedder()) as writer:
        writer.put(numbered_talk(12, "talk-a"))
    return tmp_path / "home"


def assert_restored(backup: Path, *talk_ids: str) -> None:
    """After a repair the copy is sound, and every talk is found by a sentence of its own."""
    settings = load_settings(home=backup, llm="off", embed_model=WordEmbedder.name)
    repair(settings, lambda _: None, WordEmbedder())
    assert [check for check in examine(settings, WordEmbedder()) if not check.ok] == []
    with Engine(settings, WordEmbedder()) as engine:
        assert [talk.id for talk in engine.talks()] == list(talk_ids)
        for talk_id in talk_ids:
            (hit, *_) = engine.search(f"Sentence word12 about caching {talk_id}.", 1)
            assert (hit.talk.id, len(hit.talk.cues)) == (talk_id, 12)


def test_a_copy_made_during_an_ingest(home: Path, tmp_path: Path) -> None:
    with writing(home, WordEmbedder()) as writer:
        writer.put(numbered_talk(12, "talk-b"))
        shutil.copytree(home, tmp_path / "backup")
    assert_restored(tmp_path / "backup", "talk-a", "talk-b")


def test_a_copy_with_half_an_index(home: Path, tmp_path: Path) -> None:
    backup = shutil.copytree(home, tmp_path / "backup")
    files = sorted(path for path in (backup / "index").glob("gen-*/**/*") if path.is_file())
    for path in files[::2]:
        path.unlink()
    assert_restored(backup, "talk-a")


def test_the_talks_alone_are_enough(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "talks", tmp_path / "backup" / "talks")
    assert_restored(tmp_path / "backup", "talk-a")
