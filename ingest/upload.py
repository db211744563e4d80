"""Uploaded captions and their recordings -> library, while the app goes on answering from it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.pipeline import Options, Progress, ingest
from ingest.report import FileReport, Report
from rag.errors import StartError
from rag.index import writing
from rag.manifest import current_manifest
from rag.recordings import recording_in
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

    `embedder` is the model that the app answers with. An `.info.json` of yt-dlp describes the captions of its name, and
    a recording of their name is kept in the library; what is a recording, the content says.
    Raises `StartError` when another process writes for too long, or has gone over to another model.
    """
    published = current_manifest(settings.home)
    if published and published.model != embedder.name:
        raise StartError(
            f"{settings.home}: the index is now made with {published.model}, this app still asks with {embedder.name}; "
            "start it again"
        )
    recordings = tuple(found for file in files if (found := recording_in(file)))
    others = [file for file in files if file not in {recording.path for recording in recordings}]
    # Descriptions alone are read as if they were captions, so that the report says that they are none.
    captions = [file for file in others if not file.name.lower().endswith(_SIDECAR)] or others
    languages = frozenset[str]() if settings.embed_model else frozenset({"en"})
    options = Options(is_upload=True, recordings=recordings, model_languages=languages)
    with writing(settings.home, embedder, server=server_of(settings), wait_s=_WAIT_S, say=_log.info) as writer:
        report = ingest(captions, writer, options, progress)
    return _with_unheard(report, [recording.path.name for recording in recordings]).as_json()


def _with_unheard(report: Report, recordings: Sequence[str]) -> Report:
    """`report`, with those of the uploaded recordings that no talk got."""
    heard = {entry.recording for entry in report.files}
    unheard = [name for name in recordings if name not in heard]
    if report.files:
        why = "no captions of its name came with it, or they name a recording elsewhere"
        return replace(report, ignored=(*report.ignored, *((name, why) for name in unheard)))
    errors = [f"{name}: a recording, expected its captions with it; nothing is transcribed here" for name in unheard]
    failed = [FileReport(name, "failed", error=error) for name, error in zip(unheard, errors, strict=True)]
    return replace(report, files=tuple(failed))
