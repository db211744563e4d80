from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.pipeline import Options, ingest
from ingest.recordings import media_beside
from ingest.report import Report
from rag.library import Library
from rag.recordings import recording_in
from tests.ingest.fake_writer import FakeWriter

MP3 = b"ID3\x04 one"
OTHER = b"ID3\x04 other"


def test_a_recording_beside(tmp_path: Path) -> None:
    (tmp_path / "Talk.m4a").touch()
    assert media_beside(tmp_path / "Talk.en.vtt") == str((tmp_path / "Talk.m4a").resolve())
    assert media_beside(tmp_path / "Other.vtt") == ""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "home")


@pytest.fixture
def upload(tmp_path: Path) -> Callable[..., Report]:
    """Uploads files, given as name and content."""

    def run(**files: str | bytes) -> Report:
        folder = tmp_path / f"upload{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        found = tuple(recording for path in folder.iterdir() if (recording := recording_in(path)))
        captions = [path for path in folder.iterdir() if path not in {recording.path for recording in found}]
        return ingest(captions, FakeWriter(tmp_path / "home"), Options(is_upload=True, recordings=found))

    return run


def vtt(text: str = "Hi.", note: str = "title: A") -> str:
    return f"WEBVTT\n\nNOTE\n{note}\n\n00:01.000 --> 00:03.000\n{text}\n"


@pytest.mark.parametrize("captions", ["Talk.vtt", "Talk.en.vtt", "talk.en-GB.srt"])
def test_a_recording_of_the_captions_name_becomes_the_talk_s(
    upload: Callable[..., Report], library: Library, captions: str
) -> None:
    text = vtt() if captions.endswith("vtt") else "1\n00:00:01,000 --> 00:00:03,000\nHi.\n"
    (entry,) = upload(**{captions: text, "Talk.mp3": MP3, "Other.mp3": OTHER}).files
    assert (entry.status, entry.recording, entry.as_json().get("recording")) == ("added", "Talk.mp3", "Talk.mp3")
    media = library.get(entry.talk_id).media
    assert (library.home / media).read_bytes() == MP3
    assert len(list((library.home / "recordings").iterdir())) == 1


def test_captions_may_name_a_recording_that_came_with_them(upload: Callable[..., Report], library: Library) -> None:
    upload(**{"a.vtt": vtt(note="title: A\nmedia: b.mp3"), "b.mp3": MP3})
    assert (library.home / library.get("a").media).read_bytes() == MP3


def test_an_address_counts_more_than_a_copy(upload: Callable[..., Report], library: Library) -> None:
    (entry,) = upload(**{"a.vtt": vtt(note="title: A\nmedia: https://x.org/a"), "a.mp3": MP3}).files
    assert entry.recording == ""
    assert library.get("a").media == "https://x.org/a"
    assert not (library.home / "recordings").exists()


def test_corrected_captions_keep_the_recording_and_a_new_one_replaces_it(
    upload: Callable[..., Report], library: Library
) -> None:
    upload(**{"a.vtt": vtt(), "a.mp3": MP3})
    first = library.get("a").media
    (entry,) = upload(**{"a.vtt": vtt("Hi there.")}).files
    assert (entry.talk_id, entry.status, library.get("a").media) == ("a", "replaced", first)
    (again,) = upload(**{"a.vtt": vtt("Hi there."), "a.mp3": OTHER}).files
    assert (again.talk_id, again.status) == ("a", "replaced")
    assert (library.home / library.get("a").media).read_bytes() == OTHER
    assert library.ids() == ["a"]
    (same,) = upload(**{"a.vtt": vtt("Hi there."), "a.mp3": OTHER}).files
    assert same.status == "unchanged"


def test_a_file_of_several_talks_takes_no_recording(upload: Callable[..., Report], library: Library) -> None:
    lines = [f'{{"title": "T{n}", "cues": [{{"start": 0, "end": 2, "text": "Hi {n}."}}]}}' for n in (1, 2)]
    report = upload(**{"a.jsonl": "\n".join(lines), "a.mp3": MP3})
    assert [(entry.talk_id, entry.recording) for entry in report.files] == [("t1", ""), ("t2", "")]
    assert {library.get(talk_id).media for talk_id in library.ids()} == {""}
