import json

import pytest

from ingest import read
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


def test_a_talk_without_cues_costs_no_other_talk() -> None:
    talks = [
        {"talk_id": "empty", "cues": []},
        {"talk_id": "a", "cues": CUES},
        {"talk_id": "bad", "cues": [{"text": "x"}]},
    ]
    for data in (lines(*talks), json.dumps(talks).encode()):
        [reading] = read_bytes(data, "x.json")
        assert (reading.meta.talk_id, len(reading.captions)) == ("a", 2)
        assert [problem.what.split(": ")[0] for problem in reading.problems] == ['talk "empty"', 'talk "bad"', "cue 1"]
        assert all(problem.line for problem in reading.problems)
    with pytest.raises(Unreadable, match='talk "empty": no cues in it'):
        read_bytes(lines(talks[0], talks[2]), "x.jsonl")


def test_a_broken_first_line_costs_one_line() -> None:
    for broken in (b"garbage", b'{"talk_id": "t", "cu', b"\xef\xbb\xbf}"):
        [reading] = read_bytes(broken + b"\n" + lines(*({"talk_id": "a", **cue} for cue in CUES)) + b"\n", "x.jsonl")
        assert [caption.text for caption in reading.captions] == ["Hi.", "There."]
        assert [(problem.line, problem.lost) for problem in reading.problems] == [(1, True)]


def test_a_corpus_of_one_cue() -> None:
    [reading] = read_bytes(lines({"talk_id": "a", **CUES[0]}), "x.jsonl")
    assert (reading.meta.talk_id, [caption.text for caption in reading.captions]) == ("a", ["Hi."])


def test_a_bare_list_of_segments_on_one_line() -> None:
    [reading] = read_bytes(json.dumps(CUES).encode(), "x.json")
    assert [caption.text for caption in reading.captions] == ["Hi."]  # the other has no start in seconds
    assert read_bytes(b"[Music]\n\n1\n00:00:01,000 --> 00:00:02,000\nHi.\n", "x")[0].captions[0].text == "Hi."


def test_no_cue_beyond_the_limit_is_dropped_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MAX_CUES", 1)
    with pytest.raises(Unreadable, match="about 2 cues, the limit is 1"):
        read_bytes(lines({"talk_id": "a", "cues": CUES}, {"talk_id": "b", "cues": CUES}), "x.jsonl")
