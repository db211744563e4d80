import pytest

from ingest.types import Caption, WordTime
from ingest.whisper import read


def test_whisper_segments() -> None:
    reading = read({"language": "en", "segments": [{"id": 0, "start": 0.0, "end": 3.6799999999, "text": " Hi."}]})
    assert reading.captions == (Caption("0", 0, 3680, "Hi.", line=1),)
    assert reading.meta.language == "en"


def test_whisperx_words_without_times_stay_in_place() -> None:
    words = [{"word": "in", "start": 1.0, "end": 1.2}, {"word": "1984"}, {"word": "yes.", "start": 2.0, "end": 2.4}]
    segment = {"start": 1.0, "end": 2.5, "text": " in 1984 yes.", "speaker": "SPEAKER_01", "words": words}
    assert read({"segments": [segment]}).captions == (
        Caption(None, 1000, 2500, "in 1984 yes.", "SPEAKER_01", 1, (WordTime(1000, 1200), None, WordTime(2000, 2400))),
    )


def test_words_in_pieces_keep_their_times() -> None:
    words = [
        ("Don", 1.0, 1.2),
        ("'t", 1.2, 1.5),
        (" stop", 2.0, 2.4),
        (" 2", 2.5, 2.6),
        ("%", None, None),
        (".", 2.8, 3),
    ]
    listed = [{"word": word, "start": start, "end": end} for word, start, end in words]
    [caption] = read({"segments": [{"start": 0.5, "end": 3, "text": " Don't stop 2%.", "words": listed}]}).captions
    assert caption.words == (WordTime(1000, 1500), WordTime(2000, 2400), WordTime(2500, 3000))
    [other] = read({"segments": [{"start": 0.5, "end": 3, "text": " Do not stop", "words": listed}]}).captions
    assert other.words == ()


def test_whisper_cpp() -> None:
    document = {
        "result": {"language": "de"},
        "transcription": [
            {
                "timestamps": {"from": "00:00:00,000", "to": "00:00:01,500"},
                "offsets": {"from": 0, "to": 1500},
                "text": " Hallo",
            },
            {"timestamps": {"from": "00:00:01,500", "to": "00:00:02,000"}, "text": " Welt"},
        ],
    }
    reading = read(document)
    assert [(c.start_ms, c.end_ms, c.text) for c in reading.captions] == [(0, 1500, "Hallo"), (1500, 2000, "Welt")]
    assert reading.meta.language == "de"


def test_a_segment_without_times_takes_those_of_its_words() -> None:
    segment = {"text": "a b", "words": [{"word": "a"}, {"word": "b", "start": 2, "end": 3}]}
    assert read({"segments": [segment]}).captions[0].start_ms == 2000


@pytest.mark.parametrize("start", [None, float("nan"), float("inf"), -1, "x", [1], 1e300])
def test_segments_without_usable_start_are_reported(start: object) -> None:
    reading = read({"segments": [{"start": start, "end": 2, "text": "lost"}, {"start": 1, "end": 2, "text": "kept"}]})
    assert [caption.text for caption in reading.captions] == ["kept"]
    assert [(problem.lost, '"lost"' in problem.what) for problem in reading.problems] == [(True, True)]


def test_two_equal_segments_are_no_loop() -> None:
    segments = [{"start": n, "end": n + 1, "text": "Yeah."} for n in range(2)]
    assert read({"segments": segments}).problems == ()
