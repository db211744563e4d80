from ingest.srt import read
from ingest.types import Caption


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
