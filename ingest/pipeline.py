"""The whole way: paths -> sources -> readings -> talks -> library, with a report. Prints nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ingest.health import warnings_for
from ingest.identity import UPLOAD, Draft, Identities, id_from_media, id_from_title, safe_id
from ingest.language import language_of
from ingest.metadata import meta_from_name, meta_from_sidecar
from ingest.read import read_bytes
from ingest.recordings import media_of, media_uploaded, uploaded_with
from ingest.report import FileReport, Report, Status, listed, located
from ingest.sentences import is_own_cutting, to_cues
from ingest.sources import Missing, Source, find_sources, same_talk_groups
from ingest.types import Meta, NotCaptions, Problem, Reading, Unreadable
from ingest.youtube import find_tracks
from rag.errors import UsageError
from rag.links import is_address
from rag.recordings import Recording, keep
from rag.types import Cue, Talk

if TYPE_CHECKING:  # importing it loads numpy, which a health report does without
    from rag.library import Library


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller decides.

    `media` and `talk_id` hold for a single talk. `lang` is the language wanted where there is a choice.
    `model_languages` is what the embedding model speaks, empty when not known. `is_upload` keeps the files' passing
    place out of library and report; `recordings` came with them. `prune` removes talks whose files are gone.
    """

    media: str = ""
    talk_id: str = ""
    lang: str = "en"
    prune: bool = False
    is_upload: bool = False
    recordings: tuple[Recording, ...] = ()
    model_languages: frozenset[str] = frozenset()


class Progress(Protocol):
    """Told how far an ingest is."""

    def start(self, files: int) -> None:
        """So many files will be read."""

    def finish(self, entry: FileReport) -> None:
        """One of them, or a talk in it, is done."""


class Quiet:
    """Progress for nobody."""

    def start(self, files: int) -> None:
        """Say nothing."""

    def finish(self, entry: FileReport) -> None:
        """Say nothing."""


class TalkWriter(Protocol):
    """What `rag.index.writing` hands out, as far as it is used here."""

    @property
    def library(self) -> Library:
        """The library that is written to."""

    def put(self, talk: Talk) -> Status:
        """Store or replace a talk."""

    def remove(self, talk_id: str) -> None:
        """Forget a talk."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A talk that was read, what is to be reported about it, and the recording that was uploaded with it."""

    draft: Draft
    report: FileReport
    recording: Recording | None


def ingest(
    paths: Sequence[str | Path],
    writer: TalkWriter,
    options: Options = Options(),
    progress: Progress = Quiet(),  # noqa: B008
) -> Report:
    """Read everything behind `paths` and store it, talk by talk; one bad file never stops the others.

    Raises `UsageError` when options for a single talk meet several.
    """
    identities = Identities(writer.library)
    files: list[FileReport] = []
    ignored: list[tuple[str, str]] = []
    home = writer.library.home.resolve()
    own = [home / "talks", home / "superseded"]  # the library may lie below a given folder: it is no input
    for entry in _read_all(paths, options, progress, ignored, own):
        report = entry if isinstance(entry, FileReport) else _store(entry, writer, identities, options)
        files.append(report)
        progress.finish(report)
    removed = _prune(paths, writer, identities) if options.prune else []
    if not options.prune:  # after pruning, a folder without captions is what was asked for
        files += _without_captions(paths, files)
    return Report(tuple(files), tuple(ignored), tuple(removed))


def check(paths: Sequence[str | Path], options: Options = Options(), progress: Progress = Quiet()) -> Report:  # noqa: B008
    """The health report of everything behind `paths`; nothing is stored."""
    files: list[FileReport] = []
    ignored: list[tuple[str, str]] = []
    for entry in _read_all(paths, options, progress, ignored):
        files.append(entry if isinstance(entry, FileReport) else entry.report)
        progress.finish(files[-1])
    files += _without_captions(paths, files)
    return Report(tuple(files), tuple(ignored))


def _without_captions(paths: Sequence[str | Path], files: Sequence[FileReport]) -> list[FileReport]:
    """An entry for each given folder in which nothing was found: silence would look like success."""
    why = "no captions in this folder, expected .vtt, .srt or another caption format"
    return [
        FileReport(str(path), "failed", error=f"{path}: {why}")
        for path in paths
        if Path(path).is_dir() and not any(Path(entry.path).is_relative_to(path) for entry in files)
    ]


def read_file(path: str) -> list[tuple[Reading, list[Cue]]]:
    """The talks of one file, as read and as cues. Raises `InputError` with `path:line: what` when it can't be read."""
    found = list(find_sources(path))
    if len(found) != 1 or isinstance(found[0], Missing):
        why = found[0].why if found and isinstance(found[0], Missing) else f"{len(found)} files, expected one"
        raise Unreadable(f"{path}: {why}")
    try:
        readings = read_bytes(found[0].load(), found[0].name)
    except Unreadable as error:
        raise Unreadable(located(path, Problem(error.line, str(error)))) from error
    return [(reading, to_cues(reading, _language(reading, meta_from_name(found[0].name)))) for reading in readings]


def _read_all(
    paths: Sequence[str | Path],
    options: Options,
    progress: Progress,
    ignored: list[tuple[str, str]],
    leave_out: Sequence[Path] = (),
) -> Iterator[_Read | FileReport]:
    sources: list[Source] = []
    missing: list[Missing] = []
    seen: set[str] = set()
    for path in paths:
        for found in find_tracks(str(path), options.lang) if is_address(str(path)) else find_sources(str(path)):
            if options.is_upload:
                found = replace(found, path=found.path.removeprefix(f"{Path(path).parent}/"))
            if isinstance(found, Missing):
                missing.append(found)
            elif found.origin not in seen and not any(Path(found.origin).is_relative_to(own) for own in leave_out):
                seen.add(found.origin)
                sources.append(found)
    groups = same_talk_groups(sources, options.lang)
    if (options.media or options.talk_id) and len(groups) > 1:
        raise UsageError(f"--media and --talk-id describe one talk, {len(groups)} were found; ingest them one by one")
    progress.start(len(groups) + len(missing))
    yield from (FileReport(entry.path, "failed", error=f"{entry.path}: {entry.why}") for entry in missing)
    for group in groups:
        yield from _read_group(group, options, ignored)


def _read_group(group: list[Source], options: Options, ignored: list[tuple[str, str]]) -> Iterator[_Read | FileReport]:
    """The talks of the first file of a group that can be read; the others hold the same talk."""
    chosen: _Read | None = None
    for source in group:
        if chosen is not None:
            ignored.append((source.path, f"the same talk as {chosen.report.path}"))
            continue
        try:
            entries = _read_source(source, options)
        except NotCaptions as error:
            if source.is_named:
                yield _failed(source, error.line, str(error))
            else:
                ignored.append((source.path, str(error)))
        except Unreadable as error:
            yield _failed(source, error.line, str(error))
        except OSError as error:
            yield _failed(source, 0, f"can't be read ({error.strerror or error})")
        else:
            chosen = entries[0]
            yield from entries


def _failed(source: Source, line: int, what: str) -> FileReport:
    return FileReport(source.path, "failed", error=located(source.path, Problem(line, what)))


def _read_source(source: Source, options: Options) -> list[_Read]:
    readings = read_bytes(source.load(), source.name)
    if options.talk_id and len(readings) > 1:
        raise UsageError(f"{source.path}: --talk-id names one talk, the file holds {len(readings)}")
    return [_read_talk(source, reading, options, is_alone=len(readings) == 1) for reading in readings]


def _read_talk(source: Source, reading: Reading, options: Options, is_alone: bool) -> _Read:
    named = meta_from_name(source.name)
    damaged: list[str] = []
    beside = meta_from_sidecar(source.file, damaged) if source.file and is_alone else Meta()
    given = Meta(talk_id=options.talk_id, media=options.media).or_else(source.meta).or_else(beside)
    meta = given.or_else(reading.meta).or_else(named)
    language = _language(reading, meta)
    cues = tuple(to_cues(reading, language))
    recording = uploaded_with(meta.media, source, options.recordings) if is_alone else None
    stated = meta.media
    media = (
        media_uploaded(stated, recording) if options.is_upload else media_of(stated, source, options.media, is_alone)
    )
    talk = Talk(
        id=safe_id(meta.talk_id) if meta.talk_id else id_from_media(media) or id_from_title(meta.title),
        title=meta.title,
        cues=cues,
        speakers=meta.speakers or tuple(dict.fromkeys(cue.speaker for cue in cues if cue.speaker)),
        event=meta.event,
        date=meta.date,
        language=language,
        media=media,
        source=f"{UPLOAD}{source.name}" if options.is_upload else source.origin,
        chapters=meta.chapters,
    )
    draft = Draft(talk, bool(meta.talk_id), not given.or_else(reading.meta).title, is_alone)
    lost = [problem for problem in reading.problems if problem.lost]
    noted = [problem for problem in reading.problems if not problem.lost]
    noted += [Problem(0, f"{name} beside it can't be read, expected a JSON object of yt-dlp") for name in damaged]
    noted += warnings_for(reading, talk, meta.duration_ms, options.model_languages)
    report = FileReport(
        path=source.path,
        status="checked",
        talk_id=talk.id,
        title=talk.title,
        language=language,
        cues=len(cues),
        duration_ms=talk.duration_ms,
        repaired=_repaired(reading, cues),
        skipped=listed(source.path, lost),
        warnings=listed(source.path, noted),
        recording=recording.path.name if recording else "",
    )
    return _Read(draft, report, recording)


def _language(reading: Reading, meta: Meta) -> str:
    return language_of((caption.text for caption in reading.captions), meta.language or reading.meta.language)


def _repaired(reading: Reading, cues: Sequence[Cue]) -> tuple[str, ...]:
    lines = []
    if reading.repeats:
        lines.append(f"{reading.repeats:,} repeated lines of scrolling captions removed")
    if not is_own_cutting(reading):
        lines.append(f"{len(cues):,} sentences rebuilt from {len(reading.captions):,} captions")
    return tuple(lines)


def _store(entry: _Read, writer: TalkWriter, identities: Identities, options: Options) -> FileReport:
    talk_id, note = identities.settle(entry.draft)
    talk = replace(entry.draft.talk, id=talk_id)
    if options.is_upload and not talk.media and (old := writer.library.sound_record(talk_id)):
        talk = replace(talk, media=old.talk.media)  # corrected captions come without the recording
    if entry.recording is not None:
        keep(entry.recording, writer.library.home)
    notes = [note] if note else []
    for former in identities.former_ids(entry.draft, talk_id):
        writer.remove(former)
        identities.forget(former)
        notes.append(f"was stored as {former}")
    status = writer.put(talk)
    stored = writer.library.record(talk_id)
    if status == "unchanged" and stored is not None and stored.talk.source != talk.source:
        writer.library.put(replace(stored, talk=talk))  # the file has moved, nothing else
    warnings = (*(f"{entry.report.path}: {note}" for note in notes), *entry.report.warnings)
    return replace(entry.report, talk_id=talk_id, status=status, warnings=warnings)


def _prune(paths: Sequence[str | Path], writer: TalkWriter, identities: Identities) -> list[str]:
    removed = []
    for talk_id, source in identities.gone([Path(path).resolve() for path in paths if not is_address(str(path))]):
        writer.remove(talk_id)
        identities.forget(talk_id)
        removed.append(f"{talk_id}: {source} is gone")
    return removed
