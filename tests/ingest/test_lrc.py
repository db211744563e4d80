from pathlib import Path

import pytest

from ingest.lrc import read
from ingest.pipeline import ingest
from ingest.read import read_bytes
from ingest.types import Caption, NotCaptions, WordTime
from rag.library import Library
from tests.ingest.fake_writer import FakeWriter

FILE = "[ti:Small caches]\n[ar:Ann; Bo]\n[00:01.50]Keep keys &amp; values.\n[00:04.00]\n[1:00.25]Thanks.\n"


def test_each_line_lasts_until_the_next_time() -> None:
    reading = read(FILE)
    assert reading.captions == (
        Caption(None, 1500, 4000, "Keep keys & values.", line=3),
        Caption(None, 60_250, 65_250, "Thanks.", line=5),
    )
    assert (reading.meta.title, reading.meta.speakers, reading.problems) == ("Small caches", ("Ann", "Bo"), ())


def test_minutes_go_on_past_the_hour_and_hours_are_read() -> None:
    assert [c.start_ms for c in read("[75:12.5]a\n[2:00:00.125]b\n").captions] == [4_512_500, 7_200_125]


def test_a_line_with_several_times_is_said_at_each() -> None:
    reading = read("[00:01.00][00:09.00]Yes.\n[00:05.00]No.\n[00:05.00]Non.\n")
    assert [(c.start_ms, c.end_ms, c.text) for c in reading.captions] == [
        (1000, 5000, "Yes."),
        (5000, 9000, "No."),
        (5000, 9000, "Non."),
        (9000, 14_000, "Yes."),
    ]


def test_words_keep_their_own_times() -> None:
    (caption,) = read("[00:01.00]<00:01.00>Two <00:01.75>words\n[00:03.00]\n").captions
    assert (caption.text, caption.words) == ("Two words", (WordTime(1000, 1750), WordTime(1750, 3000)))


def test_an_offset_moves_everything_earlier_and_never_before_the_start() -> None:
    reading = read("[offset:+500]\n[00:00.20]a\n[00:02.00]<00:02.00>b\n")
    assert [(c.start_ms, c.end_ms) for c in reading.captions] == [(0, 1500), (1500, 6500)]
    assert reading.captions[1].words == (WordTime(1500, 6500),)


def test_what_is_left_out_is_reported() -> None:
    reading = read("Lyrics by nobody\n[00:99.00]lost\n[00:01.00]kept\n\n")
    assert [(problem.line, problem.lost) for problem in reading.problems] == [(1, True), (2, True)]
    assert [caption.text for caption in reading.captions] == ["kept"]


def test_an_lrc_file_is_told_by_its_content() -> None:
    (reading,) = read_bytes(FILE.encode(), "talk.txt")
    assert [caption.line for caption in reading.captions] == [3, 5]


def test_a_single_time_in_brackets_makes_no_captions() -> None:
    with pytest.raises(NotCaptions):
        read_bytes(b"Minutes of the meeting\n[10:30] Coffee\nThen we went home.\n", "notes.txt")


def test_a_folder_s_lrc_files_become_talks(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "talk.lrc").write_text(FILE)
    (entry,) = ingest([tmp_path / "in"], FakeWriter(tmp_path / "home")).files
    assert (entry.status, entry.title) == ("added", "Small caches")
    assert [cue.start_ms for cue in Library(tmp_path / "home").get(entry.talk_id).cues] == [1500, 60_250]
