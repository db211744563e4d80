"""Follow-ups over the handed-in talks: how much better they are found once the conversation lends them its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.dataset import Item, read_questions, resolve
from eval.measures.hit import hit_at
from eval.types import Moment
from ingest.pipeline import Options, ingest
from rag.embed import load_embedder
from rag.engine import Engine
from rag.index import writing
from rag.library import Library
from rag.rewrite import rewrite
from rag.settings import load_settings
from rag.types import Filters, Turn
from tests.conftest import ROOT

pytestmark = pytest.mark.slow  # embeds three talks

FILES = sorted((ROOT / "tests" / "data").glob("*.questions.jsonl"))


def test_follow_ups_are_found_with_the_words_of_the_conversation(shared: Path, tmp_path: Path) -> None:
    lines = [line for path in FILES for line in read_questions(path) if line.question.type == "follow-up"]
    talk_ids = {line.question.talk_id for line in lines}
    captions = [path for path in (shared / "data").glob("*/talks/*.vtt") if path.stem in talk_ids]
    embedder = load_embedder()
    with writing(tmp_path, embedder) as writer:
        ingest(captions, writer, Options())
    library = Library(tmp_path)
    items = resolve(lines, {talk_id: library.get(talk_id) for talk_id in library.ids()}, "the handed-in talks")
    with Engine(load_settings(home=tmp_path), embedder=embedder) as engine:

        def found(item: Item, query: str) -> float:
            hits = engine.search(query, 5, Filters(talk=item.question.talk_id))
            return hit_at([Moment(hit.talk.id, hit.first, hit.last) for hit in hits], item.gold, 5)

        alone = [found(item, item.question.question) for item in items]
        history = [[Turn(said.role, said.content) for said in item.question.history] for item in items]
        rewritten = [
            found(item, rewrite(item.question.question, turns)) for item, turns in zip(items, history, strict=True)
        ]
    assert len(items) == 30
    assert sum(rewritten) / 30 >= 0.9
    assert (sum(rewritten) - sum(alone)) / 30 >= 0.2
