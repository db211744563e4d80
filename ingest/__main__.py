"""python -m ingest PATH... : read captions, store their talks, say what became of each file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ingest.pipeline import Options, Progress, Quiet, check, ingest, read_file
from ingest.report import Report, located
from ingest.types import Caption
from rag.errors import TalkciteError
from rag.types import Cue

EPILOG = """
Formats: WebVTT, SRT, SBV, LRC, YouTube json3, Whisper/WhisperX/whisper.cpp JSON, transcript pages (text or saved
HTML), JSON Lines; .gz and .zip of these; folders; YouTube addresses (pip install '.[youtube]').
Exit codes: 0 done, 1 some inputs failed, 2 wrong call, 3 can't start.
"""


def main(arguments: Sequence[str] | None = None, prog: str = "python -m ingest") -> int:
    """Run the command and return its exit code. `prog` is its name in usage."""
    parser = _parser(prog)
    call = parser.parse_args(arguments)
    if not (call.paths or call.cues or ((call.prune or call.reembed) and not call.check)):
        parser.error("no PATH given, expected caption files, folders, archives or YouTube addresses")
    for stream in (sys.stdout, sys.stderr):  # a title in any script must not end in a traceback on a narrow terminal
        _never_fail(stream)
    try:
        if call.cues:
            status = _print_cues(call.cues, call.as_read)
            sys.stdout.flush()
            return status
        report = _check(call) if call.check else _ingest(call)
    except TalkciteError as error:
        print(f"ingest: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("ingest: stopped; what was stored until now is kept", file=sys.stderr)
        return 1
    for line in report.errors():
        print(f"ingest: {line}", file=sys.stderr)
    if call.json:
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=1))
    else:
        print("\n".join(report.lines()))
        if not call.check:  # a page that serves another folder would never show these talks
            print(f"library    {_home()}")
    return 1 if report.failed else 0


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Read captions and store their talks.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="caption files, folders, archives, YouTube addresses")
    parser.add_argument("--media", default="", metavar="URL", help="address or file of the recording (one talk)")
    parser.add_argument("--talk-id", default="", metavar="ID", help="id to store the talk under (one talk)")
    parser.add_argument("--lang", default="en", help="language of the captions to take where there is a choice")
    parser.add_argument("--prune", action="store_true", help="remove stored talks whose files are gone")
    parser.add_argument("--reembed", action="store_true", help="embed all stored talks with RAG_EMBED_MODEL")
    parser.add_argument("--wait", type=float, default=60.0, metavar="S", help="wait so long for another ingest to end")
    parser.add_argument("--check", action="store_true", help="only report on the files, store nothing")
    parser.add_argument("--cues", metavar="FILE", default="", help="print the cues of a file as JSON lines")
    parser.add_argument("--as-read", action="store_true", help="with --cues: the captions before sentences are rebuilt")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    return parser


def _never_fail(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _print_cues(path: str, as_read: bool) -> int:
    for reading, cues in read_file(path):
        for problem in reading.problems:
            print(located(path, problem), file=sys.stderr)
        items: Sequence[Caption | Cue] = cues
        if as_read:
            items = sorted(reading.captions, key=lambda caption: caption.start_ms)
        for item in items:
            fields = {"id": item.id, "start_ms": item.start_ms, "end_ms": item.end_ms}
            print(json.dumps({**fields, "text": item.text, "speaker": item.speaker}, ensure_ascii=False))
    return 0


def _check(call: argparse.Namespace) -> Report:
    with _progress(call.json) as progress:
        return check(call.paths, _options(call), progress)


def _ingest(call: argparse.Namespace) -> Report:
    # Here and not above: these load torch and chromadb for seconds, which --help, --check and --cues don't need.
    from rag.embed import LazyEmbedder, canonical_name
    from rag.index import writing
    from rag.manifest import current_manifest
    from rag.server import server_of
    from rag.settings import settings

    current = settings()
    wanted = canonical_name(current.embed_model)
    published = current_manifest(current.home)
    serving = published.model if published else wanted
    if serving != wanted and not call.reembed:
        _say(f"the index was made with {serving}, which goes on serving; --reembed changes every talk to {wanted}")
    model = wanted if call.reembed else serving
    embedder = LazyEmbedder(model, published.dim if published and published.model == model else 0)
    server = server_of(current)
    with (
        writing(current.home, embedder, server=server, wait_s=call.wait, say=_say) as writer,
        _progress(call.json) as progress,
    ):
        if call.reembed:
            _say(f"{writer.reembed()} talks embedded with {embedder.name}")
        return ingest(call.paths, writer, _options(call, speaks_english_only=not current.embed_model), progress)


def _home() -> Path:
    from rag.settings import settings

    return settings().home.absolute()


def _options(call: argparse.Namespace, speaks_english_only: bool = True) -> Options:
    return Options(
        media=call.media,
        talk_id=call.talk_id,
        lang=call.lang,
        prune=call.prune,
        model_languages=frozenset({"en"}) if speaks_english_only else frozenset(),
    )


@contextmanager
def _progress(is_quiet: bool) -> Iterator[Progress]:
    if is_quiet or not sys.stderr.isatty():
        yield Quiet()
        return
    from ingest.progress import Bar  # rich takes longer to load than a short file to read

    with Bar() as bar:
        yield bar


def _say(line: str) -> None:
    print(f"ingest: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
