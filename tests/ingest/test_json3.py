import pytest

from ingest.json3 import read
from ingest.types import Caption, Unreadable, WordTime


def test_words_of_an_automatic_track() -> None:
    reading = read(
        {
            "events": [
                {"tStartMs": 0, "dDurationMs": 9000, "id": 1},
                {"tStartMs": 100, "dDurationMs": 4000, "segs": [{"utf8": "so"}, {"utf8": " now", "tOffsetMs": 300}]},
                {"tStartMs": 2000, "dDurationMs": 10, "aAppend": 1, "segs": [{"utf8": "\n"}]},
                {"tStartMs": 2010, "dDurationMs": 500, "segs": [{"utf8": "then"}]},
            ]
        }
    )
    assert reading.captions == (
        Caption(None, 100, 2010, "so now", words=(WordTime(100, 400), WordTime(400, 2010))),
        Caption(None, 2010, 2510, "then"),
    )


def test_a_hand_made_track_keeps_its_times_and_line_breaks() -> None:
    reading = read(
        {
            "events": [
                {"tStartMs": 0, "dDurationMs": 5000, "segs": [{"utf8": "two\nlines"}]},
                {"tStartMs": 4000, "dDurationMs": 1000, "segs": [{"utf8": "aside"}]},
            ]
        }
    )
    assert reading.captions == (Caption(None, 0, 5000, "two lines"), Caption(None, 4000, 5000, "aside"))


@pytest.mark.parametrize("time", [-1, None, "soon", 1.5, True, 2**60])
def test_unusable_times_cost_one_event(time: object) -> None:
    events = [{"tStartMs": time, "segs": [{"utf8": "lost"}]}, {"tStartMs": 5, "segs": [{"utf8": "kept"}]}, 3]
    reading = read({"events": events})
    assert [caption.text for caption in reading.captions] == ["kept"]
    assert [problem.what.split(":")[0] for problem in reading.problems] == ["event 0", "event 2"]


@pytest.mark.parametrize("duration", [None, "1000", -5, 1.5, True, float("nan"), 2**60])
def test_an_unusable_duration_costs_no_word(duration: object) -> None:
    events = [{"tStartMs": 7000.0, "dDurationMs": duration, "segs": [{"utf8": "kept"}]}]
    reading = read({"events": events})
    assert reading.captions == (Caption(None, 7000, 7000, "kept"),)
    assert [problem.lost for problem in reading.problems] == ([] if duration is None else [False])


def test_segments_that_are_no_list_are_reported() -> None:
    reading = read({"events": [{"tStartMs": 0, "segs": "x"}, {"tStartMs": 0, "segs": None}]})
    assert [(problem.what, problem.lost) for problem in reading.problems] == [
        ("event 0: segs is str, expected a list", True)
    ]


def test_events_that_are_no_list_are_refused() -> None:
    with pytest.raises(Unreadable, match="expected a list"):
        read({"events": {}})
