"""The `talkcite` command: one name for `python -m rag`, `python -m ingest`, `python -m eval` and `python app.py`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rag import __version__

SAMPLES = Path(__file__).with_name("eval") / "data" / "talks"

HELP = """\
usage: talkcite COMMAND ...

Ask recorded talks a question; every sentence of the answer links to the second someone says it.

fill the library:
  samples         store the three sample talks that come with the program
  ingest          read caption files, folders or addresses of videos, and store their talks
  remove          remove a talk

ask:
  page            serve the page: ask, read, click a time, hear it
  ask             answer a question with citations
  search          find the moments that match best
  mcp             answer an assistant over the Model Context Protocol
  model           fetch the language model that runs without another program

let others in:
  user            say who may sign in to the page and use the API

look at the library:
  talks           list the talks
  transcript      print a talk
  export          write the talks as one file, or one talk as WebVTT
  doctor          look for damage, and repair it

measure:
  eval            ask questions with known answers and score what comes back

'talkcite COMMAND --help' tells a command's options. The library lies in the folder RAG_HOME.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Hand the arguments on to the command's own program and return its exit code."""
    command, *rest = [*(sys.argv[1:] if arguments is None else arguments)] or ["--help"]
    # Each program is imported when it is called: `talkcite talks` must not wait for what the page needs.
    if command in ("-h", "--help"):
        print(HELP, end="")
        return 0
    if command == "--version":
        print(f"talkcite {__version__}")
        return 0
    if command == "page":
        import app

        return app.main(rest, prog="talkcite page")
    if command == "eval":
        from eval.__main__ import main as evaluate

        return evaluate(rest, prog="talkcite eval")
    if command in ("ingest", "samples"):
        from ingest.__main__ import main as ingest

        paths = [str(SAMPLES)] if command == "samples" else []
        return ingest([*paths, *rest], prog=f"talkcite {command}")
    from rag.__main__ import main as rag

    return rag([command, *rest], prog="talkcite")


if __name__ == "__main__":
    sys.exit(main())
