import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rag import generations, index
from rag.errors import StartError, StoreError, UsageError
from rag.index import check, publish, removing, writing
from rag.library import Library
from rag.manifest import current_manifest, current_name, index_folder, read_manifest
from rag.reader import IndexReader
from rag.types import Talk
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk, talk_of

pytestmark = pytest.mark.slow  # every ingest starts a process that checks what was built


class OtherEmbedder(WordEmbedder):
    name = "fake/other"


def ingest(home: Path, *talks: Talk, embedder: WordEmbedder | None = None) -> list[str]:
    said: list[str] = []
    with writing(home, embedder or WordEmbedder(), say=said.append) as writer:
        for talk in talks:
            writer.put(talk)
    return said


def model_of(home: Path) -> str:
    manifest = current_manifest(home)
    assert manifest is not None
    return manifest.model


def published(home: Path) -> dict[str, int]:
    """Talk id -> number of cues, as a reader sees it."""
    reader = IndexReader(home)
    with reader.generation() as generation:
        assert generation is not None
        found = {talk_id: len(generation.talk(talk_id)[0].talk.cues) for talk_id in generation.manifest.talks}
        assert (generation.words.notice, generation.vectors.notice) == ("", "")  # neither lacks a passage
    reader.close()
    return found


def test_what_was_put_is_published_and_sound(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10), numbered_talk(5, "talk-b"))
    assert published(tmp_path) == {"talk-a": 10, "talk-b": 5}
    assert check(Library(tmp_path), index_folder(tmp_path) / "gen-000001") == ""


def test_outcomes(tmp_path: Path) -> None:
    with writing(tmp_path, WordEmbedder()) as writer:
        assert writer.put(numbered_talk(10)) == "added"
        assert writer.put(numbered_talk(10)) == "unchanged"
        assert writer.put(numbered_talk(11)) == "replaced"


def test_a_second_ingest_of_the_same_publishes_nothing_new(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10))
    ingest(tmp_path, numbered_talk(10))
    assert current_name(tmp_path) == "gen-000001"


def test_words_that_are_known_are_not_embedded_again(tmp_path: Path) -> None:
    class Counting(WordEmbedder):
        encoded = 0

        def encode_passages(self, texts):
            Counting.encoded += len(texts)
            return super().encode_passages(texts)

    ingest(tmp_path, numbered_talk(10), embedder=Counting())
    assert Counting.encoded == 12
    renamed = talk_of(*(cue.text for cue in numbered_talk(10).cues), title="Another title")
    ingest(tmp_path, renamed, embedder=Counting())
    assert Counting.encoded == 12
    assert Library(tmp_path).get("talk-a").title == "Another title"


def test_replaced_and_removed_talks_leave_the_index(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10), numbered_talk(5, "talk-b"))
    ingest(tmp_path, numbered_talk(30))
    assert published(tmp_path) == {"talk-a": 30, "talk-b": 5}
    removing(tmp_path, "talk-b")
    assert published(tmp_path) == {"talk-a": 30}
    with pytest.raises(UsageError, match="talk-b"):
        removing(tmp_path, "talk-b")


def test_what_was_committed_before_a_failure_is_published(tmp_path: Path) -> None:
    def fail_after_one() -> None:
        with writing(tmp_path, WordEmbedder()) as writer:
            writer.put(numbered_talk(10))
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        fail_after_one()
    assert published(tmp_path) == {"talk-a": 10}


def test_a_second_writer_gives_up_with_a_message(tmp_path: Path) -> None:
    hold = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from rag.index import writing
        from tests.fakes import WordEmbedder
        with writing(Path(sys.argv[1]), WordEmbedder()):
            print("locked", flush=True)
            time.sleep(60)
    """)
    other = subprocess.Popen([sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        said: list[str] = []
        impatient = writing(tmp_path, WordEmbedder(), wait_s=0.2, say=said.append)
        with pytest.raises(StartError, match="locked by another writer"):
            impatient.__enter__()
        assert said == [f"{tmp_path}: another process is writing, waiting up to 0 s"]
    finally:
        other.kill()
        other.wait()
    ingest(tmp_path, numbered_talk(3))  # the lock died with its process
    assert published(tmp_path) == {"talk-a": 3}


def test_leftovers_of_a_killed_writer_are_deleted(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10))
    half = index_folder(tmp_path) / "gen-000002"
    (half / "chroma").mkdir(parents=True)
    (tmp_path / "talks" / ".abc.tmp").write_text("half")
    ingest(tmp_path, numbered_talk(10))
    assert not (tmp_path / "talks" / ".abc.tmp").exists()
    ingest(tmp_path, numbered_talk(11))
    assert current_name(tmp_path) == "gen-000002"
    assert published(tmp_path) == {"talk-a": 11}


def test_talks_committed_before_a_kill_are_indexed_by_the_next_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> str:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(index, "publish", killed)
        with pytest.raises(SystemExit):
            ingest(tmp_path, numbered_talk(10))
    assert current_name(tmp_path) == ""
    ingest(tmp_path)
    assert published(tmp_path) == {"talk-a": 10}


@pytest.mark.parametrize("damaged", ["chroma", "lexical", "manifest.json"])
def test_a_damaged_index_is_built_anew_from_the_library(tmp_path: Path, damaged: str) -> None:
    ingest(tmp_path, numbered_talk(10))
    path = index_folder(tmp_path) / "gen-000001" / damaged
    shutil.rmtree(path) if path.is_dir() else path.write_text("{")
    said = ingest(tmp_path, numbered_talk(5, "talk-b"))
    assert published(tmp_path) == {"talk-a": 10, "talk-b": 5}
    assert current_name(tmp_path) == "gen-000002"
    assert damaged == "manifest.json" or any("building the index anew" in line for line in said)


def test_the_check_notices_a_missing_vector(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10))
    from rag.vectors import ChromaFolder

    folder = index_folder(tmp_path) / "gen-000001"
    store = ChromaFolder(folder / "chroma")
    store.delete("talk-a")
    store.close()
    (folder / "seal.json").unlink()  # a generation is sealed only after its check
    assert check(Library(tmp_path), folder) == "0 vectors in Chroma, expected 2"


def test_talks_that_are_replaced_again_and_again_stay_within_reach(tmp_path: Path) -> None:
    """Deleting from Chroma's graph can cut off what is left, with every count right."""
    for version in range(6):
        ingest(
            tmp_path, *(numbered_talk(12 + version % 5, f"talk-{number}", f"topic{version}") for number in range(30))
        )
        reader = IndexReader(tmp_path)
        with reader.generation() as generation:
            assert generation is not None
            found = generation.vectors.nearest(WordEmbedder().encode_query("word1"), generation.manifest.windows)
            assert len(found) == generation.manifest.windows
        reader.close()


def test_the_check_notices_passages_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rag.check import problem_of
    from rag.vectors import ChromaFolder, Found

    ingest(tmp_path, *(numbered_talk(12, f"talk-{number}") for number in range(5)))
    whole = ChromaFolder.nearest

    def cut_off(self: ChromaFolder, query: object, count: int) -> list[Found]:
        return whole(self, query, count)[: max(1, count // 2)]

    assert problem_of(Library(tmp_path), "gen-000001") == ""
    monkeypatch.setattr(ChromaFolder, "nearest", cut_off)
    assert problem_of(Library(tmp_path), "gen-000001") == "the vector search finds 25 of the 50 nearest passages"


def test_a_damaged_talk_costs_one_talk_and_is_named(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10), numbered_talk(5, "talk-b"))
    (tmp_path / "talks" / "talk-a.json").write_text("{")
    said = ingest(tmp_path, numbered_talk(7, "talk-c"))
    assert any("talk-a.json: damaged" in line for line in said)
    assert published(tmp_path) == {"talk-b": 5, "talk-c": 7}


def test_another_model_is_a_full_build_and_vectors_never_mix(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10))
    said = ingest(tmp_path, numbered_talk(10), embedder=OtherEmbedder())
    assert any("made with fake/words, now fake/other" in line for line in said)
    manifest = read_manifest(index_folder(tmp_path) / current_name(tmp_path))
    assert manifest is not None
    assert manifest.model == "fake/other"
    assert published(tmp_path) == {"talk-a": 10}


def test_reembedding_gives_every_talk_vectors_of_the_new_model(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(10), numbered_talk(5, "talk-b"))
    assert model_of(tmp_path) == "fake/words"
    with writing(tmp_path, OtherEmbedder()) as writer:
        assert writer.reembed() == 2
        assert writer.reembed() == 0
    assert model_of(tmp_path) == "fake/other"
    assert published(tmp_path) == {"talk-a": 10, "talk-b": 5}


def test_a_folder_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"RAG_HOME .*file/below: can't be written"):
        ingest(tmp_path / "file" / "below", numbered_talk(3))


def test_superseded_generations_are_kept_for_ten_minutes_and_then_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count in (3, 4, 5):
        ingest(tmp_path, numbered_talk(count))
    assert [path.name for path in sorted(index_folder(tmp_path).glob("gen-*"))] == [
        "gen-000001",
        "gen-000002",
        "gen-000003",
    ]
    later = time.time() + 700
    monkeypatch.setattr(generations.time, "time", lambda: later)
    ingest(tmp_path, numbered_talk(6))
    assert [path.name for path in sorted(index_folder(tmp_path).glob("gen-*"))] == ["gen-000003", "gen-000004"]
    assert len(list(tmp_path.glob("vectors/*/*.npy"))) == 2


def test_nothing_is_published_before_there_is_a_talk(tmp_path: Path) -> None:
    ingest(tmp_path)
    assert current_name(tmp_path) == ""
    assert publish(Library(tmp_path), WordEmbedder.name, WordEmbedder.dim) == ""


def test_removing_the_last_talk_publishes_an_empty_index(tmp_path: Path) -> None:
    ingest(tmp_path, numbered_talk(3))
    removing(tmp_path, "talk-a")
    assert published(tmp_path) == {}
