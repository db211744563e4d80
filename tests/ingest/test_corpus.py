import json

import pytest

from ingest.read import read_bytes
from ingest.types import NotCaptions, Unreadable

CUES = [
    {"id": "s1", "start": 1.5, "end": 2.0, "text": "Hi."},
    {"id": "s2", "start_ms": 2000, "text": "There.", "speaker": "A"},
]


def lines(*documents: object) -> bytes:
    return "\n".join(json.dumps(document) for document in documents).encode()


def test_a_talk_a_line() -> None:
    first, second = read_bytes(lines({"talk_id": "a", "title": "A", "cues": CUES}, {"id": "b", "segments": CUES}), "x")
    assert (first.meta.talk_id, first.meta.title, second.meta.talk_id) == ("a", "A", "b")
    assert [(c.id, c.start_ms, c.end_ms, c.text, c.speaker) for c in first.captions] == [
        ("s1", 1500, 2000, "Hi.", ""),
        ("s2", 2000, 3000, "There.", "A"),
    ]


def test_a_cue_a_line() -> None:
    rows = [{"talk_id": talk, "title": talk.upper(), **cue} for talk in ("a", "b") for cue in CUES]
    first, second = read_bytes(lines(*rows), "corpus.jsonl")
    assert (first.meta.talk_id, first.meta.title, second.meta.talk_id) == ("a", "A", "b")
    assert [caption.line for caption in second.captions] == [3, 4]
    assert second.meta.speakers == ()


def test_bad_lines_are_reported_and_the_others_read() -> None:
    data = lines({"talk_id": "a", "cues": [*CUES, {"text": "x"}, 5]}) + b'\n{"torn\n[1]\n{"title": "no cues"}\n'
    [reading] = read_bytes(data, "x.jsonl")
    assert len(reading.captions) == 2
    assert [(problem.line, problem.lost) for problem in reading.problems] == [
        (2, True),
        (3, True),
        (4, True),
        (1, True),
        (1, True),
    ]


def test_one_talk_in_a_file_of_its_own() -> None:
    [reading] = read_bytes(json.dumps({"title": "T", "cues": CUES}, indent=2).encode(), "x.json")
    assert (reading.meta.title, len(reading.captions)) == ("T", 2)


@pytest.mark.parametrize("data", [b'{"q": 1}\n{"q": 2}\n', b'{"cues": 252, "title": "x"}', b"[1, 2]", b"[]", b"{}"])
def test_json_without_captions_is_no_caption_file(data: bytes) -> None:
    with pytest.raises(NotCaptions):
        read_bytes(data, "x.jsonl")


@pytest.mark.parametrize("data", [b'{"events": [', b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}", b'{"events": 5}'])
def test_broken_json_is_refused_with_its_line(data: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        read_bytes(data, "x.json")
    assert caught.value.line == 1
