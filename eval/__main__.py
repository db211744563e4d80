"""python -m eval run | compare | bench | load | questions. Results on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from eval import commands
from eval.build import default_cache
from rag.errors import TalkciteError


def main(argv: Sequence[str] | None = None, prog: str = "python -m eval") -> int:
    """Run one command; the exit code is 0 (done), 1 (questions failed, a gate does not hold), 2 or 3."""
    arguments = _parser(prog).parse_args(argv)
    try:
        return int(arguments.command(arguments))
    except TalkciteError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return 130


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="Measure the chatbot on talks and questions.")
    commands_of = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands_of.add_parser("run", help="ask the questions of data folders and score what comes back")
    run.set_defaults(command=commands.run)
    _data(run)
    run.add_argument("--out", type=Path, required=True, help="folder for the results; a run that stopped goes on there")
    run.add_argument(
        "--setting",
        choices=("scope", "talk", "corpus", "both"),
        default="scope",
        help="scope: each question as its `scope` says (default); talk: all within their talk; "
        "corpus: those of scope corpus, over all talks; both: talk and corpus, in two run files",
    )
    run.add_argument(
        "--answers",
        choices=("none", "extract", "llm"),
        default="extract",
        help="none: search only; extract: answers made of quotes (default); llm: by the model of RAG_LLM",
    )
    run.add_argument(
        "--questions",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="use these instead of questions.jsonl",
    )
    run.add_argument("--only", default="", metavar="type=a,b", help="only questions of these types")
    run.add_argument("--limit", type=_positive, help="ask at most this many questions, drawn with --seed")
    run.add_argument("--unchecked", action="store_true", help='also ask drafts marked "checked": false')
    run.add_argument("--json", action="store_true", help="print scores.json instead of a table")

    compare = commands_of.add_parser("compare", help="two or more runs side by side; the first is the one to beat")
    compare.set_defaults(command=commands.compare)
    compare.add_argument("runs", type=Path, nargs="+", metavar="OUT", help="OUT folders of finished runs")
    compare.add_argument(
        "--by", default="mrr", metavar="MEASURE", help="list the questions that differ in this measure"
    )
    compare.add_argument(
        "--gate",
        nargs="?",
        const="mrr,cite_any",
        metavar="MEASURE,…",
        help="exit with 1 when a later run is worse beyond chance on one of these (default: %(const)s), "
        "or has an impossible citation",
    )
    compare.add_argument("--seed", type=int, default=7, help="seed of tests and intervals (default: %(default)s)")
    compare.add_argument("--json", action="store_true", help="print JSON, one line a compared run")

    bench = commands_of.add_parser("bench", help="speed and memory as ratios measured side by side, or a long trial")
    bench.set_defaults(command=commands.bench)
    bench.add_argument(
        "--data", type=Path, action="append", nargs="+", metavar="DIR", help="captions to ingest (default: eval/data)"
    )
    _cache(bench)
    bench.add_argument("--only", default="", metavar="SUBJECT,…", help="ingest, search, answer, start, clients, memory")
    bench.add_argument("--scale", type=_positive, metavar="N", help="instead: let a made-up library grow to N passages")
    bench.add_argument("--plot", type=Path, metavar="FILE", help="with --scale: where to draw the growth, as SVG")
    bench.add_argument("--soak", action="store_true", help="instead: kill ingests for --minutes and look for losses")
    bench.add_argument("--minutes", type=float, default=10.0, metavar="N", help="with --soak (default: %(default)s)")
    bench.add_argument("--seed", type=int, default=7, help="with --soak: seed of the kills (default: %(default)s)")
    bench.add_argument("--json", action="store_true", help="print JSON")

    load = commands_of.add_parser("load", help="clients at every door of the app, with an ingest and a model outage")
    load.set_defaults(command=commands.load)
    load.add_argument("--clients", type=_positive, default=20, metavar="N", help="how many (default: %(default)s)")
    load.add_argument("--seconds", type=_positive, default=180, metavar="N", help="how long (default: %(default)s)")
    load.add_argument("--json", action="store_true", help="print JSON")

    questions = commands_of.add_parser("questions", help="draft questions about a talk with the language model")
    questions.set_defaults(command=commands.questions)
    questions.add_argument("--talk", required=True, metavar="ID", help="a talk in the library (RAG_HOME)")
    questions.add_argument("--n", type=_positive, default=20, help="how many (default: %(default)s)")
    questions.add_argument("--out", type=Path, metavar="FILE", help="where to (default: ID.questions.jsonl)")
    return parser


def _data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        nargs="+",
        required=True,
        metavar="DIR",
        help="folder with talks/ and questions.jsonl; each folder is a corpus of its own",
    )
    _cache(parser)
    parser.add_argument("--seed", type=int, default=7, help="seed of samples and intervals (default: %(default)s)")


def _cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cache",
        type=Path,
        default=default_cache(),
        help="where libraries are kept between runs (default: %(default)s)",
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"found {value}, expected at least 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
