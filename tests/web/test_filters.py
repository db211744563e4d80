"""The filters of the page over the sample talks: what they offer, with how many talks are behind each choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rag.engine import Engine
from tests.rag.talks import sample_engine

pytestmark = pytest.mark.browser


@pytest.fixture
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with sample_engine(tmp_path_factory.mktemp("home")) as engine:
        yield engine


def offered(page: Any, name: str) -> list[str]:
    options = page.locator(f"select[name={name}] option").all_inner_texts()
    return [option.strip() for option in options[1:]]  # the first one restricts nothing


def test_choices_are_counted_and_those_that_would_leave_nothing_are_not_offered(
    sample: Engine, serve: Callable[..., Any], open_page: Callable[..., Any]
) -> None:
    page, _ = open_page(serve(sample).url)
    everybody = ["Adaeze Umunna", "Devraj Pellini", "Ines Carvalhal", "Marit Oselund", "Tobias Renwick"]
    assert offered(page, "speaker") == [f"{name} (1)" for name in everybody]
    assert offered(page, "event") == ["Findable 2024 (1)", "Harbour Inference Days 2023 (1)", "Small Hours 2025 (1)"]
    assert offered(page, "year") == ["2023 (1)", "2024 (1)", "2025 (1)"]
    page.select_option("select[name=year]", "2024")
    assert offered(page, "speaker") == ["Adaeze Umunna (1)", "Ines Carvalhal (1)", "Tobias Renwick (1)"]
    assert offered(page, "event") == ["Findable 2024 (1)"]
    assert offered(page, "year") == ["2023 (1)", "2024 (1)", "2025 (1)"]  # how many there would be instead
