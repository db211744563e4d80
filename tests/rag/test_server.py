"""A library whose vectors are on a Chroma server: publishing, following, losing the server and getting it back."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from rag import generations, index, refill
from rag.engine import Engine
from rag.errors import StoreError
from rag.index import check, removing, writing
from rag.library import Library
from rag.manifest import Manifest, current_manifest, current_name, index_folder
from rag.records import content_key
from rag.server import Server, ServerVectors
from rag.settings import load_settings
from rag.types import Talk
from tests.fakes import WordEmbedder
from tests.leaks import assert_level, open_now
from tests.rag.chroma_server import ChromaRun, chroma_run
from tests.rag.talks import numbered_talk, talk_of

pytestmark = pytest.mark.slow  # servers are started, killed and waited for


class Counting(WordEmbedder):
    """Counts the texts that it is given to embed."""

    def __init__(self) -> None:
        self.encoded = 0

    def encode_passages(self, texts):  # type: ignore[no-untyped-def]
        self.encoded += len(texts)
        return super().encode_passages(texts)


def ingest(home: Path, server: Server | None, *talks: Talk, embedder: WordEmbedder | None = None) -> list[str]:
    said: list[str] = []
    with writing(home, embedder or WordEmbedder(), server=server, say=said.append) as writer:
        for talk in talks:
            writer.put(talk)
    return said


def engine_of(home: Path, server: Server | None) -> Engine:
    settings = load_settings(home=home, chroma_url=server.root if server else "")
    return Engine(settings, embedder=WordEmbedder())


def manifest_of(home: Path) -> Manifest:
    manifest = current_manifest(home)
    assert manifest is not None
    return manifest


def contents(home: Path, server: Server) -> dict[str, int]:
    """What the library's collection holds: content key -> number of records."""
    with closing(ServerVectors(server, manifest_of(home).collection)) as store:
        return dict(store.contents())


def expected(home: Path) -> dict[str, int]:
    return {content_key(info.id, info.text_digest): info.windows for info in manifest_of(home).talks.values()}


def waits_for(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ChromaRun]:
    """A server that the test may kill."""
    with chroma_run(tmp_path / "server") as run:
        yield run


@pytest.fixture(autouse=True)
def _try_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.resilient.RETRY_S", 0.2)


def test_what_was_put_is_found_and_sound(tmp_path: Path, chroma_server: Server) -> None:
    assert ingest(tmp_path, chroma_server, numbered_talk(10), numbered_talk(50, "talk-b")) == []
    assert contents(tmp_path, chroma_server) == expected(tmp_path)
    folder = index_folder(tmp_path) / "gen-000001"
    assert not (folder / "chroma").exists()
    assert check(Library(tmp_path), folder, chroma_server) == ""
    with engine_of(tmp_path, chroma_server) as engine:
        found = engine.evidence("word37", 3)
        assert (found.hits[0].talk.id, found.hits[0].cues[0].id, found.notice) == ("talk-b", "s37", "")


def test_a_second_ingest_of_the_same_changes_nothing(tmp_path: Path, chroma_server: Server) -> None:
    for _ in range(2):
        assert ingest(tmp_path, chroma_server, numbered_talk(10)) == []
    assert current_name(tmp_path) == "gen-000001"


def test_both_generations_are_served_and_leftovers_go_later(
    tmp_path: Path, chroma_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(tmp_path, chroma_server, numbered_talk(20))
    with engine_of(tmp_path, chroma_server) as engine:
        with engine._reader.generation() as old:
            assert old is not None
            ingest(tmp_path, chroma_server, numbered_talk(40, topic="paging"))
            found = old.vectors.nearest(WordEmbedder().encode_query("sentence"), 50)
            assert (len(found), old.vectors.notice) == (5, "")
        assert sum(contents(tmp_path, chroma_server).values()) == 5 + 12
    later = time.time() + 700
    monkeypatch.setattr(generations.time, "time", lambda: later)
    ingest(tmp_path, chroma_server, numbered_talk(40, topic="paging"), numbered_talk(5, "talk-b"))
    ingest(tmp_path, chroma_server, numbered_talk(6, "talk-b"))
    assert sum(contents(tmp_path, chroma_server).values()) == 12 + 1 + 1  # the predecessor's talk-b stays
    assert check(Library(tmp_path), index_folder(tmp_path) / current_name(tmp_path), chroma_server) == ""


def test_other_clients_see_the_newest_metadata_of_the_same_words(tmp_path: Path, chroma_server: Server) -> None:
    texts = [cue.text for cue in numbered_talk(5).cues]
    for speaker in ("Ann", "Bob"):
        ingest(tmp_path, chroma_server, talk_of(*texts, speaker=speaker))
    from rag.vectors import server_client

    collection = server_client(chroma_server.root, "").get_collection(
        manifest_of(tmp_path).collection, embedding_function=None
    )
    assert [meta["speakers"] for meta in collection.get(include=["metadatas"])["metadatas"]] == ["Bob"]
    with engine_of(tmp_path, chroma_server) as engine:
        assert engine.search("word3", 1)[0].cues[0].speaker == "Bob"


def test_a_talk_is_removed_from_the_server_when_no_generation_needs_it(
    tmp_path: Path, chroma_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(tmp_path, chroma_server, numbered_talk(10), numbered_talk(10, "talk-b"))
    removing(tmp_path, "talk-b", server=chroma_server)
    assert sum(contents(tmp_path, chroma_server).values()) == 4
    later = time.time() + 700
    monkeypatch.setattr(generations.time, "time", lambda: later)
    removing(tmp_path, "talk-a", server=chroma_server)
    ingest(tmp_path, chroma_server, numbered_talk(3, "talk-c"))
    assert sum(contents(tmp_path, chroma_server).values()) == 1


@pytest.mark.parametrize("broken_at", ["refill", "_publish_new", "delete_superseded", "tidy"])
def test_a_writer_that_dies_leaves_nothing_that_the_next_does_not_clean(
    tmp_path: Path, chroma_server: Server, monkeypatch: pytest.MonkeyPatch, broken_at: str
) -> None:
    ingest(tmp_path, chroma_server, numbered_talk(10))
    real = getattr(index, broken_at)

    def dies(*args: object, **options: object) -> None:
        if broken_at == "refill":  # in the middle: some records of the new talk are there
            real(*args, **options)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(index, broken_at, dies)
        with pytest.raises(SystemExit):
            ingest(tmp_path, chroma_server, numbered_talk(80, topic="paging"))
    with engine_of(tmp_path, chroma_server) as engine:
        found = engine.evidence("sentence word7", 5)
        published = len(found.hits[0].talk.cues)
        assert published == (80 if broken_at in ("delete_superseded", "tidy") else 10)
        assert found.notice == ""
    assert ingest(tmp_path, chroma_server, numbered_talk(80, topic="paging")) == []
    with engine_of(tmp_path, chroma_server) as engine:
        assert len(engine.search("sentence word7", 1)[0].talk.cues) == 80
    assert sum(contents(tmp_path, chroma_server).values()) == 2 + 25  # and the predecessor's


def test_another_model_gets_a_collection_of_its_own(
    tmp_path: Path, chroma_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(WordEmbedder):
        name = "fake/other"

    ingest(tmp_path, chroma_server, numbered_talk(10))
    first = manifest_of(tmp_path).collection
    said = ingest(tmp_path, chroma_server, numbered_talk(10), embedder=Other())
    assert said == ["building the index anew: it was made with fake/words, now fake/other (2 passages)"]
    assert manifest_of(tmp_path).collection != first
    ServerVectors(chroma_server, first).close()  # the predecessor still needs it
    later = time.time() + 700
    monkeypatch.setattr(generations.time, "time", lambda: later)
    for count in (11, 12):
        ingest(tmp_path, chroma_server, numbered_talk(count), embedder=Other())
    with pytest.raises(StoreError, match="does not exist"):
        ServerVectors(chroma_server, first)


def test_switching_the_server_on_and_off_embeds_nothing(tmp_path: Path, chroma_server: Server) -> None:
    embedder = Counting()
    ingest(tmp_path, None, numbered_talk(10), embedder=embedder)
    assert embedder.encoded == 12
    said = ingest(tmp_path, chroma_server, embedder=embedder)
    assert said == ["building the index anew: its vectors move to the Chroma server (2 passages)"]
    assert contents(tmp_path, chroma_server) == expected(tmp_path)
    with engine_of(tmp_path, None) as engine:  # still set up for the folder
        found = engine.evidence("word7", 1)
        assert found.hits[0].cues[0].id == "s7"
        assert found.notice == (
            "The vectors are on a Chroma server, and RAG_CHROMA_URL isn't set, so all passages were compared one by "
            "one; set it, or the next ingest brings them back."
        )
    said = ingest(tmp_path, None, embedder=embedder)
    assert said == ["building the index anew: its vectors move into the library's folder (2 passages)"]
    with engine_of(tmp_path, chroma_server) as engine:  # a generation is read from where it was made
        assert engine.evidence("word7", 1).notice == ""
    assert embedder.encoded == 12


def test_the_check_notices_records_that_are_missing(tmp_path: Path, chroma_server: Server) -> None:
    ingest(tmp_path, chroma_server, numbered_talk(10), numbered_talk(50, "talk-b"))
    kept = {key for key in expected(tmp_path) if key.startswith("talk-b/")}
    with closing(ServerVectors(chroma_server, manifest_of(tmp_path).collection, create=True)) as store:
        store.keep_only(kept)
    folder = index_folder(tmp_path) / "gen-000001"
    problem = "talk talk-a: 0 vectors on the Chroma server, expected 2"
    assert check(Library(tmp_path), folder, chroma_server) == problem
    assert "neither RAG_CHROMA_URL nor CHROMA_API_KEY is set" in check(Library(tmp_path), folder)


def test_a_lost_server_is_answered_without_and_repaired_by_the_next_ingest(
    tmp_path: Path, own_server: ChromaRun
) -> None:
    embedder = Counting()
    home, server = tmp_path / "home", own_server.server
    ingest(home, server, numbered_talk(10), numbered_talk(50, "talk-b"), embedder=embedder)
    with engine_of(home, server) as engine:

        def answers() -> str:
            found = engine.evidence("word37", 3)
            assert (found.hits[0].talk.id, found.hits[0].cues[0].id) == ("talk-b", "s37")
            return found.notice

        assert answers() == ""
        own_server.kill()
        assert "compared one by one" in answers()
        own_server.start(tmp_path / "server")  # the same data
        assert waits_for(lambda: answers() == "")

        own_server.kill()
        own_server.start(tmp_path / "empty")  # all lost, and noticed although nothing is new
        assert "compared one by one" in answers()
        said = ingest(home, server, embedder=embedder)
        assert said == [
            f"Chroma at {server.root} has lost vectors that were there; adding them from the library",
            "the vectors of 2 talks were added again",
        ]
        assert waits_for(lambda: answers() == "")
        assert contents(home, server) == expected(home)
        assert embedder.encoded == 12 + 65  # nothing again
    assert current_name(home) == "gen-000001"


def test_an_ingest_without_a_server_loses_nothing(tmp_path: Path, own_server: ChromaRun) -> None:
    home, server = tmp_path / "home", own_server.server
    ingest(home, server, numbered_talk(10))
    own_server.kill()
    with pytest.raises(StoreError) as raised:
        ingest(home, server, numbered_talk(10, "talk-b"))
    assert raised.value.exit_code == 3
    message = str(raised.value)
    assert message.startswith(f"RAG_CHROMA_URL {server.root}: can't be reached (")
    assert message.endswith("; the talks are stored, and the next ingest publishes them all")
    assert "\n" not in message
    assert Library(home).ids() == ["talk-a", "talk-b"]
    own_server.start(tmp_path / "server")
    assert ingest(home, server) == []
    assert contents(home, server) == expected(home)
    assert set(manifest_of(home).talks) == {"talk-a", "talk-b"}


def test_a_server_that_hangs_costs_one_question_some_seconds(
    tmp_path: Path, own_server: ChromaRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.server._READ_S", 1.0)
    home = tmp_path / "home"
    ingest(home, own_server.server, numbered_talk(10))
    with engine_of(home, own_server.server) as engine:
        assert engine.evidence("word7", 1).notice == ""
        own_server.send(signal.SIGSTOP)
        try:
            assert "compared one by one" in engine.evidence("word7", 1).notice
            started = time.monotonic()
            assert "compared one by one" in engine.evidence("word7", 1).notice
            assert time.monotonic() - started < 0.9
        finally:
            own_server.send(signal.SIGCONT)
        assert waits_for(lambda: engine.evidence("word7", 1).notice == "")


def test_twenty_threads_search_while_the_server_goes_and_comes(tmp_path: Path, own_server: ChromaRun) -> None:
    home, failures, notices, stop = tmp_path / "home", [], set(), threading.Event()
    ingest(home, own_server.server, numbered_talk(10), numbered_talk(50, "talk-b"))
    with engine_of(home, own_server.server) as engine:

        def search() -> None:
            while not stop.is_set():
                try:
                    found = engine.evidence("word37", 3)
                    assert (found.hits[0].talk.id, found.hits[0].cues[0].id) == ("talk-b", "s37")
                    notices.add(bool(found.notice))
                except Exception as error:  # any failure at all is what this test is about
                    failures.append(error)

        threads = [threading.Thread(target=search) for _ in range(20)]
        for thread in threads:
            thread.start()
        try:
            assert waits_for(lambda: False in notices)
            own_server.kill()
            assert waits_for(lambda: True in notices)
            own_server.start(tmp_path / "server")
            notices.clear()
            assert waits_for(lambda: False in notices)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert failures == []


@pytest.fixture
def guarded(chroma_server: Server) -> Iterator[str]:
    """The address of a proxy that lets through who knows the token, as people put before a Chroma server."""

    class Guard(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            if self.headers["Authorization"] != "Bearer open-sesame":
                self.send_response(401)
                self.end_headers()
                return
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            reply = httpx.request(
                self.command, f"{chroma_server.root}{self.path.removeprefix('/below')}", content=body,
                headers={"Content-Type": "application/json"},
            )  # fmt: skip
            self.send_response(reply.status_code)
            self.send_header("Content-Length", str(len(reply.content)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(reply.content)

        do_GET = do_POST = do_PUT = do_DELETE = _pass

        def log_message(self, *_: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Guard)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{proxy.server_port}/below"
    proxy.shutdown()
    proxy.server_close()


def test_a_token_opens_and_a_wrong_one_is_named_and_hidden(tmp_path: Path, guarded: str) -> None:
    ingest(tmp_path, Server(guarded, "open-sesame"), numbered_talk(10))
    settings = load_settings(home=tmp_path, chroma_url=guarded, chroma_token="open-sesame")
    with Engine(settings, embedder=WordEmbedder()) as engine:
        assert engine.evidence("word7", 1).notice == ""
    with pytest.raises(StoreError) as raised:
        ingest(tmp_path, Server(guarded, "hunter2"), numbered_talk(11))
    assert str(raised.value) == (
        f"RAG_CHROMA_URL {guarded}: RAG_CHROMA_TOKEN is refused (HTTP 401); correct RAG_CHROMA_TOKEN; "
        "the talks are stored, and the next ingest publishes them all"
    )
    with pytest.raises(StoreError, match=r"RAG_CHROMA_TOKEN is expected, none is set \(HTTP 401\)"):
        ingest(tmp_path, Server(guarded), numbered_talk(11))
    assert Library(tmp_path).get("talk-a").cues[-1].id == "s11"


@pytest.mark.parametrize("token", ["schlüssel", "two words", "line\nbreak"])
def test_a_token_that_can_not_be_sent_is_one_line_without_it(tmp_path: Path, chroma_server: Server, token: str) -> None:
    with pytest.raises(StoreError) as raised:
        ingest(tmp_path, Server(chroma_server.root, token), numbered_talk(3))
    assert token not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_address_that_is_no_chroma_server_is_named(tmp_path: Path) -> None:
    class Nothing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    other = ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        root = f"http://user:secret@127.0.0.1:{other.server_port}"
        with pytest.raises(StoreError, match=r"HTTP 404, expected a Chroma server of version 1 or later") as raised:
            ingest(tmp_path, Server(root), numbered_talk(3))
        assert "secret" not in str(raised.value) + repr(Server(root, "secret"))
    finally:
        other.shutdown()
        other.server_close()


def test_cleaning_that_fails_is_said_and_harms_nothing(
    tmp_path: Path, chroma_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> int:
        raise StoreError("gone")

    monkeypatch.setattr(refill.ServerVectors, "keep_only", fails)
    said = ingest(tmp_path, chroma_server, numbered_talk(10))
    assert said == ["records that nobody needs stay on the server for now: gone"]
    assert current_name(tmp_path) == "gen-000001"


def test_generations_on_a_server_leave_no_connections_open(
    tmp_path: Path, chroma_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.reader._LOOK_EVERY_S", 0.0)
    ingest(tmp_path, chroma_server, numbered_talk(10))
    files = []
    with engine_of(tmp_path, chroma_server) as engine:
        for cues in range(11, 26):
            ingest(tmp_path, chroma_server, numbered_talk(cues))
            name = current_name(tmp_path)

            def follows(name: str = name) -> bool:
                assert engine.evidence("word7", 1).notice == ""
                with engine._reader.generation() as generation:
                    return generation is not None and generation.name == name

            assert waits_for(follows)
            files.append(open_now()[0])
    assert_level(files)
