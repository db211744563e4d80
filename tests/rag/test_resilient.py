"""A store that fails: who opens it again, how often, and what those who ask meanwhile get."""

from __future__ import annotations

import threading
import time

import pytest

from rag import resilient
from rag.errors import StoreError
from rag.resilient import Resilient


class Store:
    """What the shop opens."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def answer(self) -> str:
        if not self._shop.can_answer:
            raise StoreError("no answer")
        return "yes"

    def close(self) -> None:
        self._shop.closed += 1


class Shop:
    """Opens stores that work or not, as told, and keeps count."""

    def __init__(self) -> None:
        self.can_open = True
        self.can_answer = True
        self.opened = 0
        self.closed = 0

    def open(self) -> Store:
        self.opened += 1
        if not self.can_open:
            raise StoreError("shut")
        return Store(self)


def ask(store: Resilient[Store]) -> str | None:
    return store.ask(lambda opened: opened.answer())


def test_a_store_that_works_is_opened_once() -> None:
    shop = Shop()
    store = Resilient(shop.open)
    assert [ask(store) for _ in range(3)] == ["yes"] * 3
    assert shop.opened == 1
    store.close()
    assert (shop.closed, store.is_working) == (1, False)
    assert ask(store) is None
    assert shop.opened == 1


def test_one_failure_is_repaired_at_once() -> None:
    shop = Shop()
    store = Resilient(shop.open)
    failures = iter([True])

    def question(opened: Store) -> str:
        if next(failures, False):
            raise StoreError("connection reset")
        return opened.answer()

    assert store.ask(question) == "yes"
    assert (shop.opened, shop.closed) == (2, 1)


def test_a_lasting_failure_is_not_tried_again_by_every_question() -> None:
    shop = Shop()
    store = Resilient(shop.open)
    shop.can_answer = False
    assert [ask(store) for _ in range(50)] == [None] * 50
    assert (shop.opened, shop.closed, store.is_working) == (2, 2, False)


def test_it_is_tried_again_later_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resilient, "RETRY_S", 0.05)
    shop = Shop()
    shop.can_open = False
    store = Resilient(shop.open)
    assert ask(store) is None
    shop.can_open = True
    deadline = time.monotonic() + 10
    while ask(store) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ask(store) == "yes"


def test_nobody_waits_for_an_opening_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resilient, "RETRY_S", 0.0)
    shop, go_on = Shop(), threading.Event()
    shop.can_open = False
    store = Resilient(shop.open)

    def hangs() -> Store:
        go_on.wait(20)
        return Store(shop)

    store._open_store = hangs
    assert [ask(store) for _ in range(5)] == [None] * 5  # would take 20 s otherwise
    go_on.set()
    store.close()
    assert (shop.closed, store.is_working) == (1, False)


def test_threads_that_see_it_fail_together_open_it_once() -> None:
    shop = Shop()
    store = Resilient(shop.open)
    together, replies = threading.Barrier(16), []

    def question(asked: Store) -> str:
        if shop.opened == 1:
            together.wait(10)
            raise StoreError("gone")
        return asked.answer()

    threads = [threading.Thread(target=lambda: replies.append(store.ask(question))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == ["yes"] * 16
    assert (shop.opened, shop.closed) == (2, 1)


def test_why_is_logged_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resilient, "RETRY_S", 0.0)
    shop = Shop()
    shop.can_open = False
    store = Resilient(shop.open)
    deadline = time.monotonic() + 10
    while shop.opened < 5 and time.monotonic() < deadline:
        ask(store)
        time.sleep(0.01)
    store.close()
    assert [record.getMessage() for record in caplog.records] == ["answering without a part of the index: shut"]
