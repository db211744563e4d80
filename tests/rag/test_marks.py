import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.marks import Code, Mark, MarkScanner, Piece, Text, plain
from tests.conftest import SHARED
from tests.timing import assert_linear

CASES = sorted((SHARED / "cases" / "citations").glob("*.json"))
SHOWN = ["s3", "s11", "s12", "s13", "s14", "s15", "s40"]


def read(chunks: list[str], shown: list[str] = SHOWN) -> list[Piece]:
    scanner = MarkScanner(shown)
    pieces = [piece for chunk in chunks for piece in scanner.feed(chunk)]
    return pieces + scanner.close()


def marks(pieces: list[Piece]) -> list[Mark]:
    return [piece for piece in pieces if isinstance(piece, Mark)]


def merged(pieces: list[Piece]) -> list[Piece]:
    """Neighbouring texts joined: where a text is cut does not matter, what is text and what is a mark does."""
    out: list[Piece] = []
    for piece in pieces:
        if out and isinstance(piece, Text) and isinstance(out[-1], Text):
            out[-1] = Text(out[-1].raw + piece.raw)
        else:
            out.append(piece)
    return out


def test_the_citation_cases_are_there_or_absent_as_a_whole() -> None:
    assert not SHARED.is_dir() or len(CASES) >= 23


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_form_reads_right_in_any_chunks(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    text, expected = "".join(case["chunks"]), case["expect"]
    splits = [case["chunks"], [text], list(text)] + [[text[:i], text[i:]] for i in range(1, len(text))]
    for chunks in splits:
        pieces = read(chunks, case["context"])
        found = marks(pieces)
        assert [{"raw": m.raw, "ids": list(m.ids), "dropped": list(m.dropped)} for m in found] == expected["marks"]
        assert list(dict.fromkeys(cue for m in found for cue in m.ids)) == expected["citations"]
        assert [cue for m in found for cue in m.dropped] == expected["dropped"]
        assert plain(pieces) == expected["text"]
        assert not any(secret in plain(pieces) for secret in expected.get("never_in_output", []))


@pytest.mark.parametrize(
    ("text", "ids", "left"),
    [
        ("A [s12\u2013s14].", ["s12", "s13", "s14"], "A."),
        ("A [s12; s14 and s3].", ["s12", "s14", "s3"], "A."),
        ("A [s12 s14].", ["s12", "s14"], "A."),
        ("A [[s12]] b.", ["s12"], "A b."),
        ("A [[s12] b].", ["s12"], "A [ b]."),
        ("A [^s12].", ["s12"], "A."),
        ("A [cue s12].", ["s12"], "A."),
        ("A 【s12†L1-L4】.", ["s12"], "A."),
        ("A [s15-s12].", ["s12", "s13", "s14", "s15"], "A."),
        ("A (s12, s14).", ["s12", "s14"], "A."),
        ("A (s12, s99).", [], "A (s12, s99)."),
        ("A [s12](https://x.org/a_(b)) c.", ["s12"], "A c."),
        ("A [s12](https://x.org/never closed", ["s12"], "A closed"),
        ("A [s12](s14).", ["s12", "s14"], "A."),
        ("A[12] and a[12, 14] but [12][14].", ["s12", "s14"], "A[12] and a[12, 14] but."),
        ("1. [s12] First.\n2. Second [s14]\n", ["s12", "s14"], "1. First.\n2. Second"),
        ("Half a mark [s12", [], "Half a mark [s12"),
        ("A `tick [s12] that never closes.\n\nB [s14]", ["s12", "s14"], "A `tick that never closes.\n\nB"),
        ("~~~\n[s12]\n~~~\nA [s14]", ["s14"], "~~~\n[s12]\n~~~\nA"),
        ("```\n[s12]", [], "```\n[s12]"),
        ("``a ` [s12]`` b [s14]", ["s14"], "``a ` [s12]`` b"),
        ("Doubled  blanks [s12]  here", ["s12"], "Doubled blanks here"),
        ("[s12]", ["s12"], ""),
        ("", [], ""),
    ],
)
def test_other_forms(text: str, ids: list[str], left: str) -> None:
    for chunks in ([text], list(text)):
        pieces = read(chunks)
        assert [cue for mark in marks(pieces) for cue in mark.ids] == ids
        assert plain(pieces) == left


def test_ids_of_a_far_reaching_range_are_those_shown() -> None:
    (mark,) = marks(read(["[s1-s999999999]"]))
    assert mark.ids == ("s3", "s11", "s12", "s13", "s14", "s15", "s40")
    assert mark.dropped == ("s1", "s999999999")


@pytest.mark.parametrize("unit", ["[", "[s12,", "`", "`` ` ", "~", "(s12 ", "【", "[s12](", " ", "\\", "[[s12]"])
@pytest.mark.parametrize("in_chunks", [False, True], ids=["at once", "char by char"])
def test_hostile_text_takes_no_time(unit: str, in_chunks: bool) -> None:
    def reading(size: int) -> None:
        text = unit * (size // len(unit))
        plain(read(list(text) if in_chunks else [text]))

    assert_linear(reading, 20_000)


SIGNS = r"[ ] ( ) [[ ]] s12 s99 12 s1 2 , - ` ``` ~~~ \ . word 【 】 [s12] † https://e.org é".split(" ")
ALPHABET = st.sampled_from([*SIGNS, " ", "\n", "\n\n", "- "])


@given(st.lists(ALPHABET, max_size=25).map("".join), st.data())
def test_any_split_reads_the_same(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6).map(sorted))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole, split = read([text]), read(chunks)
    assert merged(whole) == merged(split)
    assert "".join(piece.raw for piece in split) == text
    assert plain(whole) == plain(split)
    assert all(cue in SHOWN for mark in marks(split) for cue in mark.ids)
    assert all(isinstance(piece, Text | Code | Mark) for piece in split)
