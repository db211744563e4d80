"""`python -m rag`: ask, search and look at the library from the shell. Data goes to stdout, talk to stderr."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.errors import StartError, TalkciteError, UsageError
from rag.files import check_home
from rag.history import read_history
from rag.links import timecode
from rag.settings import settings
from rag.show import answer_lines, moment_lines
from rag.text import one_line
from rag.types import Filters
from rag.user_command import add_arguments, change

if TYPE_CHECKING:
    from rag.engine import Engine
    from rag.manifest import TalkInfo


def main(arguments: Sequence[str] | None = None, prog: str = "python -m rag") -> int:
    """Run one command and return its exit code; every error becomes one line on stderr. `prog` is its name in usage."""
    args = _parser(prog).parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], int] = args.command
        return command(args)
    except TalkciteError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of our output went away, as in `… | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="Ask recorded talks a question.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    ask = commands.add_parser("ask", help="answer a question with citations")
    ask.add_argument("question")
    ask.add_argument(
        "--history", type=Path, metavar="FILE", help='earlier turns: [{"role": "user", "content": "…"}, …]'
    )
    _add_filters(ask)
    _add_json(ask, _ask)

    search = commands.add_parser("search", help="find the moments that match best")
    search.add_argument("query")
    search.add_argument("-k", type=int, default=None, metavar="N", help="how many moments (default RAG_TOP_K)")
    _add_filters(search)
    _add_json(search, _search)

    _add_json(commands.add_parser("talks", help="list the talks in the library"), _talks)

    transcript = commands.add_parser("transcript", help="print a talk")
    transcript.add_argument("talk", metavar="TALK")
    _add_json(transcript, _transcript)

    export = commands.add_parser("export", help="write the corpus as one JSON Lines file, or one talk as WebVTT")
    export.add_argument("--talk", default="", metavar="ID", help="only this talk, as WebVTT")
    export.add_argument("out", type=Path, metavar="OUT")
    _add_json(export, _export)

    remove = commands.add_parser("remove", help="remove a talk from the library")
    remove.add_argument("talk", metavar="TALK")
    remove.add_argument("--wait", type=float, default=30.0, metavar="S", help="seconds to wait for another writer")
    _add_json(remove, _remove)

    doctor = commands.add_parser("doctor", help="look for damage, and say how to repair it")
    doctor.add_argument("--repair", action="store_true", help="repair what can be repaired, then look again")
    doctor.add_argument("--wait", type=float, default=60.0, metavar="S", help="seconds to wait for another writer")
    _add_json(doctor, _doctor)

    model = commands.add_parser("model", help="the language model for RAG_LLM=local")
    fetch = model.add_subparsers(required=True, metavar="COMMAND").add_parser("fetch", help="download it, once")
    _add_json(fetch, _fetch_model)

    user = commands.add_parser("user", help="say who may sign in to the page and use the API (RAG_AUTH)")
    add_arguments(user)
    _add_json(user, _user)

    mcp = commands.add_parser("mcp", help="serve the library to other programs' assistants (MCP, on stdin and stdout)")
    mcp.set_defaults(command=_mcp)
    return parser


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--talk", default="", metavar="ID", help="only this talk")
    parser.add_argument("--speaker", default="", metavar="NAME", help="only what this person says")
    parser.add_argument("--event", default="", metavar="E", help="only talks of this event")
    parser.add_argument("--year", default="", metavar="Y", help="only talks of this year")


def _add_json(parser: argparse.ArgumentParser, command: Callable[[argparse.Namespace], int]) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.set_defaults(command=command)


def _ask(args: argparse.Namespace) -> int:
    history = read_history(args.history) if args.history else ()
    with _engine() as engine:
        answer = None
        for answer in engine.ask(args.question, _filters(args), history):  # noqa: B007  (the last one is complete)
            pass
        assert answer is not None, "ask() always yields a finished answer"
        if args.json:
            _print_json(_wire().answer(answer))
        else:
            if answer.notice:
                print(answer.notice, file=sys.stderr)
            if answer.searched != answer.question:
                print(f"searched: {one_line(answer.searched)}", file=sys.stderr)
            print("\n".join(answer_lines(answer, _wire())))
    return 0


def _search(args: argparse.Namespace) -> int:
    from rag.schema import MAX_HITS

    if args.k is not None and not 1 <= args.k <= MAX_HITS:
        raise UsageError(f"-k: found {args.k}, expected 1 to {MAX_HITS}")
    with _engine() as engine:
        found = engine.evidence(args.query, args.k, _filters(args))
    if found.notice:
        print(found.notice, file=sys.stderr)
    if args.json:
        _print_json(_wire().search(args.query, found))
    else:
        for hit in found.hits:
            print("\n".join(moment_lines(hit, _wire())))
        if not found.hits:
            print("nothing found", file=sys.stderr)
    return 0


def _talks(args: argparse.Namespace) -> int:
    from rag.reader import published_talks
    from rag.wire import talk_json

    infos: list[TalkInfo] = published_talks(_home())
    if args.json:
        _print_json([talk_json(info) for info in infos])
    for info in () if args.json else infos:
        details = [timecode(info.duration_ms), info.date, ", ".join(info.speakers)]
        print(f"{info.id}\t{one_line(info.title)}\t" + "\t".join(one_line(detail) for detail in details))
    if not infos:
        print(f"{settings().home}: no talks yet; add some with 'python -m ingest PATH'", file=sys.stderr)
    return 0


def _transcript(args: argparse.Namespace) -> int:
    from rag.library import Library
    from rag.wire import transcript_json

    talk = Library(_home()).get(args.talk)
    if args.json:
        _print_json(transcript_json(talk))
        return 0
    print(f"{one_line(talk.title)}\n")
    speaker = ""
    for cue in talk.cues:
        if cue.speaker and cue.speaker != speaker:
            speaker = cue.speaker
            print(f"\n{one_line(speaker)}:")
        print(f"{timecode(cue.start_ms):>8}  {cue.id:<6} {one_line(cue.text)}")
    return 0


def _export(args: argparse.Namespace) -> int:
    from rag.export import corpus_lines, talk_vtt
    from rag.files import write_whole
    from rag.library import Library

    library = Library(_home())
    ids = [args.talk] if args.talk else library.ids()
    talks = [library.get(talk_id) for talk_id in ids]
    text = talk_vtt(talks[0]) if args.talk else "".join(f"{line}\n" for line in corpus_lines(talks))
    write_whole(args.out, lambda file: file.write(text.encode()))
    if args.json:
        _print_json({"path": str(args.out), "talks": ids})
    else:
        print(f"{args.out}: {len(talks)} talks", file=sys.stderr)
    return 0


def _remove(args: argparse.Namespace) -> int:
    from rag.index import removing
    from rag.server import server_of

    server = server_of(settings())
    removing(settings().home, args.talk, server=server, wait_s=args.wait, say=lambda line: print(line, file=sys.stderr))
    if args.json:
        _print_json({"removed": args.talk})
    else:
        print(f"removed {args.talk}", file=sys.stderr)
    return 0


def _doctor(args: argparse.Namespace) -> int:
    from rag.doctor import examine

    checks = examine(settings())
    if args.repair and not all(check.ok for check in checks):
        from rag.repair import repair

        repair(settings(), lambda line: print(line, file=sys.stderr), wait_s=args.wait)
        checks = examine(settings())
    ok = all(check.ok for check in checks)
    if args.json:
        _print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            print(f"{'ok' if check.ok else 'WRONG':<7}{check.name:<11}{one_line(check.found)}")
            if check.repair:
                print(f"{'':<18}-> {one_line(check.repair)}")
    return 0 if ok else 1


def _fetch_model(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from rag.weights import DEFAULT, fetch

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(DEFAULT.name, total=DEFAULT.size)
        path = fetch(DEFAULT, lambda done: progress.update(task, completed=done))
        progress.update(task, completed=DEFAULT.size)
    if args.json:
        _print_json({"path": str(path), "name": DEFAULT.name, "bytes": DEFAULT.size, "sha256": DEFAULT.sha256})
    else:
        print(path)
    return 0


def _user(args: argparse.Namespace) -> int:
    document, lines = change(args, settings().auth)
    if args.json:
        _print_json(document)
    elif lines:
        print(lines)
    return 0


def _mcp(_: argparse.Namespace) -> int:
    try:
        from rag.mcp_server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise StartError("mcp: the package 'mcp' is not installed; pip install '.[mcp]'") from None
    with _engine() as engine:
        serve(engine)
    return 0


def _engine() -> Engine:
    from rag.engine import Engine  # not at the top: `--help` and `talks` must not wait for the search libraries

    return Engine(settings())


def _home() -> Path:
    home = settings().home
    check_home(home)
    return home


def _wire() -> Any:
    from rag.wire import Wire

    return Wire(settings())


def _filters(args: argparse.Namespace) -> Filters:
    return Filters(talk=args.talk, speaker=args.speaker, event=args.event, year=args.year)


def _print_json(document: object) -> None:
    print(json.dumps(document, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    sys.exit(main())
