"""Recordings: which files may be played, and the ranges they are served in."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from rag.web.media import is_video, media_routes, recording
from tests.web.fake_engine import FakeEngine, talk_of

CONTENT = bytes(range(256)) * 8


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "clip é.mp3"
    path.write_bytes(CONTENT)
    return path


def client(*media: str, home: Path = Path("/nowhere")) -> TestClient:
    talks = [talk_of("Hi.", talk_id=f"t{n}", media=name) for n, name in enumerate(media)]
    app = FastAPI()
    app.include_router(media_routes(FakeEngine(talks).talk, home))
    return TestClient(app)


def test_whole_and_ranges(clip: Path) -> None:
    page = client(str(clip))
    whole = page.get("/desk/media/t0")
    assert (whole.status_code, whole.content) == (200, CONTENT)
    assert whole.headers["content-type"] == "audio/mpeg"
    assert whole.headers["accept-ranges"] == "bytes"
    part = page.get("/desk/media/t0", headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, CONTENT[100:200])
    assert part.headers["content-range"] == f"bytes 100-199/{len(CONTENT)}"
    tail = page.get("/desk/media/t0", headers={"Range": "bytes=2000-"})
    assert (tail.status_code, tail.content) == (206, CONTENT[2000:])
    assert page.get("/desk/media/t0", headers={"Range": "bytes=9999-"}).status_code == 416
    head = page.head("/desk/media/t0")
    assert (head.status_code, head.headers["content-length"], head.content) == (200, str(len(CONTENT)), b"")


@pytest.mark.parametrize(
    "talk_id",
    [
        "nobody",
        "..",
        "../t0",
        "%2e%2e%2ft0",
        "/etc/passwd",
        "t0/../../etc/passwd",
        "t0%2f..%2f..%2fetc%2fpasswd",
        "t0\0",
        "%00",
        "t0.mp3",
    ],
)
def test_a_client_can_name_talks_only(clip: Path, talk_id: str) -> None:
    response = client(str(clip)).get(f"/desk/media/{quote(talk_id, safe='%')}")
    assert response.status_code == 404
    assert str(clip.parent) not in response.text


def test_captions_can_not_name_just_any_file(tmp_path: Path, clip: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    folder = tmp_path / "folder.mp3"
    folder.mkdir()
    unplayable = [
        str(secret),
        "/etc/passwd",
        str(tmp_path),
        str(folder),
        clip.name,
        f"../{clip.name}",
        f"file://{clip}",
        f"{clip}\0.mp3",
        "https://example.org/clip.mp3",
        str(tmp_path / "gone.mp3"),
        "",
    ]
    page = client(*unplayable)
    for n, media in enumerate(unplayable):
        assert recording(media, tmp_path) is None
        assert page.get(f"/desk/media/t{n}").status_code == 404


def test_kinds(tmp_path: Path) -> None:
    assert is_video(tmp_path / "a.MP4")
    assert is_video(tmp_path / "a.webm")
    assert not is_video(tmp_path / "a.M4A")
