"""A store that is opened again when it fails: first at once, then every ten seconds in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from rag.errors import StoreError

_log = logging.getLogger(__name__)

RETRY_S = 10.0


class Closable(Protocol):
    """What can be opened must be closed."""

    def close(self) -> None:
        """Give back files, connections and memory."""
        ...


Store = TypeVar("Store", bound=Closable)
Reply = TypeVar("Reply")


class Resilient(Generic[Store]):
    """Asks a store; while that fails, every question gets None, at once. Safe to use from many threads.

    `open_store` opens it and makes sure that it answers, else raises `StoreError`.
    """

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._lock = threading.Lock()  # held by the one thread that opens or closes
        self._store: Store | None = None
        self._tried_at = 0.0
        self._logged = ""
        self._is_closed = False
        with self._lock:
            self._open()

    @property
    def is_working(self) -> bool:
        """False while the store can't be asked."""
        return self._store is not None

    def ask(self, question: Callable[[Store], Reply]) -> Reply | None:
        """What the store replies; None while it fails."""
        store = self._store
        if store is None:
            self._retry_later()
            return None
        try:
            return question(store)
        except StoreError:
            store = self._reopened(store)
        if store is None:
            return None
        try:
            return question(store)
        except StoreError as error:
            self._give_up(store, error)
            return None

    def close(self) -> None:
        """Give back what the store holds. Nobody may be asking."""
        with self._lock:
            self._is_closed = True
            self._drop()

    def _reopened(self, failed: Store) -> Store | None:
        """The store opened anew, once for all threads that saw the same one fail."""
        with self._lock:
            if self._store is failed:
                self._drop()  # before opening: two open at once on one folder would share what is broken
                self._open()
            return self._store

    def _give_up(self, failed: Store, error: StoreError) -> None:
        with self._lock:
            if self._store is failed:
                self._log(error)
                self._drop()
                self._tried_at = time.monotonic()

    def _retry_later(self) -> None:
        """Open again in the background, so that no question waits for a server that hangs."""
        if time.monotonic() - self._tried_at < RETRY_S or not self._lock.acquire(blocking=False):
            return
        self._tried_at = time.monotonic()

        def retry() -> None:
            try:
                if self._store is None:
                    self._open()
            finally:
                self._lock.release()

        threading.Thread(target=retry, name="reopen-store", daemon=True).start()

    def _open(self) -> None:
        if self._is_closed:
            return
        try:
            self._store = self._open_store()
        except StoreError as error:
            self._log(error)
        self._tried_at = time.monotonic()

    def _drop(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _log(self, error: StoreError) -> None:
        """Say why, once for each reason and not every ten seconds."""
        if str(error) != self._logged:
            self._logged = str(error)
            _log.warning("answering without a part of the index: %s", error)
