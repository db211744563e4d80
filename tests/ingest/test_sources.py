import gzip
import io
import zipfile
from pathlib import Path

import pytest

from ingest import sources
from ingest.sources import Missing, Source, find_sources, same_talk_groups
from ingest.types import Unreadable

VTT = b"WEBVTT\n\n00:01.000 --> 00:02.000\nHi.\n"


def names(path: Path) -> list[str]:
    return [entry.name if isinstance(entry, Source) else entry.why for entry in find_sources(str(path))]


def test_folders_are_walked_for_what_may_hold_captions(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.vtt", "a.srt", "sub/c.txt", ".hidden.vtt", "a.info.json", "notes.md", "picture.png"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "no-ending").write_bytes(VTT)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert names(tmp_path) == ["a.srt", "b.vtt", "no-ending", "c.txt"]


def test_gz_and_zip_are_opened(tmp_path: Path) -> None:
    (tmp_path / "a.vtt.gz").write_bytes(gzip.compress(VTT))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("../in/side.vtt", VTT)
        archive.writestr("packed.vtt.gz", gzip.compress(VTT))
        archive.writestr("readme.md", "x")
    found = [entry for entry in find_sources(str(tmp_path)) if isinstance(entry, Source)]
    assert [(entry.name, entry.load()) for entry in found] == [
        ("a.vtt.gz", VTT),
        ("side.vtt", VTT),
        ("packed.vtt.gz", VTT),
    ]
    assert found[1].path == f"{tmp_path}/b.zip/../in/side.vtt"


def test_bombs_stop_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_BYTES", 1000)
    (tmp_path / "a.vtt.gz").write_bytes(gzip.compress(b"x" * 100_000))
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.vtt", b"x" * 2000)
        archive.writestr("b.vtt.gz", gzip.compress(b"x" * 100_000))
    (tmp_path / "c.vtt").write_bytes(b"x" * 2000)
    found = [entry for entry in find_sources(str(tmp_path)) if isinstance(entry, Source)]
    assert len(found) == 4
    for entry in found:
        with pytest.raises(Unreadable, match="limit"):
            entry.load()


def test_an_archive_of_too_much_is_refused_unopened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_MEMBERS", 2)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.vtt", VTT)
    assert names(tmp_path / "a.zip") == [
        f"unpacks to 3 files with {3 * len(VTT)} bytes, the limit is 2 files and 1,000,000,000 bytes"
    ]


def test_damaged_archives_and_missing_paths_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(VTT)[:-12])
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 nothing")
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("x.vtt", VTT)
    (tmp_path / "c.zip").write_bytes(whole.getvalue().replace(b"Hi.", b"Ho."))
    (tmp_path / "d.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    [gz] = find_sources(str(tmp_path / "a.gz"))
    [member] = find_sources(str(tmp_path / "c.zip"))
    assert isinstance(gz, Source)
    assert isinstance(member, Source)
    for entry in (gz, member):
        with pytest.raises(Unreadable, match="damaged"):
            entry.load()
    assert names(tmp_path / "b.zip") == ["damaged .zip file (File is not a zip file)"]
    assert list(find_sources(str(tmp_path / "none"))) == [Missing(str(tmp_path / "none"), "no such file or folder")]


def test_a_gz_in_a_zip_is_read_to_its_end(tmp_path: Path) -> None:
    halves = gzip.compress(VTT) + gzip.compress(b"\n00:03.000 --> 00:04.000\nYo.\n")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("cut.vtt.gz", gzip.compress(VTT)[:-9])
        archive.writestr("two.vtt.gz", halves)
    cut, two = (entry for entry in find_sources(str(tmp_path / "a.zip")) if isinstance(entry, Source))
    assert two.load() == VTT + b"\n00:03.000 --> 00:04.000\nYo.\n"
    with pytest.raises(Unreadable, match="damaged in the archive"):
        cut.load()


def test_archives_in_archives_and_encrypted_files_are_said(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("x.vtt", VTT)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("in/inner.zip", inner.getvalue())
        archive.writestr("y.vtt", VTT)
    missing, source = find_sources(str(tmp_path / "a.zip"))
    assert missing == Missing(f"{tmp_path}/a.zip/in/inner.zip", "an archive in an archive; unpack it first")
    assert isinstance(source, Source)
    locked = bytearray(inner.getvalue())
    locked[6] |= 1
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "b.zip").write_bytes(locked)
    [entry] = find_sources(str(tmp_path / "b.zip"))
    assert isinstance(entry, Source)
    with pytest.raises(Unreadable, match=r"^encrypted in the archive; unpack it first$"):
        entry.load()


def test_names_in_archives_are_shown_on_one_line(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("new\nline\u202e.vtt", VTT)
    [entry] = find_sources(str(tmp_path / "a.zip"))
    assert entry.path == f"{tmp_path}/a.zip/new line.vtt"


def test_an_empty_path_is_not_the_current_folder() -> None:
    assert list(find_sources("")) == [Missing("", "an empty path, expected a file or folder")]


def test_files_of_one_talk_are_grouped_best_first(tmp_path: Path) -> None:
    for name in ("T.de.vtt", "T.en.vtt", "T.en-GB.vtt", "T.json", "T.txt", "U.en.vtt", "U.en.json3", "V.vtt"):
        (tmp_path / name).touch()
    found = [entry for entry in find_sources(str(tmp_path)) if isinstance(entry, Source)]
    groups = [[source.name for source in group] for group in same_talk_groups(found, "en")]
    assert groups == [
        ["T.json", "T.en.vtt", "T.txt", "T.en-GB.vtt", "T.de.vtt"],
        ["U.en.json3", "U.en.vtt"],
        ["V.vtt"],
    ]
    assert [source.name for source in same_talk_groups(found, "de")[0]][:3] == ["T.json", "T.de.vtt", "T.txt"]


def test_of_two_members_of_one_name_the_last_is_read_and_the_other_reported(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("talk.vtt", VTT)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("talk.vtt", VTT.replace(b"Hi.", b"Ho."))
    reported, source = find_sources(str(tmp_path / "a.zip"))
    assert isinstance(reported, Missing)
    assert reported.why == "is in the archive more than once; only the last one is read"
    assert isinstance(source, Source)
    assert source.load() == VTT.replace(b"Hi.", b"Ho.")
