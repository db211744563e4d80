"""llama.cpp's own server as a process of its own, on loopback. The only file that knows xllamacpp.

A process of its own, because a model that does not fit into memory or a damaged file ends the process that loads it.
It reads one line of JSON from stdin, says where it listens on stdout, and ends when stdin does, so it can't outlive
whoever started it, however that one ends. The key in that line keeps other users of the machine, and web pages, out.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# What the server may keep of earlier prompts beside the model, in MiB: a question asked again skips the reading.
_PROMPT_CACHE_MIB = 512


def main() -> int:
    """Serve until stdin ends; returns 1 when the model can't be loaded."""
    asked = json.loads(sys.stdin.readline())
    said = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # llama.cpp writes its log wherever it likes

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(Path(asked["file"]))
    params.n_ctx = asked["context"]
    params.n_parallel = 1  # on a CPU, answers one after the other are done sooner than all at once
    params.cpuparams.n_threads = asked["threads"]
    params.cpuparams.poll = 0  # threads that wait sleep: on a busy machine spinning costs more than it gains
    params.port = 0
    params.hostnames = ["127.0.0.1"]
    params.api_keys = [asked["key"]]
    params.cors_origins = "null"
    params.ui = False
    params.endpoint_slots = False
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    try:
        server = xllamacpp.Server(params)
    except Exception as error:  # xllamacpp has no base class for what it raises
        sys.stderr.write(f"{error}\n")
        return 1
    with os.fdopen(said, "w") as stdout:
        stdout.write(json.dumps({"url": f"{server.listening_address}/v1"}) + "\n")
        stdout.flush()
        sys.stdin.read()
    # Without waiting for requests that are still being answered: nobody is left to read them.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
