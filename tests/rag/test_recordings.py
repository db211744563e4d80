from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rag.errors import StoreError
from rag.library import Library
from rag.recordings import is_kept, keep, recording_in
from tests.rag.talks import numbered_talk
from tests.rag.test_library import store

MP3 = b"ID3\x04\0\0\0\0\0\0" + bytes(50)


@pytest.mark.parametrize(
    ("name", "start", "ending"),
    [
        ("a.mp3", b"ID3\x04", ".mp3"),
        ("a.bin", b"\xff\xfb\x90\x64", ".mp3"),
        ("a.MP4", b"\0\0\0\x20ftypisom", ".mp4"),
        ("a.m4a", b"\0\0\0\x20ftypM4A ", ".m4a"),
        ("a.mp3", b"\0\0\0\x20ftypisom", ".mp4"),
        ("a.mkv", b"\x1aE\xdf\xa3\x01", ".mkv"),
        ("a.html", b"\x1aE\xdf\xa3\x01", ".webm"),
        ("a.opus", b"OggS\0", ".opus"),
        ("a.wav", b"RIFF\x10\0\0\0WAVEfmt ", ".wav"),
        ("a", b"fLaC\0", ".flac"),
        ("a.aac", b"\xff\xf1\x50\x80", ".aac"),
    ],
)
def test_a_recording_is_told_by_its_content(tmp_path: Path, name: str, start: bytes, ending: str) -> None:
    path = tmp_path / name
    path.write_bytes(start)
    found = recording_in(path)
    assert found is not None
    assert (found.path, Path(found.media).suffix) == (path, ending)
    assert is_kept(found.media)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"WEBVTT\n\n00:01.000 --> 00:03.000\nHi.\n",
        b"<html><script>alert(1)</script>",
        "\ufeff1\n00:00:01,000 --> 00:00:02,000\nHi.".encode("utf-16"),
        "1\n00:00:01,000".encode("utf-16-be"),
        b"RIFF\x10\0\0\0WEBPVP8 ",
        b"PK\x03\x04",
        b"\x1f\x8b\x08",
    ],
)
def test_other_content_is_none_whatever_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.mp3"
    path.write_bytes(content)
    assert recording_in(path) is None


@pytest.mark.parametrize(
    "media",
    ["", "a.mp3", "recordings/a.mp3", "recordings/../secret.mp3", "/recordings/0123456789abcdef.mp3",
     "recordings/0123456789abcdef.mp3/x", "recordings/0123456789abcdef.mp3\n", "https://x.org/recordings/0123456789abcdef.mp3"],
)  # fmt: skip
def test_other_media_do_not_lie_in_the_library(media: str) -> None:
    assert not is_kept(media)


def test_the_same_content_is_kept_once_and_goes_with_its_last_talk(tmp_path: Path) -> None:
    library = Library(tmp_path / "home")
    for name in ("one.mp3", "two.mp3"):
        (tmp_path / name).write_bytes(MP3)
        found = recording_in(tmp_path / name)
        assert found is not None
        keep(found, library.home)
    kept = library.home / found.media
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    assert kept.read_bytes() == MP3
    stored = store(library, replace(numbered_talk(3), media=found.media))
    library.discard_unused(set())
    assert kept.is_file()
    library.remove("talk-a")
    library.discard_unused({("talk-a", stored.digest)})  # an index that has the talk is still being read
    assert kept.is_file()
    library.discard_unused(set())
    assert not kept.exists()


def test_what_a_damaged_talk_may_name_stays(tmp_path: Path) -> None:
    library = Library(tmp_path / "home")
    (tmp_path / "one.mp3").write_bytes(MP3)
    found = recording_in(tmp_path / "one.mp3")
    assert found is not None
    keep(found, library.home)
    store(library, replace(numbered_talk(3), media=found.media))
    (library.home / "talks" / "talk-a.json").write_text("{")
    library.discard_unused(set())
    library.set_aside("talk-a")
    library.discard_unused(set())
    assert (library.home / found.media).is_file()


def test_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "one.mp3").write_bytes(MP3)
    found = recording_in(tmp_path / "one.mp3")
    assert found is not None
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "recordings").write_text("in the way")
    with pytest.raises(StoreError, match="can't be written"):
        keep(found, tmp_path / "home")
