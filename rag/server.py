"""Vectors on a Chroma server or Chroma Cloud: one collection for a library and a model.

The collection holds more than any one generation: records of new contents are added before a generation is published,
and those that no kept generation needs are deleted afterwards. A reader drops what is not in its own generation, so
that it never sees half a talk, and two generations can be served at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from rag import vectors
from rag.embed import Vectors
from rag.errors import StoreError
from rag.library import StoredTalk
from rag.manifest import TalkInfo
from rag.records import content_of, contents_of
from rag.settings import Settings
from rag.vectors import Found

CLOUD = "https://api.trychroma.com"
_CLOUD_BATCH = 300  # records in one write, and results of one read
_BATCH = 100  # a server lets queries wait while it takes a write: with 5,000 records up to 12 s, with 60 up to 0.5 s
_PAGE = 5000  # ids in one reply
_CLOUD_CONNECTIONS = 8  # it answers 10 reads of a collection at once

_CONNECT_S = 3.0
_READ_S = 5.0  # a search takes milliseconds; a server that hangs must not take the answer with it
_WRITE_S = 120.0  # a writer can wait, for instance for what others write


@dataclass(frozen=True, slots=True)
class Server:
    """Where the vectors are kept. `token` is never shown; its repr and every message leave it out."""

    root: str
    token: str = ""
    tenant: str = ""
    database: str = ""
    is_cloud: bool = False

    def __repr__(self) -> str:
        return f"Server({self.shown})"

    @property
    def shown(self) -> str:
        """The address without a password."""
        parts = urlsplit(self.root)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def hide(self, text: str) -> str:
        """The first line of a message, at most 200 characters, without the secrets."""
        for secret in (self.token, urlsplit(self.root).password or ""):
            text = text.replace(secret, "(hidden)") if secret else text
        return next(iter(text.strip().splitlines()), "no message")[:200]


def server_of(settings: Settings) -> Server | None:
    """The server that the settings name; None when each generation keeps its vectors itself."""
    if api_key := settings.chroma_api_key.get_secret_value():
        return Server(CLOUD, api_key, settings.chroma_tenant, settings.chroma_database, is_cloud=True)
    if settings.chroma_url:
        return Server(settings.chroma_url, settings.chroma_token.get_secret_value())
    return None


class ServerVectors:
    """A `VectorStore` in a collection on a server. Any number of processes may have it open.

    `talks` is what a reader's generation holds; other records are as good as not there. Only a writer says `create`,
    and only a writer waits long.
    """

    def __init__(
        self, server: Server, collection: str, talks: Iterable[TalkInfo] = (), *, create: bool = False
    ) -> None:
        self._server = server
        self._contents = contents_of(talks)
        _greet(server)
        with self._told():
            self._client = _client(server, _WRITE_S if create else _READ_S)
            self._collection = self._open(collection, create)
            self._batch = min(_CLOUD_BATCH if server.is_cloud else _BATCH, self._largest_batch())

    def _open(self, name: str, create: bool) -> Any:
        if not create:
            return self._client.get_collection(name, embedding_function=None)
        wanted = {"spann": {"space": "cosine"}} if self._server.is_cloud else vectors.HNSW
        found = self._client.get_or_create_collection(name, configuration=wanted, embedding_function=None)
        kept = found.configuration_json
        space = (kept.get("hnsw") or kept.get("spann") or {}).get("space")
        if space != "cosine":  # Chroma ignores the configuration of a collection that exists
            raise StoreError(
                f"{self._server.shown}: collection {name} measures {space}, expected cosine; "
                "delete it there, and the next ingest makes it anew"
            )
        return found

    def _largest_batch(self) -> int:
        stated = int(self._client.get_max_batch_size())
        return stated if stated > 0 else _BATCH

    def add(self, stored: StoredTalk, rows: Vectors) -> None:
        """See `VectorStore`. What is there of the same content is brought up to date."""
        with self._told():
            vectors.upsert(self._collection, [(stored, rows)], self._batch, for_others=True)

    def nearest(self, query: Vectors, count: int) -> list[Found]:
        """See `VectorStore`. Asks for more when too few of what the server finds are wanted."""
        asked = count
        most = _CLOUD_BATCH if self._server.is_cloud else 20 * count
        while True:
            with self._told():
                replies = vectors.ask(self._collection, query, asked, self._contents)
            found = [passage for passage in replies if passage is not None]
            if len(found) >= count or len(replies) < asked or asked >= most:
                return found[:count]
            asked = min(4 * asked, most)

    def size(self) -> int:
        """See `VectorStore`. Counts every record, wanted or not."""
        with self._told():
            return int(self._collection.count())

    def vector_of(self, record_id: str) -> Vectors | None:
        """See `VectorStore`."""
        with self._told():
            return vectors.stored_vector(self._collection, record_id)

    def contents(self) -> Counter[str]:
        """How many records there are of each content, by `content_key`."""
        return Counter(content_of(record_id) for record_id in self._ids())

    def keep_only(self, needed: set[str]) -> int:
        """Delete the records of all contents but these; returns how many that were."""
        surplus = [record_id for record_id in self._ids() if content_of(record_id) not in needed]
        with self._told():
            for start in range(0, len(surplus), self._batch):
                self._collection.delete(ids=surplus[start : start + self._batch])
        return len(surplus)

    def drop_others(self, prefix: str, needed: set[str]) -> None:
        """Delete the collections whose names start with `prefix` and are not needed."""
        page = 100
        with self._told():
            names: list[str] = []
            while len(found := self._client.list_collections(limit=page, offset=len(names))) > 0:
                names += [collection.name for collection in found]
            for name in names:
                if name.startswith(prefix) and name not in needed:
                    self._client.delete_collection(name)

    def close(self) -> None:
        """See `VectorStore`. Nothing to give back: all stores on a server share its connections."""

    def _ids(self) -> list[str]:
        ids: list[str] = []
        limit = _CLOUD_BATCH if self._server.is_cloud else _PAGE
        with self._told():
            while page := self._collection.get(include=[], limit=limit, offset=len(ids))["ids"]:
                ids += page
        return ids

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever chromadb or the connection raises, as one `StoreError`."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            said = self._server.hide(str(error) or type(error).__name__)
            raise StoreError(f"Chroma at {self._server.shown} can't answer ({said})") from None


@lru_cache(maxsize=16)
def _client(server: Server, limit_s: float) -> Any:
    """The client that all stores on a server share: chromadb keeps a part of each one for ever, closed or not."""
    if server.is_cloud:
        client = vectors.cloud_client(server.token, server.tenant, server.database, _CLOUD_CONNECTIONS)
    else:
        client = vectors.server_client(server.root, server.token)
    # chromadb itself waits without end, and has no setting for it.
    client._server._session.timeout = httpx.Timeout(limit_s, connect=_CONNECT_S)
    return client


def _greet(server: Server) -> None:
    """Ask the server who we are, as chromadb will, but with a time limit and with words for what may be wrong."""
    header = {"X-Chroma-Token": server.token} if server.is_cloud else {"Authorization": f"Bearer {server.token}"}
    name = "Chroma Cloud" if server.is_cloud else f"RAG_CHROMA_URL {server.shown}"
    setting = "CHROMA_API_KEY" if server.is_cloud else "RAG_CHROMA_TOKEN"
    try:
        reply = httpx.get(
            f"{server.root}/api/v2/auth/identity",
            headers=header if server.token else {},
            timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S),
        )
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError) as error:
        said = server.hide(str(error) or type(error).__name__)
        raise StoreError(f"{name}: can't be reached ({said}); start the server, or correct the address") from None
    if reply.status_code in (401, 403):
        found = "refused" if server.token else "expected, none is set"
        raise StoreError(f"{name}: {setting} is {found} (HTTP {reply.status_code}); correct {setting}")
    if reply.status_code != httpx.codes.OK:
        raise StoreError(f"{name}: HTTP {reply.status_code}, expected a Chroma server of version 1 or later")
