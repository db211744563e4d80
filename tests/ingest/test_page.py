from ingest.page import read, with_natural_ends
from ingest.types import Caption

PAGE = """A Talk — Ada Quist, Bo Li and Cy Ng

Conf · 2 min · 3 sentences · from YouTube's caption track

Each timecode opens YouTube.

  1. 00:04Hello.
  2. 00:0710 things
that wrap.
  3. 1:00:07Done.
"""


def test_header_sentences_and_natural_ends() -> None:
    [reading] = read(PAGE)
    assert (reading.meta.title, reading.meta.event) == ("A Talk", "Conf")
    assert reading.meta.speakers == ("Ada Quist", "Bo Li", "Cy Ng")
    assert reading.captions == (
        Caption("s1", 4000, 7000, "Hello.", line=7),
        Caption("s2", 7000, 3_607_000, "10 things that wrap.", line=8),
        Caption("s3", 3_607_000, 3_608_000, "Done.", line=10),
    )
    assert reading.problems == ()
    assert reading.keeps_cutting


def test_a_dash_in_the_title() -> None:
    [reading] = read(PAGE.replace("A Talk", "Caches — a Love Story"))
    assert reading.meta.title == "Caches — a Love Story"


def test_several_pages_in_one_file() -> None:
    second = PAGE.replace("A Talk", "Another").replace("3 sentences", "4 sentences")
    first, other = read(PAGE + "\n----\n\n" + second)
    assert (first.meta.title, other.meta.title) == ("A Talk", "Another")
    assert len(first.captions) == len(other.captions) == 3
    assert [(problem.line, problem.what) for problem in other.problems] == [
        (16, "count: the page announces 4 sentences, 3 were found")
    ]


def test_what_is_not_a_sentence_is_reported() -> None:
    [reading] = read(
        "  1. 00:01One.\n  2. two\n  2. 00:75Three.\n  4. 00:03Four.\n  4. 00:02Five.\n\nAll transcripts\n"
    )
    assert [(problem.line, problem.what.split(":")[0]) for problem in reading.problems] == [
        (2, "no timecode"),
        (3, "number 2 follows 2"),
        (3, "no timecode"),
        (4, "number 4 follows 2"),
        (5, "number 4 follows 4"),
        (5, "time runs backwards, from 3 s to 2 s"),
        (7, "text outside a numbered line"),
    ]
    assert [(caption.id, caption.text) for caption in reading.captions] == [
        ("s1", "One."),
        ("s4-5", "Five."),
        ("s4", "Four."),
    ]


def test_sentences_in_one_second_last_until_the_next_second() -> None:
    starts = [7000, 7000, 9000]
    captions = with_natural_ends([Caption(None, start, start - 1, "one two three four") for start in starts])
    assert [caption.end_ms for caption in captions] == [9000, 9000, 10_600]
