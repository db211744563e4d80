"""What the tests of the core share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag.server import Server
from tests.rag.chroma_server import chroma_run


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Chroma server of this test run. Libraries have ids of their own, so that tests can share it."""
    with chroma_run(tmp_path_factory.mktemp("chroma-server")) as run:
        yield run.server
