"""The same promises for vectors in a folder and on a server; Chroma Cloud's limits in front of the real server."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag import vectors
from rag.errors import StoreError
from rag.library import StoredTalk, content_digest, text_digest
from rag.manifest import TalkInfo, describe
from rag.records import content_key, content_of, records_of
from rag.server import Server, ServerVectors
from rag.types import Cue, Talk
from rag.vectors import ChromaFolder, Found, VectorStore
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk, talk_of

Open = Callable[..., VectorStore]


def stored(talk: Talk) -> StoredTalk:
    return StoredTalk(talk, content_digest(talk), text_digest(talk))


def rows(talk: StoredTalk) -> vectors.Vectors:
    return WordEmbedder().encode_passages([record.document for record in records_of(talk)])


def infos(*talks: Talk) -> list[TalkInfo]:
    return [describe(stored(talk)) for talk in talks]


def put(store: VectorStore, *talks: Talk) -> None:
    for talk in talks:
        store.add(stored(talk), rows(stored(talk)))


@pytest.fixture(params=["folder", "server"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    opened: list[VectorStore] = []
    name = f"test-{uuid.uuid4().hex}"

    def open_(*talks: Talk, create: bool = False) -> VectorStore:
        if request.param == "folder":
            opened.append(ChromaFolder(tmp_path / "chroma", infos(*talks), create=create))
        else:
            opened.append(ServerVectors(request.getfixturevalue("chroma_server"), name, infos(*talks), create=create))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


def test_the_nearest_passages_come_first_with_their_cosine(open_store: Open) -> None:
    talks = (numbered_talk(40), talk_of("Quokkas sleep at noon.", talk_id="talk-b"))
    store = open_store(*talks, create=True)
    put(store, *talks)
    first, *others = store.nearest(WordEmbedder().encode_query("quokkas sleep at noon"), 5)
    assert first == Found("talk-b", 0, 0, pytest.approx(1.0, abs=1e-4))
    assert len(others) == 4
    assert [found.score for found in others] == sorted((found.score for found in others), reverse=True)


def test_a_vector_is_kept_exactly(open_store: Open) -> None:
    store = open_store(create=True)
    talk = stored(numbered_talk(10))
    store.add(talk, rows(talk))
    for record, row in zip(records_of(talk), rows(talk), strict=True):
        kept = store.vector_of(record.id)
        assert kept is not None
        assert np.abs(kept - row).max() < 1e-6
    assert store.vector_of("talk-a/none/0") is None


def test_what_is_there_already_is_brought_up_to_date(open_store: Open) -> None:
    store = open_store(create=True)
    put(store, numbered_talk(10))
    put(store, replace(numbered_talk(10), title="Another title"))
    assert store.size() == 2


def test_an_empty_store_finds_nothing(open_store: Open) -> None:
    assert open_store(create=True).nearest(WordEmbedder().encode_query("x"), 5) == []


def test_a_reader_makes_no_store(open_store: Open, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no Chroma store|does not exist"):
        open_store()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match=r"no Chroma store|does not exist"):
        open_store()


def test_a_closed_folder_says_so_in_one_kind_of_error(tmp_path: Path) -> None:
    store = ChromaFolder(tmp_path, create=True)
    put(store, numbered_talk(10))
    store.close()
    with pytest.raises(StoreError, match="can't answer"):
        store.nearest(WordEmbedder().encode_query("x"), 5)


def test_contents_that_are_not_wanted_are_as_good_as_not_there(chroma_server: Server) -> None:
    name = f"test-{uuid.uuid4().hex}"
    writer = ServerVectors(chroma_server, name, create=True)
    old, new = numbered_talk(60), numbered_talk(60, topic="paging")
    put(writer, old, new, *(numbered_talk(60, f"talk-{n}") for n in range(5)))
    reader = ServerVectors(chroma_server, name, infos(new))
    found = reader.nearest(WordEmbedder().encode_query("sentence about caching"), 18)
    assert {item.talk_id for item in found} == {"talk-a"}
    assert sorted(item.first for item in found) == list(range(0, 54, 3))
    assert writer.keep_only({content_key("talk-a", stored(new).text_digest)}) == 6 * 19
    assert writer.contents() == {content_key("talk-a", stored(new).text_digest): 19}
    reader.close()
    writer.close()


def test_collections_of_a_library_that_nobody_needs_are_dropped(chroma_server: Server) -> None:
    prefix = f"test-{uuid.uuid4().hex}-"
    stores = [ServerVectors(chroma_server, f"{prefix}{n}", create=True) for n in range(3)]
    stores[0].drop_others(prefix, {f"{prefix}1"})
    for n, expected in enumerate((False, True, False)):
        try:
            ServerVectors(chroma_server, f"{prefix}{n}").close()
            assert expected
        except StoreError:
            assert not expected
    for store in stores:
        store.close()


def test_a_collection_that_measures_otherwise_is_refused(chroma_server: Server) -> None:
    name = f"test-{uuid.uuid4().hex}"
    vectors.server_client(chroma_server.root, "").create_collection(name, embedding_function=None)
    with pytest.raises(StoreError, match=f"collection {name} measures l2, expected cosine"):
        ServerVectors(chroma_server, name, create=True)


def test_long_values_are_cut_and_long_ids_stay_unique() -> None:
    long_ids = ["x" * 119 + end for end in "ab"]
    talks = [
        stored(Talk(talk_id, "T", tuple(Cue(f"s{n}", n, n, "ü" * 1500, f"{n}ö" * 300) for n in range(40))))
        for talk_id in long_ids
    ]
    records = [record for talk in talks for record in records_of(talk)]
    assert len({record.id for record in records}) == len(records) == 24
    assert all(len(record.id.encode()) <= 128 for record in records)
    assert {content_of(record.id) for record in records} == {
        content_key(talk.talk.id, talk.text_digest) for talk in talks
    }
    assert {len(record.document.encode()) for record in records} == {16_383}  # a letter of two bytes is never halved
    assert max(len(str(value).encode()) for record in records for value in record.metadata.values()) == 4_096
    assert records[0].metadata["talk_id"] == long_ids[0]


class Limited:
    """A collection behind Chroma Cloud's documented limits."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.configuration_json = real.configuration_json

    def upsert(self, **records: Any) -> None:
        assert len(records["ids"]) <= 300
        assert all(len(record_id.encode()) <= 128 for record_id in records["ids"])
        assert all(len(document.encode()) <= 16_384 for document in records["documents"])
        for metadata in records["metadatas"]:
            assert len(metadata) <= 32
            assert all(len(str(value).encode()) <= 4_096 for value in metadata.values())
        self._real.upsert(**records)

    def query(self, *, n_results: int, **options: Any) -> Any:
        assert n_results <= 300
        return self._real.query(n_results=n_results, **options)

    def get(self, *, limit: int | None = None, ids: list[str] | None = None, **options: Any) -> Any:
        assert len(ids or ()) <= 300
        assert (limit or len(ids or ())) <= 300
        return self._real.get(limit=limit, ids=ids, **options)

    def delete(self, *, ids: list[str]) -> None:
        assert len(ids) <= 300
        self._real.delete(ids=ids)

    def count(self) -> int:
        return int(self._real.count())


def test_chroma_clouds_limits_are_kept(chroma_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def cloud_client(api_key: str, tenant: str, database: str, connections: int) -> Any:
        client = vectors.server_client(chroma_server.root, api_key)
        get, make = client.get_collection, client.get_or_create_collection
        client.get_collection = lambda *args, **options: Limited(get(*args, **options))
        # SPANN is Cloud's own index; the local server has none, but reads the wish.
        client.get_or_create_collection = lambda name, configuration, **options: (
            asked.append((api_key, tenant, database, configuration))
            or Limited(make(name, configuration=vectors.HNSW, **options))
        )
        return client

    monkeypatch.setattr(vectors, "cloud_client", cloud_client)
    cloud = Server(chroma_server.root, "ck-secret", "t", "d", is_cloud=True)
    name = f"test-{uuid.uuid4().hex}"
    writer = ServerVectors(cloud, name, create=True)
    talk = stored(numbered_talk(1200, "x" * 120))
    put(writer, talk.talk, numbered_talk(300, "talk-b"))
    assert asked == [("ck-secret", "t", "d", {"spann": {"space": "cosine"}})]
    assert sum(writer.contents().values()) == writer.size() == 399 + 99
    reader = ServerVectors(cloud, name, infos(talk.talk))
    assert len(reader.nearest(WordEmbedder().encode_query("sentence about caching"), 250)) >= 200
    assert writer.keep_only(set()) == 399 + 99
    reader.close()
    writer.close()
