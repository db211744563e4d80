"""Paths -> the caption files behind them: files, folders, .gz and .zip, opened one by one and never beyond a limit."""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from ingest.metadata import CAPTION_ENDINGS, meta_from_name, stems
from ingest.read import MAX_BYTES, looks_like_captions
from ingest.text import printable
from ingest.types import Meta, Unreadable

MAX_MEMBERS = 10_000
_MAX_ARCHIVE_BYTES = 10 * MAX_BYTES
_PEEK = 4096
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_ENCRYPTED = 0x1  # bit of a member's flags


NOTHING_KNOWN = Meta()


@dataclass(frozen=True, slots=True)
class Source:
    """A caption file, or one inside an archive, that has not been opened yet.

    `path` is what the user gets to see, `name` the file's own name, `origin` where it is for good (absolute). `file`
    is the file whose neighbours may describe it; None for a download. `meta` is what is already known of the talk.
    `is_named` tells files that the user named from those met in a folder or archive.
    """

    path: str
    name: str
    origin: str
    load: Callable[[], bytes]
    file: Path | None = None
    meta: Meta = NOTHING_KNOWN
    is_named: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", printable(self.path))  # a name in an archive may hold line breaks and worse


@dataclass(frozen=True, slots=True)
class Missing:
    """A path, or a part of it, that can't be opened, and why."""

    path: str
    why: str


def find_sources(path: str) -> Iterator[Source | Missing]:
    """The caption files behind one path, in a fixed order."""
    given = Path(path)
    try:
        if not path:  # which would mean the current folder
            yield Missing(path, "an empty path, expected a file or folder")
        elif given.is_dir():
            yield from _in_folder(given)
        elif given.exists():
            yield from _in_file(given, is_named=True)
        else:
            yield Missing(path, "no such file or folder")
    except OSError as error:
        yield Missing(path, f"can't be read ({error.strerror or error})")


def same_talk_groups(sources: Sequence[Source], lang: str) -> list[list[Source]]:
    """The sources grouped by talk, best first: `Talk.en.vtt`, `Talk.de.vtt` and `Talk.json` in one folder are one."""
    groups: dict[tuple[str, str], list[Source]] = {}
    for source in sources:
        folder, stem = source.origin.rpartition("/")[0], stems(source.name)[-1].lower()
        groups.setdefault((folder, stem), []).append(source)
    return [sorted(group, key=lambda source: _preference(source.name, lang)) for group in groups.values()]


def _preference(name: str, lang: str) -> tuple[int, int, str]:
    language = meta_from_name(name).language.lower()
    wanted = lang.lower()
    by_language = 0 if language in ("", wanted) else 1 if language.startswith(wanted) else 2
    plain = name.lower().removesuffix(".gz")
    by_format = next((n for n, ending in enumerate(CAPTION_ENDINGS) if plain.endswith(ending)), len(CAPTION_ENDINGS))
    return by_language, by_format, name


def _in_folder(folder: Path) -> Iterator[Source | Missing]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.name.lower().endswith(".info.json"):
            continue
        try:
            if entry.is_dir() and not entry.is_symlink():  # a link to a folder above would never end
                yield from _in_folder(entry)
            elif entry.is_file() and _may_hold_captions(entry):
                yield from _in_file(entry, is_named=False)
        except OSError as error:
            yield Missing(str(entry), f"can't be read ({error.strerror or error})")


def _may_hold_captions(file: Path) -> bool:
    if file.name.lower().endswith((*CAPTION_ENDINGS, ".gz", ".zip")):
        return True
    with file.open("rb") as opened:
        return looks_like_captions(opened.read(_PEEK))


def _in_file(file: Path, is_named: bool) -> Iterator[Source | Missing]:
    with file.open("rb") as opened:
        start = opened.read(len(_ZIP))
    if start == _ZIP:
        yield from _in_zip(file)
        return
    load = _unzipped if start.startswith(_GZIP) else _whole
    yield Source(str(file), file.name, str(file.resolve()), partial(load, file), file, is_named=is_named)


def _whole(file: Path) -> bytes:
    size = file.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(f"{size:,} bytes, the limit is {MAX_BYTES:,}; split the file")
    return file.read_bytes()


def _unzipped(file: Path) -> bytes:
    try:
        with gzip.open(file) as opened:
            data = opened.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise Unreadable(f"damaged .gz file ({error})") from None
    return _within_limit(data)


def _in_zip(file: Path) -> Iterator[Source | Missing]:
    try:
        with zipfile.ZipFile(file) as archive:
            listed = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        yield Missing(str(file), f"damaged .zip file ({error})")
        return
    last = {info.filename: info for info in listed}  # of two with one name the later one counts, as when unpacking
    members = sorted(last.values(), key=lambda info: info.filename)
    for name in sorted({info.filename for info in listed if last[info.filename] is not info}):
        yield Missing(printable(f"{file}/{name}"), "is in the archive more than once; only the last one is read")
    nested = [info.filename for info in members if info.filename.lower().endswith(".zip")]
    yield from (Missing(printable(f"{file}/{name}"), "an archive in an archive; unpack it first") for name in nested)
    members = [info for info in members if info.filename.lower().endswith((*CAPTION_ENDINGS, ".gz"))]
    unpacked = sum(info.file_size for info in members)
    if len(members) > MAX_MEMBERS or unpacked > _MAX_ARCHIVE_BYTES:
        limits = f"{MAX_MEMBERS:,} files and {_MAX_ARCHIVE_BYTES:,} bytes"
        yield Missing(str(file), f"unpacks to {len(members):,} files with {unpacked:,} bytes, the limit is {limits}")
        return
    if not members and not nested:
        yield Missing(str(file), "no caption files in the archive")
    for info in members:
        name = PurePosixPath(info.filename.replace("\\", "/")).name
        if not name.startswith(".") and not name.lower().endswith(".info.json"):
            inside = f"{file}/{info.filename}"
            yield Source(inside, name, f"{file.resolve()}/{info.filename}", partial(_member, file, info))


def _member(file: Path, info: zipfile.ZipInfo) -> bytes:
    """One file of an archive. Its stated size is not believed: reading stops at the limit."""
    if info.flag_bits & _ENCRYPTED:
        raise Unreadable("encrypted in the archive; unpack it first")
    try:
        with zipfile.ZipFile(file) as archive, archive.open(info) as opened:
            data = opened.read(MAX_BYTES + 1)
            if data.startswith(_GZIP):
                data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError) as error:
        raise Unreadable(f"damaged in the archive ({error})") from None
    return _within_limit(data)


def _within_limit(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise Unreadable(f"unpacks to more than {MAX_BYTES:,} bytes, the limit for one file")
    return data
