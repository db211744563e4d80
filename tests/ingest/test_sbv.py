from ingest.sbv import read
from ingest.types import Caption


def test_entries() -> None:
    reading = read("0:00:01.000,0:00:02.250\nTwo[br]lines\r\n\n1:00:02.250,1:00:05.900\n>> And &amp; more\n")
    assert reading.captions == (
        Caption(None, 1000, 2250, "Two lines", line=1),
        Caption(None, 3_602_250, 3_605_900, ">> And & more", line=4),
    )


def test_bad_times_are_reported() -> None:
    reading = read("0:00:01.000,0:00:99.000\nlost\n\n0:00:03.000,0:00:02.000\nkept\n")
    assert [(problem.line, problem.lost) for problem in reading.problems] == [(1, True), (4, False)]
    assert reading.captions == (Caption(None, 3000, 3000, "kept", line=4),)


def test_blanks_around_the_comma_change_nothing() -> None:
    reading = read("0:00:01.000, 0:00:02.000\nHi\n\n0:00:02.000 ,0:00:03.000\nYo\n")
    assert [(c.start_ms, c.end_ms, c.text) for c in reading.captions] == [(1000, 2000, "Hi"), (2000, 3000, "Yo")]
