"""Requests made up from the OpenAPI document, valid and not, against a real engine: none finds an error of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from ingest.pipeline import ingest
from rag.engine import Engine
from rag.index import writing
from rag.settings import Settings, load_settings
from rag.web.api import create_api
from rag.web.jobs import Jobs
from tests.conftest import ROOT
from tests.fakes import WordEmbedder
from tests.web.conftest import Server, as_engine
from tests.web.fake_engine import FakeEngine

pytestmark = pytest.mark.slow

TALK = ROOT / "eval" / "data" / "talks" / "the-pager-and-the-agent.vtt"


api = schemathesis.openapi.from_dict(create_api(as_engine(FakeEngine([])), Settings()).openapi())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server; uploads are taken and thrown away."""
    home = tmp_path_factory.mktemp("library")
    with writing(home, WordEmbedder()) as writer:
        ingest([TALK], writer)
    with (
        Engine(load_settings(home=home, llm="off"), WordEmbedder()) as engine,
        Jobs(lambda files, progress: {"files": [], "ignored": [], "removed": []}) as jobs,
    ):
        server = Server(engine, jobs=jobs, home=home, llm="off")
        yield server
        server.stop()


@api.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_a_documented_one(case: schemathesis.Case, server: Server) -> None:
    """No error of ours; status, media type and content are what the document says."""
    # A path with a line break is under no mount of Starlette's: the page answers it, with a 404 of its own.
    assume("%0A" not in case.formatted_path)
    # Two uploads of one name are refused, which a schema can't say.
    excluded = [positive_data_acceptance] if case.path == "/ingest" else []
    case.call_and_validate(base_url=f"{server.url}api", timeout=30, excluded_checks=excluded)
