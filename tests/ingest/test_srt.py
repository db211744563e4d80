import pytest

from ingest.srt import read
from ingest.types import Caption, WordTime


def test_commas_dots_numbers_and_none() -> None:
    reading = read("\n\n7\n00:00:01,000 --> 00:00:02.5\nHi\n\n\n0:00:03,000 --> 0:00:04,000  X1:40 X2:600\nthere\n")
    assert reading.captions == (Caption("7", 1000, 2500, "Hi", line=4), Caption(None, 3000, 4000, "there", line=8))
    assert reading.problems == ()


def test_a_blank_line_inside_an_entry_loses_no_words() -> None:
    reading = read(
        "1\n00:00:01,000 --> 00:00:02,000\nfirst half\n\nsecond half\n\n2\n00:00:03,000 --> 00:00:04,000\nx\n"
    )
    assert [caption.text for caption in reading.captions] == ["first half second half", "x"]


def test_a_line_of_digits_is_text_unless_a_timing_line_follows() -> None:
    reading = read("1\n00:00:01,000 --> 00:00:02,000\nin\n1984\n2\n00:00:03,000 --> 00:00:04,000\nx\n")
    assert [(caption.id, caption.text) for caption in reading.captions] == [("1", "in 1984"), ("2", "x")]


def test_tags_go_and_other_angle_brackets_stay() -> None:
    reading = read(
        '1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<font color="#fff">3 < 4</font> <me@example.org> &amp; AT&T\n'
    )
    assert reading.captions[0].text == "3 < 4 <me@example.org> & AT&T"


def test_an_arrow_in_the_text_is_text() -> None:
    reading = read("1\n00:00:01,000 --> 00:00:02,000\nfrom A --> B\n")
    assert reading.captions[0].text == "from A --> B"


def test_bad_entries_are_reported_and_left_out() -> None:
    reading = read(
        "title page\n\n1\n00:00:01,000 -> 00:00:02,000\nlost\n\n2\n00:00:05,000 --> 00:00:04,000\nbackwards\n"
    )
    assert [(problem.line, problem.lost, problem.what.split(":")[0]) for problem in reading.problems] == [
        (1, True, "text before the first timing line"),
        (4, True, "timing line not valid"),
        (8, False, "end before start"),
    ]
    assert reading.captions == (Caption("2", 5000, 5000, "backwards", line=8),)


def entries(*blocks: str) -> str:
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize(
    "timing",
    [
        "00:00:02,000 — > 00:00:03,000",
        "00:00:02,000 - -> 00:00:03,000",
        "00:00:02,000 → 00:00:03,000",
        "00:00:0x,000 --> 00:00:03,000",
        "-00:00:02,000 --> 00:00:03,000",
        "--> 00:00:03,000",
        "00:00:02,000 -->",
        "00:00:61,000 --> 00:00:62,000",
    ],
)
def test_a_damaged_timing_line_costs_its_entry_only(timing: str) -> None:
    text = entries("1\n00:00:01,000 --> 00:00:02,000\nA", f"2\n{timing}\nlost", "3\n00:00:03,000 --> 00:00:04,000\nC")
    reading = read(text)
    assert [(caption.id, caption.text) for caption in reading.captions] == [("1", "A"), ("3", "C")]
    assert [(problem.line, problem.lost, '"lost"' in problem.what) for problem in reading.problems] == [(6, True, True)]


@pytest.mark.parametrize(
    "timing",
    [
        "\ufeff00:00:02,000 --> 00:00:03,000",
        "\u200e00:00:02,000 --> 00:00:03,000",
        "00:00:02,000\u00a0-->\u00a000:00:03,000",
        "00：00：02，000 --> 00：00：03，000",
    ],
)
def test_odd_characters_in_a_timing_line_change_nothing(timing: str) -> None:
    reading = read(entries("1\n00:00:01,000 --> 00:00:02,000\nA", f"2\n{timing}\nB"))
    assert [(c.id, c.start_ms, c.end_ms, c.text) for c in reading.captions] == [
        ("1", 1000, 2000, "A"),
        ("2", 2000, 3000, "B"),
    ]
    assert reading.problems == ()


def test_one_word_lines_are_said_where_entries_have_no_numbers() -> None:
    reading = read(
        "00:00:01,000 --> 00:00:02,000\nHello\n00:00:02,000 --> 00:00:03,000\n42\n"
        "00:00:03,000 --> 00:00:04,000\nlast one\n\nYes\n00:00:05,000 --> 00:00:06,000\nNo\n"
    )
    assert [(caption.id, caption.start_ms, caption.text) for caption in reading.captions] == [
        (None, 1000, "Hello"),
        (None, 2000, "42"),
        (None, 3000, "last one Yes"),
        (None, 5000, "No"),
    ]


def test_words_on_a_timing_line_are_said() -> None:
    reading = read(entries("1\n00:00:01,000 --> 00:00:02,000 well then\nA", "2\n00:00:02,000 --> 00:00:03,000 X1:4\nB"))
    assert [caption.text for caption in reading.captions] == ["well then A", "B"]


def test_times_with_an_arrow_inside_a_sentence_are_text() -> None:
    for before, text in (("Break:\n", "Break: 12:30 --> 13:00 as usual"), ("", "12:30 --> 13:00 as usual")):
        reading = read(entries(f"1\n00:00:01,000 --> 00:00:02,000\n{before}12:30 --> 13:00 as usual"))
        assert [caption.text for caption in reading.captions] == [text]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("if a<b and c>d", "if a<b and c>d"),
        ("List<String> of <T>", "List<String> of <T>"),
        ("<FONT COLOR=red size='2'>x</FONT> <b >y</b> z<br/>", "x y z"),
        ("<c.colorE5E5E5>x</c> <lang en>y</lang>", "x y"),
    ],
)
def test_only_known_tags_go(line: str, text: str) -> None:
    assert read(f"1\n00:00:01,000 --> 00:00:02,000\n{line}\n").captions[0].text == text


def test_time_tags_that_a_converter_left_time_the_words() -> None:
    [caption] = read("1\n00:00:01,000 --> 00:00:03,000\nso<00:00:01,500><c> today</c> <00:00:02.000>x\n").captions
    assert caption.text == "so today x"
    assert caption.words == (WordTime(1000, 1500), WordTime(1500, 2000), WordTime(2000, 3000))
