from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.pipeline import Options, check, ingest
from ingest.report import FileReport, Report
from rag.errors import UsageError
from rag.library import Library
from rag.types import Talk
from rag.web.media import recording
from tests.conftest import ROOT
from tests.ingest.fake_writer import FakeWriter


def vtt(text: str, note: str = "") -> str:
    return "WEBVTT\n\n" + (f"NOTE\n{note}\n\n" if note else "") + f"00:01.000 --> 00:03.000\n{text}\n"


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Report]:
    def run(*paths: Path, **options: object) -> Report:
        return ingest(paths, FakeWriter(tmp_path / "home"), Options(**options))  # type: ignore[arg-type]

    return run


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "home")


def outcome(report: Report) -> list[tuple[str, str]]:
    return [(entry.talk_id, entry.status) for entry in report.files]


def test_a_file_becomes_a_talk(talks: Path, run: Callable[..., Report], library: Library) -> None:
    (talks / "A Talk [dQw4w9WgXcQ].en.vtt").write_text(vtt("<v Ada>Hello. Bye."))
    report = run(talks)
    assert report.files == (
        FileReport(
            path=str(talks / "A Talk [dQw4w9WgXcQ].en.vtt"),
            status="added",
            talk_id="dQw4w9WgXcQ",
            title="A Talk",
            language="en",
            cues=2,
            duration_ms=3000,
            repaired=("2 sentences rebuilt from 1 captions",),
        ),
    )
    talk = library.get("dQw4w9WgXcQ")
    assert (talk.title, talk.speakers, talk.media) == (
        "A Talk",
        ("Ada",),
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
    )
    assert [(cue.id, cue.text) for cue in talk.cues] == [("s1", "Hello."), ("s2", "Bye.")]
    assert talk.source == str((talks / "A Talk [dQw4w9WgXcQ].en.vtt").resolve())


def test_the_second_ingest_changes_nothing(talks: Path, tmp_path: Path) -> None:
    for name in ("a.vtt", "b.vtt"):
        (talks / name).write_text(vtt(f"This is {name}."))
    writer = FakeWriter(tmp_path / "home")
    ingest([talks], writer)
    report = ingest([talks], writer)
    assert outcome(report) == [("a", "unchanged"), ("b", "unchanged")]
    assert writer.embedded == ["a", "b"]


def test_where_metadata_comes_from_in_order(talks: Path, run: Callable[..., Report], library: Library) -> None:
    (talks / "file.vtt").write_text(vtt("Hi.", "talk_id: note\ntitle: Note\ndate: 2024\nevent: Note"))
    (talks / "file.json").write_text(json.dumps({"title": "Sidecar", "talk_id": "sidecar", "date": "2025"}))
    (talks / "file.mp3").touch()
    run(talks)
    talk = library.get("sidecar")
    assert (talk.title, talk.date, talk.event) == ("Sidecar", "2025", "Note")
    assert talk.media == str((talks / "file.mp3").resolve())
    assert outcome(run(talks / "file.vtt", talk_id="option", media="https://x.org/y")) == [("option", "added")]
    assert library.ids() == ["option"]  # one file, one talk: the old id is gone
    assert library.get("option").media == "https://x.org/y"


def test_one_bad_file_never_stops_the_others(talks: Path, run: Callable[..., Report]) -> None:
    (talks / "a.vtt").write_text("<html><title>Error 404</title>")
    (talks / "b.srt").write_bytes(b"\x89PNG\0\0\1\2\3\4\5")
    (talks / "c.vtt").write_text(vtt("Fine."))
    (talks / "d.json3").write_text('{"events": [')
    (talks / "notes.json").write_text('{"a": 1}')
    report = run(talks, talks / "none.vtt")
    assert [(Path(entry.path).name, entry.status) for entry in report.files] == [
        ("none.vtt", "failed"),
        ("a.vtt", "failed"),
        ("b.srt", "failed"),
        ("c.vtt", "added"),
        ("d.json3", "failed"),
    ]
    assert report.files[1].error.startswith(f"{talks / 'a.vtt'}:1: found an HTML page, expected WEBVTT")
    assert [Path(path).name for path, _ in report.ignored] == ["notes.json"]
    assert report.failed == 4


def test_a_file_that_is_no_captions_fails_when_named(talks: Path, run: Callable[..., Report]) -> None:
    (talks / "notes.json").write_text('{"a": 1}')
    assert outcome(run(talks / "notes.json")) == [("", "failed")]


def test_whispers_many_files_are_one_talk(talks: Path, run: Callable[..., Report]) -> None:
    (talks / "t.json").write_text(json.dumps({"segments": [{"start": 0, "end": 1, "text": "Hi."}]}))
    (talks / "t.srt").write_text("1\n00:00:00,000 --> 00:00:01,000\nHi.\n")
    (talks / "t.txt").write_text("Hi.\n")
    report = run(talks)
    assert outcome(report) == [("t", "added")]
    assert [why for _, why in report.ignored] == [f"the same talk as {talks / 't.json'}"] * 2


def test_a_changed_file_replaces_its_talk(talks: Path, run: Callable[..., Report], library: Library) -> None:
    (talks / "a.vtt").write_text(vtt("Old."))
    run(talks)
    (talks / "a.vtt").write_text(vtt("New.", "title: Another title"))
    assert outcome(run(talks)) == [("a", "replaced")]
    assert library.get("a").cues[0].text == "New."


def test_the_same_id_replaces_only_what_is_the_same_talk(
    talks: Path, run: Callable[..., Report], library: Library
) -> None:
    (talks / "a.vtt").write_text(vtt("One.", "talk_id: x\ntitle: Same"))
    run(talks / "a.vtt")
    (talks / "b.vtt").write_text(vtt("Two.", "talk_id: x\ntitle: SAME"))
    report = run(talks / "b.vtt")
    assert outcome(report) == [("x", "replaced")]
    assert report.files[0].warnings == (
        f"{talks / 'b.vtt'}: replaces talk x as read from {(talks / 'a.vtt').resolve()}",
    )
    (talks / "c.vtt").write_text(vtt("Three.", "talk_id: x\ntitle: Different"))
    for expected in ("added", "unchanged"):
        assert outcome(run(talks / "c.vtt")) == [("x-2", expected)]
    (talks / "d.vtt").write_text(vtt("Four.", "talk_id: x\ntitle: Third\nmedia: https://x.org/1"))
    assert outcome(run(talks / "d.vtt")) == [("x-3", "added")]
    (talks / "e.vtt").write_text(vtt("Five.", "talk_id: x\ntitle: Fourth\nmedia: https://x.org/1"))
    assert outcome(run(talks / "e.vtt")) == [("x-3", "replaced")]
    assert {talk_id: library.get(talk_id).title for talk_id in library.ids()} == {
        "x": "SAME",
        "x-2": "Different",
        "x-3": "Fourth",
    }


def test_two_files_of_one_name_are_two_talks(talks: Path, run: Callable[..., Report]) -> None:
    for year in ("2024", "2025"):
        (talks / year).mkdir()
        (talks / year / "keynote.vtt").write_text(vtt(f"Welcome to {year}."))
    assert outcome(run(talks)) == [("keynote", "added"), ("keynote-2", "added")]
    assert outcome(run(talks)) == [("keynote", "unchanged"), ("keynote-2", "unchanged")]


def test_two_talks_of_one_id_in_one_file(talks: Path, run: Callable[..., Report]) -> None:
    cues = [{"start": 0, "end": 1, "text": "Hi."}]
    rows = [{"talk_id": "x", "title": title, "cues": cues} for title in ("A", "B")]
    (talks / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert outcome(run(talks)) == [("x", "added"), ("x-2", "added")]
    assert outcome(run(talks)) == [("x", "unchanged"), ("x-2", "unchanged")]


def test_a_renamed_file_keeps_its_talk(talks: Path, tmp_path: Path, library: Library) -> None:
    (talks / "old.vtt").write_text(vtt("One and only."))
    writer = FakeWriter(tmp_path / "home")
    ingest([talks], writer)
    (talks / "old.vtt").rename(talks / "new.vtt")
    report = ingest([talks], writer, Options(prune=True))
    assert [entry.talk_id for entry in report.files] == ["old"]
    assert report.removed == ()
    assert library.ids() == ["old"]
    assert library.get("old").source == str((talks / "new.vtt").resolve())
    assert ingest([talks], writer).files[0].status == "unchanged"


def test_a_moved_file_is_not_pruned(talks: Path, tmp_path: Path, library: Library) -> None:
    (talks / "a.vtt").write_text(vtt("One and only."))
    writer = FakeWriter(tmp_path / "home")
    ingest([talks], writer)
    (talks / "sub").mkdir()
    (talks / "a.vtt").rename(talks / "sub/a.vtt")
    assert outcome(ingest([talks], writer, Options(prune=True))) == [("a", "unchanged")]
    assert library.get("a").source == str((talks / "sub/a.vtt").resolve())
    assert writer.embedded == ["a"]


def test_prune_removes_what_is_gone_but_no_unplugged_disk(
    talks: Path, run: Callable[..., Report], library: Library
) -> None:
    disk = talks.parent / "disk"
    disk.mkdir()
    for file in (talks / "a.vtt", talks / "b.vtt", disk / "c.vtt"):
        file.write_text(vtt(f"This is {file.name}."))
    run(talks, disk)
    (talks / "a.vtt").unlink()
    (disk / "c.vtt").unlink()
    disk.rmdir()
    report = run(talks)
    assert report.removed == ()
    report = run(talks, prune=True)
    assert report.removed == (f"a: {(talks / 'a.vtt').resolve()} is gone",)
    assert library.ids() == ["b", "c"]
    run(disk, prune=True)
    assert library.ids() == ["b"]


def test_options_for_one_talk_refuse_several(talks: Path, run: Callable[..., Report]) -> None:
    (talks / "a.vtt").write_text(vtt("A."))
    assert outcome(run(talks, talk_id="x")) == [("x", "added")]
    (talks / "b.vtt").write_text(vtt("B."))
    with pytest.raises(UsageError, match="describe one talk, 2 were found"):
        run(talks, talk_id="x")


def test_uploads_leave_no_path_and_do_not_replace_each_other(
    talks: Path, run: Callable[..., Report], library: Library
) -> None:
    for number in (1, 2):
        (talks / str(number)).mkdir()
        (talks / str(number) / "talk.vtt").write_text(vtt(f"Number {number}.", f"title: Title {number}"))
        run(talks / str(number) / "talk.vtt", is_upload=True)
    assert library.ids() == ["title-1", "title-2"]
    assert library.get("title-1").source == "upload: talk.vtt"
    run(talks, prune=True, is_upload=True)
    assert library.ids() == ["title-1", "title-2"]


def test_the_report_on_an_upload_names_files_as_they_were_uploaded(talks: Path, run: Callable[..., Report]) -> None:
    with zipfile.ZipFile(talks / "a.zip", "w") as archive:
        archive.writestr("in/one.vtt", vtt("Hi.", "title: One"))
        archive.writestr("in/two.vtt", "no captions")
    (talks / "b.vtt").write_text("no captions")
    report = run(talks / "a.zip", talks / "b.vtt", is_upload=True)
    assert {entry.path for entry in report.files} == {"a.zip/in/one.vtt", "a.zip/in/two.vtt", "b.vtt"}
    assert str(talks) not in str(report)


@pytest.mark.parametrize(
    ("media", "kept"), [("/srv/private.mp3", ""), ("../x.mp3", ""), ("https://x.org/a.mp3", "https://x.org/a.mp3")]
)
def test_an_upload_names_no_file_of_this_machine(
    talks: Path, run: Callable[..., Report], library: Library, media: str, kept: str
) -> None:
    (talks / "a.vtt").write_text(vtt("Hi.", f"title: A\nmedia: {media}\ntalk_id: a"))
    run(talks / "a.vtt", is_upload=True)
    assert library.get("a").media == kept


def test_warnings_about_a_talk(talks: Path) -> None:
    words = " ".join(["wir haben das gestern gemessen und es war schneller"] * 8)
    (talks / "a.srt").write_text(
        f"1\n00:00:10,000 --> 00:00:20,000\n{words}\n\n2\n00:00:12,000 --> 00:00:21,000\nja\n\n"
        "3\n00:00:05,000 --> 00:00:06,000\nnein\n"
    )
    (talks / "a.info.json").write_text('{"title": "T", "duration": 11}')
    [entry] = check([talks], Options(model_languages=frozenset({"en"}))).files
    assert entry.status == "checked"
    assert [warning.removeprefix(str(talks / "a.srt")) for warning in entry.warnings] == [
        ":10: time runs backwards, from 12000 ms to 5000 ms",
        ": 1 captions overlap the next one",
        ": 1 captions start past the end of the recording (11 s)",
        ": no punctuation; cues were cut at pauses and by length",
        ": language de: the embedding model speaks en only; set RAG_EMBED_MODEL to a multilingual model",
    ]


class Recorder:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def start(self, files: int) -> None:
        self.seen.append(files)

    def finish(self, entry: FileReport) -> None:
        self.seen.append(entry.status)


def test_progress_counts_files(talks: Path, tmp_path: Path) -> None:
    (talks / "a.vtt").write_text(vtt("A."))
    (talks / "b.vtt").write_text("no")
    progress = Recorder()
    ingest([talks], FakeWriter(tmp_path / "home"), progress=progress)
    assert progress.seen == [2, "added", "failed"]


def test_stored_before_the_next_file_is_read(talks: Path, tmp_path: Path) -> None:
    """What was reported as stored survives an interruption."""

    class Full(FakeWriter):
        def put(self, talk: Talk):  # type: ignore[no-untyped-def]
            if talk.id == "b":
                raise KeyboardInterrupt
            return super().put(talk)

    for name in ("a.vtt", "b.vtt"):
        (talks / name).write_text(vtt(f"This is {name}."))
    with pytest.raises(KeyboardInterrupt):
        ingest([talks], Full(tmp_path / "home"))
    assert Library(tmp_path / "home").ids() == ["a"]


def test_a_library_below_the_given_folder_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHi there.\n")
    for expected in ("added", "unchanged"):
        report = ingest([tmp_path], FakeWriter(tmp_path / "home"))
        assert [(Path(entry.path).name, entry.status) for entry in report.files] == [("a.srt", expected)]
        assert report.ignored == ()


NOTED = "WEBVTT\n\nNOTE\ntalk_id: noted\ntitle: Noted\nmedia: {}\n\ns1\n00:00:00.000 --> 00:00:01.000\nHello there.\n"


def stored_media(folder: Path, media: str, options: Options | None = None) -> str:
    (folder / "noted.vtt").write_text(NOTED.format(media))
    writer = FakeWriter(folder / "home")
    ingest([folder / "noted.vtt"], writer, options or Options())
    return writer.library.get("noted").media


def test_a_recording_named_in_the_captions_is_the_file_beside_them(tmp_path: Path) -> None:
    assert stored_media(tmp_path, "talk.mp3") == "talk.mp3"  # not there
    (tmp_path / "talk.mp3").write_bytes(b"ID3")
    assert stored_media(tmp_path, "talk.mp3") == str(tmp_path / "talk.mp3")


@pytest.mark.parametrize("media", ["../secret.mp3", "sub/../../secret.mp3", "./secret.mp3"])
def test_captions_can_not_name_a_recording_elsewhere(tmp_path: Path, media: str) -> None:
    (tmp_path / "secret.mp3").write_bytes(b"ID3")
    (tmp_path / "talks" / "sub").mkdir(parents=True)
    assert stored_media(tmp_path / "talks", media) == media


def test_a_recording_given_by_the_user_is_relative_to_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "talk.mp3").write_bytes(b"ID3")
    monkeypatch.chdir(tmp_path)
    given = Options(media="media/talk.mp3")
    assert stored_media(tmp_path, "https://example.org/x", given) == str(tmp_path / "media" / "talk.mp3")


def test_the_sample_talks_can_be_heard(tmp_path: Path) -> None:
    writer = FakeWriter(tmp_path / "home")
    ingest([ROOT / "eval" / "data" / "talks"], writer)
    assert len(writer.library.ids()) == 3
    for talk_id in writer.library.ids():
        assert (
            recording(writer.library.get(talk_id).media, tmp_path)
            == ROOT / "eval" / "data" / "talks" / f"{talk_id}.mp3"
        )
