import json
from pathlib import Path

import pytest

from ingest.metadata import iso_date, meta_from_fields, meta_from_name, meta_from_sidecar, stems
from ingest.types import Meta
from rag.types import Chapter


@pytest.mark.parametrize(
    ("name", "title", "media", "language"),
    [
        ("My Talk [dQw4w9WgXcQ].en.vtt", "My Talk", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "en"),
        ("My Talk [-_w4w9WgXcQ].en-GB.json3", "My Talk", "https://www.youtube.com/watch?v=-_w4w9WgXcQ", "en-GB"),
        ("[dQw4w9WgXcQ].srt", "dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", ""),
        ("my_talk.v2.vtt.gz", "my talk.v2", "", ""),
        ("A [short].vtt", "A [short]", "", ""),
        ("page.txt", "page", "", ""),
    ],
)
def test_file_names(name: str, title: str, media: str, language: str) -> None:
    assert meta_from_name(name) == Meta(title=title, media=media, language=language)


def test_stems() -> None:
    assert stems("Talk.en.vtt.gz") == ["Talk.en", "Talk"]
    assert stems("Talk.vtt") == ["Talk"]
    assert stems(".vtt") == [".vtt"]


def test_sidecars(tmp_path: Path) -> None:
    info = {"id": "abc", "title": "From yt-dlp", "channel": "Conf", "upload_date": "20250614", "duration": 61.5}
    info["chapters"] = [{"start_time": 30.5, "title": "B"}, {"start_time": 0, "title": "A"}, {"title": "no time"}]
    (tmp_path / "Talk.info.json").write_text(json.dumps(info))
    (tmp_path / "Talk.json").write_text('{"title": "Own", "speakers": ["Ada", "Bo", "Ada"]}')
    meta = meta_from_sidecar(tmp_path / "Talk.en.vtt")
    assert meta == Meta(
        talk_id="abc",
        title="Own",
        speakers=("Ada", "Bo"),
        event="Conf",
        date="2025-06-14",
        chapters=(Chapter(0, "A"), Chapter(30_500, "B")),
        duration_ms=61_500,
    )


@pytest.mark.parametrize("content", ["{", "[]", '{"segments": []}', '{"title": ' + "[" * 5000, '{"title": {"a": 1}}'])
def test_json_beside_that_is_no_sidecar_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    assert meta_from_sidecar(tmp_path / "x.vtt") == Meta()


def test_a_damaged_info_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.info.json").write_text('{"title": "T"')
    (tmp_path / "x.json").write_text('{"title": "Own"}')
    damaged: list[str] = []
    assert meta_from_sidecar(tmp_path / "x.en.vtt", damaged) == Meta(title="Own")
    assert damaged == ["x.info.json"]


def test_hostile_fields_become_plain_text() -> None:
    meta = meta_from_fields(
        {"title": "a\u202eb\n<b>\0" + "x" * 9999, "speakers": [1, None, " Ada\x1b[31m "], "id": True}
    )
    assert meta.title.startswith("ab <b>\ufffdxxx")
    assert len(meta.title) == 500
    assert meta.speakers == ("Ada[31m",)
    assert meta.talk_id == ""


DATES = {
    "20240230": "",
    "2024-02-29": "2024-02-29",
    "20250614": "2025-06-14",
    "2025-06-14T10:00Z": "2025-06-14",
    "2025-06": "2025-06",
    "2025": "2025",
    "14 June": "",
    "2025-13": "",
    "2025-01-32": "",
    "": "",
}


@pytest.mark.parametrize(("text", "date"), DATES.items())
def test_dates(text: str, date: str) -> None:
    assert iso_date(text) == date
