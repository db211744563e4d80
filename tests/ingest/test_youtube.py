"""Fetching captions through yt-dlp itself, from a small site on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ingest.pipeline import Options, ingest
from ingest.types import Meta
from rag.library import Library
from tests.ingest.fake_writer import FakeWriter

yt_dlp = pytest.importorskip("yt_dlp", reason="the extra [youtube] is not installed")

PAGE = "<html><head><title>{title}</title></head><body><video src='/v.mp4'>{tracks}</video></body></html>"
ENGLISH = "<track kind='subtitles' srclang='en' src='/en.vtt'>"
GERMAN = "<track kind='subtitles' srclang='de' src='/de.vtt'>"
FEED = (
    "<?xml version='1.0'?><rss version='2.0'><channel><title>All</title>"
    "<item><title>1</title><link>{base}/talk.html</link></item>"
    "<item><title>2</title><link>{base}/silent.html</link></item>"
    "<item><title>3</title><link>{base}/private.html</link></item></channel></rss>"
)
FILES = {
    "/talk.html": ("text/html", PAGE.format(title="A Talk", tracks=ENGLISH + GERMAN)),
    "/silent.html": ("text/html", PAGE.format(title="No words", tracks="")),
    "/german.html": ("text/html", PAGE.format(title="Auf Deutsch", tracks=GERMAN)),
    "/torn.html": ("text/html", PAGE.format(title="Torn", tracks=ENGLISH.replace("/en.vtt", "/gone.vtt"))),
    "/en.vtt": ("text/vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHello from loopback.\n"),
    "/de.vtt": ("text/vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHallo.\n"),
    "/v.mp4": ("video/mp4", "x"),
    "/feed.xml": ("application/rss+xml", FEED),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind, content = FILES.get(self.path, ("", ""))
        self.send_response(200 if kind else 403 if "private" in self.path else 404)
        body = content.replace("{base}", f"http://{self.headers['Host']}").encode()
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_page_with_a_video_and_a_track(site: str, tmp_path: Path) -> None:
    writer = FakeWriter(tmp_path)
    [entry] = ingest([f"{site}/talk.html"], writer).files
    assert (entry.status, entry.error) == ("added", "")
    assert entry.title.startswith("A Talk")  # yt-dlp counts the videos of an ordinary page
    talk = Library(tmp_path).get(entry.talk_id)
    assert [cue.text for cue in talk.cues] == ["Hello from loopback."]
    assert (talk.media, talk.source, talk.language) == (f"{site}/talk.html", f"{site}/talk.html", "en")
    assert ingest([f"{site}/talk.html"], writer).files[0].status == "unchanged"


def test_the_language_that_is_asked_for(site: str, tmp_path: Path) -> None:
    [entry] = ingest([f"{site}/talk.html"], FakeWriter(tmp_path), Options(lang="de")).files
    assert Library(tmp_path).get(entry.talk_id).cues[0].text == "Hallo."


def test_each_refusal_is_one_line_and_the_others_go_on(site: str, tmp_path: Path) -> None:
    addresses = [f"{site}/{page}.html" for page in ("silent", "german", "torn", "private", "talk")]
    report = ingest([*addresses, "http://127.0.0.1:9/none"], FakeWriter(tmp_path))
    by_address = {entry.path: entry for entry in report.files}
    assert by_address[addresses[0]].error == f"{addresses[0]}: no captions"
    assert by_address[addresses[1]].error == f"{addresses[1]}: no captions in 'en'; there are de, choose with --lang"
    assert "the caption track can't be fetched (HTTP Error 404" in by_address[addresses[2]].error
    assert "403" in by_address[addresses[3]].error
    assert by_address[addresses[4]].status == "added"
    assert by_address["http://127.0.0.1:9/none"].status == "failed"
    assert all("\n" not in entry.error and "ERROR" not in entry.error for entry in report.files)


def test_a_playlist(site: str, tmp_path: Path) -> None:
    report = ingest([f"{site}/feed.xml"], FakeWriter(tmp_path))
    assert sorted(entry.status for entry in report.files) == ["added", "failed", "failed"]


def test_people_before_machines_and_the_spoken_language_before_a_translation() -> None:
    from ingest.sources import Missing, Source
    from ingest.youtube import _track

    def chosen(subtitles: dict[str, list[str]], automatic: dict[str, list[str]]) -> str:
        def listed(tracks: dict[str, list[str]]) -> dict[str, list[dict[str, str]]]:
            return {key: [{"ext": ext, "data": f"{key}.{ext}"} for ext in exts] for key, exts in tracks.items()}

        info = {"id": "x", "title": "T", "subtitles": listed(subtitles), "automatic_captions": listed(automatic)}
        found = _track(None, "a", info, "en")
        if isinstance(found, Missing):
            return found.why
        assert isinstance(found, Source)
        assert found.meta == Meta(talk_id="x", title="T", language=found.meta.language, media="a")
        return found.load().decode()

    assert chosen({"en": ["vtt", "json3"]}, {"en": ["vtt"]}) == "en.json3"
    assert chosen({"de": ["vtt"]}, {"en": ["vtt"], "en-orig": ["srv1", "vtt"]}) == "en-orig.vtt"
    assert chosen({"en-GB": ["vtt"]}, {"en": ["vtt"]}) == "en-GB.vtt"
    assert chosen({"de": ["vtt"], "live_chat": ["json"]}, {}) == "no captions in 'en'; there are de, choose with --lang"
    assert chosen({}, {}) == "no captions"
