"""Checksums of the files whose damage ends the process that opens them, so that a reader never opens such a folder.

Chroma trusts these two files of its vector index; all other damage it reports as an error. Once they hold anything,
which the file beside them tells, opening a folder does not change them, while it does write to others.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from rag.files import write_whole

_TRUSTED = ("data_level0.bin", "link_lists.bin")
_HOLDS_SOMETHING = "index_metadata.pickle"  # before it is there, all is in the log, and the two are made anew each time
_NAME = "seal.json"
_CHUNK = 1 << 20


def write_seal(generation: Path) -> None:
    """Note the checksums of a generation that was found sound, before it is published."""
    content = json.dumps(_checksums(generation), indent=1).encode()
    write_whole(generation / _NAME, lambda file: file.write(content))


def broken_seal(generation: Path) -> str:
    """Which file is not what it was when the generation was published, as one line; "" when all are, or none noted."""
    try:
        noted = json.loads((generation / _NAME).read_bytes())
    except (OSError, ValueError):
        return ""
    found = _checksums(generation)
    changed = sorted(name for name in {*noted, *found} if noted.get(name) != found.get(name))
    return f"{generation / changed[0]}: damaged, not what was published" if changed else ""


def _checksums(generation: Path) -> dict[str, int]:
    return {
        path.relative_to(generation).as_posix(): _checksum(path)
        for path in sorted((generation / "chroma").glob("*/*.bin"))
        if path.name in _TRUSTED and path.with_name(_HOLDS_SOMETHING).exists()
    }


def _checksum(path: Path) -> int:
    total = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total = zlib.crc32(chunk, total)
    return total
