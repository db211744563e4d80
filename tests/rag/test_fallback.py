"""Answers go on while a part of the index can't be read, and say so."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag import __main__ as cli
from rag import engine as engine_module
from rag.check import problem_of
from rag.engine import Engine
from rag.errors import StoreError
from rag.fallback import Everything
from rag.index import writing
from rag.library import Library
from rag.manifest import current_manifest, current_name, index_folder
from rag.retrieve import exact
from rag.settings import load_settings
from rag.types import Evidence, Filters, Talk
from tests.fakes import WordEmbedder
from tests.leaks import assert_level, open_now
from tests.rag.talks import numbered_talk

pytestmark = pytest.mark.slow  # every ingest starts a process that checks what was built

NO_VECTORS = (
    "The vector index can't be read, so all passages were compared one by one; "
    "'python -m rag doctor --repair' rebuilds it."
)
NO_WORDS = (
    "The word index can't be read, so passages were found by meaning alone; "
    "'python -m rag doctor --repair' rebuilds it."
)


def ingest(home: Path, *talks: Talk) -> None:
    with writing(home, WordEmbedder()) as writer:
        for talk in talks:
            writer.put(talk)


def engine_of(home: Path) -> Engine:
    return Engine(load_settings(home=home, chroma_url=""), embedder=WordEmbedder())


def part(home: Path, name: str) -> Path:
    return index_folder(home) / current_name(home) / name


def waits_for(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def found(evidence: Evidence) -> tuple[str, str]:
    return evidence.hits[0].talk.id, evidence.hits[0].cues[0].id


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library large enough for Chroma to write its vector files; copy it before breaking it."""
    home = tmp_path_factory.mktemp("built")
    ingest(home, numbered_talk(10), numbered_talk(3500, "talk-b"))
    return home


@pytest.fixture
def home(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "home")


def test_comparing_all_finds_what_exact_scoring_finds(home: Path) -> None:
    manifest = current_manifest(home)
    assert manifest is not None
    everything = Everything(Library(home), manifest)
    with engine_of(home) as engine, engine._reader.generation() as generation:
        assert generation is not None
        for text in ("word37 caching", "sentence", "nothing of this"):
            vector = WordEmbedder().encode_query(text)
            expected = exact(generation, vector, ["talk-a", "talk-b"], "", 50)
            scores = [found.score for found in everything.nearest(vector, 50)]
            assert scores == pytest.approx([found.score for found in expected], abs=1e-6)
    assert everything.nearest(vector, 5000) == sorted(everything.nearest(vector, 5000), key=lambda item: -item.score)
    assert len(everything.nearest(vector, 5000)) == manifest.windows


def test_a_chroma_folder_that_is_gone_is_done_without_and_not_made_anew(home: Path) -> None:
    shutil.rmtree(part(home, "chroma"))
    with engine_of(home) as engine:
        evidence = engine.evidence("word3210", 3)
        assert (found(evidence), evidence.notice) == (("talk-b", "s3210"), NO_VECTORS)
        inside = engine.evidence("word3210", 3, Filters(talk="talk-b"))
        assert (found(inside), inside.notice) == (("talk-b", "s3210"), "")  # chosen talks never need Chroma
        *_, answer = engine.ask("What about word3210?")
        assert answer.notice == NO_VECTORS
    assert not part(home, "chroma").exists()


def test_a_chroma_folder_deleted_under_a_running_reader(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.reader._LOOK_EVERY_S", 0.1)
    failures: list[Exception] = []
    notices: list[str] = []
    stop = threading.Event()
    with engine_of(home) as engine:
        assert engine.evidence("word3210", 3).notice == ""

        def search() -> None:
            while not stop.is_set():
                try:
                    evidence = engine.evidence("word3210", 3)
                    assert found(evidence) == ("talk-b", "s3210")
                    notices.append(evidence.notice)
                except Exception as error:  # any failure at all is what this test is about
                    failures.append(error)

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            shutil.rmtree(part(home, "chroma"))
            assert waits_for(lambda: NO_VECTORS in notices)
            ingest(home, numbered_talk(5, "talk-c"))  # builds the index anew
            assert waits_for(lambda: notices[-1] == "")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert engine.search("talk-c word3", 1)[0].talk.id == "talk-c"
    assert failures == []


@pytest.mark.parametrize("how", ["garbage", "zeros", "half", "empty"])
@pytest.mark.parametrize(
    "name", ["chroma.sqlite3", "data_level0.bin", "link_lists.bin", "header.bin", "index_metadata.pickle"]
)
def test_a_damaged_chroma_file_never_ends_the_process(home: Path, name: str, how: str) -> None:
    (path,) = part(home, "chroma").rglob(name)
    content = path.read_bytes()
    path.write_bytes({
        "garbage": (b"\x93garbage" * len(content))[: len(content)],
        "zeros": bytes(len(content)),
        "half": content[: len(content) // 2],
        "empty": b"",
    }[how])  # fmt: skip
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        from rag.engine import Engine
        from rag.settings import load_settings
        from tests.fakes import WordEmbedder
        with Engine(load_settings(home=Path(sys.argv[1]), chroma_url=""), embedder=WordEmbedder()) as engine:
            evidence = engine.evidence("word3210", 3)
            print(evidence.hits[0].cues[0].id, evidence.notice)
    """)
    # A damaged store can write files without end, and can end its process: hence a process with a limit.
    limit = 200_000_000
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)], capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    if name == "header.bin" and how == "half":  # Chroma does without that half
        assert done.stdout in (f"s3210 {NO_VECTORS}\n", "s3210 \n")
    else:
        assert done.stdout == f"s3210 {NO_VECTORS}\n"


def test_the_check_names_a_damaged_vector_file(home: Path) -> None:
    (path,) = part(home, "chroma").rglob("link_lists.bin")
    path.write_bytes(bytes(path.stat().st_size))
    assert problem_of(Library(home), current_name(home)) == f"{path}: damaged, not what was published"


@pytest.mark.parametrize("name", ["data_level0.bin", "link_lists.bin"])
def test_the_next_ingest_does_not_build_upon_a_damaged_vector_file(home: Path, name: str) -> None:
    (path,) = part(home, "chroma").rglob(name)
    path.write_bytes((b"\x93garbage" * path.stat().st_size)[: path.stat().st_size])
    said: list[str] = []
    with writing(home, WordEmbedder(), say=said.append) as writer:
        writer.put(numbered_talk(5, "talk-c"))
    assert len(said) == 1
    assert said[0].startswith(f"building the index anew: {path}: damaged, not what was published (")
    with engine_of(home) as engine:
        assert engine.evidence("word3210", 3).notice == ""
        assert engine.search("talk-c word3", 1)[0].talk.id == "talk-c"


def test_readers_do_not_break_the_seal(home: Path) -> None:
    for _ in range(2):
        with engine_of(home) as engine:
            assert engine.evidence("word3210", 3).notice == ""
    assert problem_of(Library(home), current_name(home)) == ""


@pytest.mark.parametrize("damage", ["gone", "garbage", "emptied"])
def test_without_words_meaning_alone_decides(home: Path, damage: str) -> None:
    words = part(home, "lexical")
    if damage == "gone":
        shutil.rmtree(words)
    elif damage == "emptied":
        (words / "meta.json").unlink()  # tantivy would begin an empty index
    else:
        for path in words.iterdir():
            path.write_bytes(b"garbage")
    with engine_of(home) as engine:
        evidence = engine.evidence("sentence word3210 talk", 3)
        assert evidence.hits[0].window.first <= 3209 <= evidence.hits[0].window.last
        assert evidence.notice == NO_WORDS
        inside = engine.evidence("sentence word3210 talk", 3, Filters(talk="talk-b"))
        assert (found(inside), inside.notice) == (("talk-b", "s3210"), NO_WORDS)


def test_words_that_fail_while_they_are_searched(home: Path) -> None:
    (positions,) = part(home, "lexical").glob("*.pos")
    positions.unlink()  # noticed by a search only
    with engine_of(home) as engine:
        assert NO_WORDS in engine.evidence("sentence word3210", 3).notice


def test_without_both_every_passage_is_compared(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    shutil.rmtree(part(home, "chroma"))
    shutil.rmtree(part(home, "lexical"))
    monkeypatch.setattr(engine_module, "load_embedder", lambda _: WordEmbedder())
    monkeypatch.setattr(cli, "settings", lambda: load_settings(home=home, llm="off", chroma_url=""))
    assert cli.main(["search", "sentence word3210 talk", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["notice"] == f"{NO_VECTORS} {NO_WORDS}"
    assert f"{NO_VECTORS} {NO_WORDS}" in captured.err.splitlines()
    assert cli.main(["ask", "sentence word3210 talk", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notice"] == f"{NO_VECTORS} {NO_WORDS}"


def test_a_talk_that_is_gone_costs_that_talk(home: Path) -> None:
    shutil.rmtree(part(home, "chroma"))
    (home / "talks" / "talk-a.json").unlink()
    with engine_of(home) as engine:
        with engine._reader.generation() as generation:
            assert generation is not None
            nearest = generation.vectors.nearest(WordEmbedder().encode_query("sentence"), 50)
        assert {item.talk_id for item in nearest} == {"talk-b"}


def test_a_reader_that_slept_finds_the_next_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(tmp_path, numbered_talk(20))
    with engine_of(tmp_path) as engine:
        assert len(engine.search("word7", 1)[0].talk.cues) == 20
        with engine._reader.generation() as old:
            assert old is not None
        monkeypatch.setattr("rag.reader._LOOK_EVERY_S", 1e9)  # as if it had not been asked since
        ingest(tmp_path, numbered_talk(40))
        shutil.rmtree(index_folder(tmp_path) / "gen-000001")
        shutil.rmtree(tmp_path / "superseded")
        old.talk.cache_clear()
        assert len(engine.search("word7", 1)[0].talk.cues) == 40


def test_thirty_generations_leave_no_files_and_threads_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.index.check", lambda *_: "")  # a process each time, and not what this is about
    monkeypatch.setattr("rag.reader._LOOK_EVERY_S", 0.0)

    ingest(tmp_path, numbered_talk(10))
    with engine_of(tmp_path) as engine:
        counts = []
        for cues in range(11, 41):
            ingest(tmp_path, numbered_talk(cues))
            name = current_name(tmp_path)

            def follows(name: str = name) -> bool:
                assert engine.evidence("word7", 1).notice == ""
                with engine._reader.generation() as generation:
                    return generation is not None and generation.name == name

            assert waits_for(follows)
            counts.append(open_now())
        files, threads = zip(*counts, strict=True)
        assert_level(files)
        assert_level(threads)


def test_a_folder_that_stays_broken_leaves_no_files_and_threads_open(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.resilient.RETRY_S", 0.0)
    (path,) = part(home, "chroma").rglob("index_metadata.pickle")
    path.write_bytes(b"")
    with engine_of(home) as engine:
        counts = []
        for _ in range(30):
            assert engine.evidence("word3210", 1).notice == NO_VECTORS
            time.sleep(0.02)
            counts.append(open_now())
    files, threads = zip(*counts, strict=True)
    assert_level(files)
    assert_level(threads)


def test_a_first_generation_without_manifest_is_still_named(home: Path) -> None:
    part(home, "manifest.json").unlink()
    with engine_of(home) as engine, pytest.raises(StoreError, match="damaged; 'python -m rag doctor --repair'"):
        engine.search("word7")


def test_the_fallback_scores_are_cosines(home: Path) -> None:
    shutil.rmtree(part(home, "chroma"))
    with engine_of(home) as engine, engine._reader.generation() as generation:
        assert generation is not None
        (best,) = generation.vectors.nearest(np.asarray(generation.talk("talk-b")[1].passages[700]), 1)
        assert (best.talk_id, best.first, best.score) == ("talk-b", 2100, pytest.approx(1.0))
