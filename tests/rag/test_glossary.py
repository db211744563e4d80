from pathlib import Path

import pytest

from rag.engine import Engine
from rag.errors import StartError
from rag.glossary import Glossary, load_glossary
from rag.index import writing
from rag.settings import load_settings
from rag.types import Filters
from tests.fakes import WordEmbedder
from tests.rag.talks import numbered_talk, talk_of


def written(folder: Path, text: str) -> Path:
    path = folder / "glossary.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_glossary_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff# Names\n\nKV cache: KB cache,  K-V  cash\n  Zorblat :sore blot\n")
    assert load_glossary(path) == Glossary((("KV cache", "KB cache", "K-V cash"), ("Zorblat", "sore blot")))
    assert load_glossary(None) == Glossary()


@pytest.mark.parametrize("line", ["KV cache", "KV cache:", ": KB cache", "KV cache: KB cache,", "a: a", "a: -"])
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, f"# Names\n{line}\n")
    with pytest.raises(StartError) as raised:
        load_glossary(path)
    assert str(raised.value) == (f"{path}:2: found {line!r}, expected 'term: spelling, spelling'; correct it")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"RAG_GLOSSARY: .*nowhere.txt can't be read \(No such file or directory\)"):
        Engine(load_settings(home=tmp_path, glossary=tmp_path / "nowhere.txt"), embedder=WordEmbedder())
    (tmp_path / "latin.txt").write_bytes("Zürich: Turin\n".encode("latin-1"))
    with pytest.raises(StartError, match="not UTF-8 text"):
        load_glossary(tmp_path / "latin.txt")


TERMS = Glossary((("KV", "key value"), ("KV cache", "KB cache", "K-V cash"), ("C++", "see plus plus")))


@pytest.mark.parametrize(
    ("query", "variants"),
    [
        ("Where is the kv-cache kept?", ["Where is the key value-cache kept?", "Where is the KB cache kept?",
                                         "Where is the K-V cash kept?"]),
        ("a K V cash", ["a KV cache", "a KB cache"]),
        ("the KVs of a talk", []),
        ("", []),
    ],
)  # fmt: skip
def test_every_spelling_stands_for_the_others(query: str, variants: list[str]) -> None:
    assert list(TERMS.variants(query).values()) == variants


def test_a_glossary_widens_both_arms_and_says_so(tmp_path: Path) -> None:
    said = talk_of(
        "We start here.", "Then a sore blot came along.", "It ended well.", talk_id="said", title="An evening"
    )
    with writing(tmp_path / "home", WordEmbedder()) as writer:
        writer.put(said)
        writer.put(numbered_talk(60, "other", "caching"))
    path = written(tmp_path, "Zorblat: sore blot\n")
    settings = load_settings(home=tmp_path / "home", glossary=path)
    with Engine(settings, embedder=WordEmbedder()) as engine:
        found = engine.evidence("When did the Zorblat come?", 1)
        assert [(hit.talk.id, hit.first) for hit in found.hits] == [("said", 1)]
        assert found.hits[0].cues[0].text == "Then a sore blot came along."  # what is quoted stays as it was
        assert found.notice == "By your glossary “sore blot” was searched too."
        arms = engine.arms("Zorblat", 1)
        assert {name: [hit.talk.id for hit in hits] for name, hits in arms.items()} == {
            "dense": ["said"],
            "words": ["said"],
        }
        *_, answer = engine.ask("Which talks mention the Zorblat?")
        assert [hit.talk.id for hit in answer.hits] == ["said"]
        assert engine.evidence("Then a word1 came", 1, Filters(talk="said")).notice == ""
