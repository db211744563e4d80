import pytest

from ingest.types import Caption, Unreadable, WordTime
from ingest.vtt import read


def test_text_times_ids_and_lines_of_cues() -> None:
    reading = read("WEBVTT\n\nfirst\n00:01.500 --> 01:00:02.000 align:start\nHello <b>you</b>\nthere\n")
    assert reading.captions == (Caption("first", 1500, 3_602_000, "Hello you there", line=4),)
    assert reading.problems == ()


def test_each_lost_block_is_reported_where_it_stands() -> None:
    reading = read(
        "WEBVTT\n\n1\n00:00:01.000 --> 00:00:99.000\nbad\n\nlost words\n\n"
        "2\n00:03.000 --> 00:04.000\nkept\nA --> B\nrest\n"
    )
    assert [(problem.line, problem.lost, problem.what.split(":")[0]) for problem in reading.problems] == [
        (4, True, "timestamp not valid"),
        (7, True, "text outside a cue, no timing line above it"),
        (12, True, "an arrow --> that is no timing line ends the cue before it"),
    ]
    assert '"bad"' in reading.problems[0].what
    assert [caption.text for caption in reading.captions] == ["kept"]
    assert reading.dropped_ids == ("1",)


def test_a_lost_entry_with_the_words_of_the_next_does_not_take_its_place() -> None:
    reading = read("WEBVTT\n\n00:00:01.000 --> 00:61:00.000\nsame\n\n00:00:05.000 --> 00:00:06.000\nsame\n")
    assert [(caption.start_ms, caption.text) for caption in reading.captions] == [(5000, "same")]
    assert [problem.line for problem in reading.problems] == [3]


def test_word_times_of_a_caption_that_does_not_scroll() -> None:
    reading = read("WEBVTT\n\n00:01.000 --> 00:04.000\none<00:02.000> two three<00:03.500> four\n")
    assert reading.captions[0].words == (
        WordTime(1000, 2000),
        WordTime(2000, 3500),
        None,
        WordTime(3500, 4000),
    )


def test_two_voices_in_one_cue_are_two_captions() -> None:
    reading = read("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ada>Ready?</v>\n<v Bo>Yes.</v>\n")
    assert [(c.speaker, c.text, c.start_ms, c.end_ms) for c in reading.captions] == [
        ("Ada", "Ready?", 1000, 2000),
        ("Bo", "Yes.", 1000, 2000),
    ]


def test_note_header() -> None:
    reading = read(
        "WEBVTT\n\nNOTE\ntalk_id: my-talk\nTitle: On <caches>: a talk\nspeakers: Ada; Bo\ndate: 20250614\n"
        "chapter: 1:02 Middle\nchapter: 0:00 Start\n\n00:01.000 --> 00:02.000\nHi\n\nNOTE title: not this one\n"
    )
    meta = reading.meta
    assert (meta.talk_id, meta.title, meta.date) == ("my-talk", "On <caches>: a talk", "2025-06-14")
    assert meta.speakers == ("Ada", "Bo")
    assert [(chapter.start_ms, chapter.title) for chapter in meta.chapters] == [(0, "Start"), (62_000, "Middle")]


def test_language_of_the_header() -> None:
    assert read("WEBVTT\nKind: captions\nLanguage: de-DE\n\n00:01.000 --> 00:02.000\nHallo\n").meta.language == "de-DE"


@pytest.mark.parametrize("text", ["", "WEBVTTx\n", "webvtt\n", "\ufeffWEBVTT\n", " WEBVTT\n", "<!DOCTYPE html><html>"])
def test_bad_signatures_are_refused_on_line_1(text: str) -> None:
    with pytest.raises(Unreadable, match="expected WEBVTT") as caught:
        read(text)
    assert caught.value.line == 1
