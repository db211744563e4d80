import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.identity import id_from_media, id_from_title, safe_id
from rag.library import is_safe_id


@pytest.mark.parametrize(
    ("title", "talk_id"),
    [
        ("Caches: All the Way Down!", "caches-all-the-way-down"),
        ("Café_Ñandú 2", "cafe-nandu-2"),
        ("  ", "talk-e3b0c442"),
    ],
)
def test_titles(title: str, talk_id: str) -> None:
    assert id_from_title(title.strip()) == talk_id


def test_titles_in_other_scripts_get_different_ids() -> None:
    ids = {id_from_title(title) for title in ("Память и кэш", "Память и диск", "メモリの話", "Кэш 2")}
    assert len(ids) == 4
    assert all(is_safe_id(talk_id) for talk_id in ids)


def test_chosen_ids_stay_where_they_can() -> None:
    assert safe_id("My_Talk-1.2") == "My_Talk-1.2"
    assert safe_id("../../etc/pass'wd\"") == "etc-pass-wd"
    assert safe_id("-w4w9WgXcQ") == "-w4w9WgXcQ"


@given(st.text())
def test_every_id_is_safe_as_a_file_name_with_a_suffix(text: str) -> None:
    for talk_id in (safe_id(text), id_from_title(text)):
        assert is_safe_id(f"{talk_id}-1234567")


def test_recordings() -> None:
    assert id_from_media("https://youtu.be/dQw4w9WgXcQ?t=5") == "dQw4w9WgXcQ"
    assert id_from_media("talk.mp4") == ""
