"""Uploaded caption files -> library, while the app goes on answering from it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.pipeline import Options, Progress, ingest
from rag.errors import StartError
from rag.index import writing
from rag.manifest import current_manifest
from rag.server import server_of
from rag.settings import Settings

if TYPE_CHECKING:
    from rag.embed import Embedder
    from rag.schema import IngestReport

_log = logging.getLogger(__name__)

# Another process may be in the middle of a large ingest.
_WAIT_S = 600.0
_SIDECAR = ".info.json"


def ingest_uploads(
    files: Sequence[Path], progress: Progress, *, settings: Settings, embedder: Embedder
) -> IngestReport:
    """Store the talks in `files`, all in one folder of their own, and publish them; returns the report.

    `embedder` is the model that the app answers with. An `.info.json` of yt-dlp describes the captions of its name.
    Raises `StartError` when another process writes for too long, or has gone over to another model.
    """
    published = current_manifest(settings.home)
    if published and published.model != embedder.name:
        raise StartError(
            f"{settings.home}: the index is now made with {published.model}, this app still asks with {embedder.name}; "
            "start it again"
        )
    # Descriptions alone are read as if they were captions, so that the report says that they are none.
    captions = [file for file in files if not file.name.lower().endswith(_SIDECAR)] or files
    options = Options(is_upload=True, model_languages=frozenset() if settings.embed_model else frozenset({"en"}))
    with writing(settings.home, embedder, server=server_of(settings), wait_s=_WAIT_S, say=_log.info) as writer:
        report = ingest(captions, writer, options, progress)
    return report.as_json()
