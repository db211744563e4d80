import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.encoding import decode
from ingest.types import Unreadable

TEXT = "1\n00:00:01,000 --> 00:00:02,000\nIt’s what we’d call a “café” – naïve…\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_usual_encodings(encoding: str) -> None:
    assert decode(TEXT.encode(encoding)) == (TEXT, None)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark(encoding: str) -> None:
    assert decode("WEBVTT\n\nplain\n".encode(encoding)) == ("WEBVTT\n\nplain\n", None)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_in_other_scripts(encoding: str) -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\n" + "一二三你好世界我们今天讨论新的东西" * 100 + "\n"
    assert decode(text.encode(encoding)) == (text, None)


def test_other_encodings_are_detected() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nПривет, сегодня мы говорим о памяти и о кэше\n"
    assert decode(text.encode("cp1251")) == (text, None)


def test_a_bad_byte_in_utf8_costs_one_character_and_is_reported() -> None:
    data = "WEBVTT\n\nééé ".encode() + b"\xff" + " ééé\n".encode()
    text, problem = decode(data)
    assert text == "WEBVTT\n\nééé \ufffd ééé\n"
    assert problem is not None
    assert (problem.line, "0xff" in problem.what) == (3, True)


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), b"a\0\1\2\3b" * 20])
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match="binary data"):
        decode(data)


@given(st.binary(max_size=300))
def test_nothing_raises_but_a_refusal(data: bytes) -> None:
    try:
        text, _ = decode(data)
    except Unreadable:
        return
    assert isinstance(text, str)
