"""The line that says who answers, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rag.llm import LLMStatus
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine

pytestmark = pytest.mark.browser


class Model:
    """As much of a language model as the line shows."""

    name = "<b>Tiny</b>"

    def __init__(self, status: LLMStatus) -> None:
        self.status = status


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (None, "Answers are quotes: no language model is set"),
        (LLMStatus("ready"), "Answers are written by <b>Tiny</b>"),
        (LLMStatus("failed", detail="no space"), "Answers are quotes: <b>Tiny</b> can’t be used"),
    ],
)
def test_who_answers_and_why(
    engine: FakeEngine,
    serve: Callable[..., Server],
    open_page: Callable[..., Any],
    status: LLMStatus | None,
    line: str,
) -> None:
    model: Any = Model(status) if status else None
    engine.llm = model
    page, _ = open_page(serve(engine).url)
    page.wait_for_selector("[data-part=model]:not(:empty)")
    assert page.locator("[data-part=model]").inner_text() == line
    assert page.locator("[data-part=model]").get_attribute("title") == (status.detail if status else "")


def test_the_line_follows_a_model_until_it_is_ready(
    engine: FakeEngine, serve: Callable[..., Server], open_page: Callable[..., Any]
) -> None:
    model: Any = Model(LLMStatus("fetching", 300, 1000))
    engine.llm = model
    page, _ = open_page(serve(engine).url)
    for status, line in (
        (None, "Answers are quotes while <b>Tiny</b> is fetched (30 %)"),
        (LLMStatus("loading"), "Answers are quotes while <b>Tiny</b> is loading"),
        (LLMStatus("ready"), "Answers are written by <b>Tiny</b>"),
    ):
        model.status = status or model.status
        page.wait_for_function("line => document.querySelector('[data-part=model]').textContent === line", arg=line)
