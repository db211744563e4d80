"""Small talks for tests, and the sample talks, ready to be asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.pipeline import Options, ingest
from rag.engine import Engine
from rag.index import writing
from rag.settings import load_settings
from rag.types import Cue, Talk
from tests.conftest import ROOT
from tests.fakes import WordEmbedder


@contextmanager
def sample_engine(home: Path) -> Iterator[Engine]:
    """The sample talks, ingested into `home` with words as vectors."""
    with writing(home, WordEmbedder()) as writer:
        ingest(sorted((ROOT / "eval" / "data" / "talks").glob("*.vtt")), writer, Options())
    with Engine(load_settings(home=home), embedder=WordEmbedder()) as engine:
        yield engine


def talk_of(*texts: str, talk_id: str = "talk-a", title: str = "A talk", speaker: str = "", **known: object) -> Talk:
    """A talk with one cue of two seconds per text, ids s1, s2, …"""
    cues = tuple(Cue(f"s{n}", (n - 1) * 2000, n * 2000, text, speaker) for n, text in enumerate(texts, 1))
    return Talk(talk_id, title, cues, **known)  # type: ignore[arg-type]


def numbered_talk(count: int, talk_id: str = "talk-a", topic: str = "caching") -> Talk:
    """A talk of `count` cues, each of which holds a word of its own: `word1`, `word2`, …"""
    texts = [f"Sentence word{n} about {topic} {talk_id}." for n in range(1, count + 1)]
    return talk_of(*texts, talk_id=talk_id)
