"""A language model on this machine that needs no other program: started with the first use, ended with its owner.

`LocalLLM` is an `LLM` like any other. Its server (`rag.llama`) is loaded in the background. Whoever waits for a model
gets the answer when it is loaded; the page does not wait: it answers with quotes until the model is ready, and the
model is fetched meanwhile when it is not there yet.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from rag.errors import LLMError, StartError, TalkciteError
from rag.llm import HEARTBEAT_S, Delta, LLMStatus, Message
from rag.openai_chat import OpenAIChat
from rag.weights import DEFAULT, fetch, fetched

log = logging.getLogger(__name__)

_LOAD_LIMIT_S = 300.0
_SERVER = [sys.executable, "-m", "rag.llama"]
# What a prompt holds besides the transcript (rules, question, earlier turns), and the reply, in tokens.
_BESIDES_TRANSCRIPT = 2_500


class LocalLLM:
    """The model in `file`, None for the default one. Safe for several threads; `close` ends its server.

    With `in_background` a missing default model is fetched, and until the model is ready `stream` raises at once;
    otherwise `stream` waits. Raises `StartError` when the model can't be served here at all.
    """

    def __init__(self, file: Path | None, *, prompt_tokens: int, timeout_s: float, in_background: bool) -> None:
        if find_spec("xllamacpp") is None:
            raise StartError("RAG_LLM: the package xllamacpp is not installed; pip install '.[local]', or RAG_LLM=off")
        if file is not None and not file.is_file():
            raise StartError(f"RAG_LLM {file}: there is no such file, expected a .gguf model, 'local' or 'off'")
        if file is None and not in_background and fetched(DEFAULT) is None:
            raise StartError(
                f"RAG_LLM=local: {DEFAULT.name} is not on this machine yet; 'python -m rag model fetch' gets it "
                f"({DEFAULT.size / 1e9:.1f} GB), RAG_LLM=off does without"
            )
        self.name = file.stem if file else DEFAULT.name
        self._file = file
        self._context = 2 * prompt_tokens + _BESIDES_TRANSCRIPT
        self._timeout_s = timeout_s
        self._in_background = in_background
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._loaded = threading.Event()
        self._chat: OpenAIChat | None = None
        self._server: subprocess.Popen[str] | None = None
        self._status = LLMStatus("loading")
        self._start()

    @property
    def takes_schema(self) -> bool:
        """See `LLM`; llama.cpp does."""
        return True

    @property
    def status(self) -> LLMStatus:
        """See `LLM`."""
        return self._status

    def stream(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Generator[Delta, None, None]:
        """See `LLM`. Waiting for the model does not count against the time limit of an answer."""
        chat = yield from self._when_loaded()
        yield from chat.stream(messages, schema)

    def _when_loaded(self) -> Generator[Delta, None, OpenAIChat]:
        """Wait for the model, unless it is loaded in the background. Raises `LLMError` when it can't answer."""
        with self._lock:
            if self._status.state == "ready" and self._server is not None and self._server.poll() is not None:
                log.warning("the server of %s ended (exit code %s); starting it again", self.name, self._server.poll())
                self._start()
        if self._in_background and not self._loaded.is_set():
            raise LLMError(_not_ready(self.name, self._status))
        while not self._loaded.wait(HEARTBEAT_S):
            yield Delta()
        if self._chat is None:
            raise LLMError(self._status.detail)
        return self._chat

    def agrees(self, messages: Sequence[Message]) -> Generator[Delta, None, float | None]:
        """See `LLM`."""
        chat = yield from self._when_loaded()
        return (yield from chat.agrees(messages))

    def close(self) -> None:
        """End the server, or the fetching of the model."""
        self._closing.set()
        self._thread.join()
        if self._chat is not None:
            self._chat.close()
        if self._server is not None:
            _end(self._server)

    def _start(self) -> None:
        self._loaded.clear()
        self._status = LLMStatus("loading")
        self._thread = threading.Thread(target=self._get_ready, name="local-llm", daemon=True)
        self._thread.start()

    def _get_ready(self) -> None:
        try:
            file = self._file or fetch(DEFAULT, self._report)
            self._status = LLMStatus("loading")
            self._serve(file)
            self._status = LLMStatus("ready")
        except _Closing:
            self._status = LLMStatus("failed", detail=f"{self.name} was stopped")
        except TalkciteError as error:
            self._status = LLMStatus("failed", detail=str(error))
        except Exception:  # told to whoever asks, instead of a thread that ends without a word
            log.exception("starting the local model failed")
            self._status = LLMStatus("failed", detail=f"{self.name} could not be started; the log tells why")
        finally:
            self._loaded.set()

    def _report(self, done: int) -> None:
        self._status = LLMStatus("fetching", done, DEFAULT.size)
        if self._closing.is_set():
            raise _Closing

    def _serve(self, file: Path) -> None:
        """Start the server and wait until it listens. Raises `LLMError` when it does not."""
        key = secrets.token_urlsafe(24)
        server = subprocess.Popen(
            _SERVER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl+C is for the owner, which ends it
        )
        assert server.stdin is not None, "stdin is a pipe"
        asked = {"file": str(file), "context": self._context, "threads": _cores(), "key": key}
        with suppress(BrokenPipeError):
            server.stdin.write(json.dumps(asked) + "\n")
            server.stdin.flush()
        try:
            line = self._first_line(server)
        except BaseException:
            _end(server)
            raise
        if not line:
            _end(server)
            raise LLMError(f"{file} can't be loaded; is it a whole .gguf model, and is there memory enough for it?")
        previous, self._server = self._chat, server
        self._chat = OpenAIChat(self.name, json.loads(line)["url"], key, self._timeout_s)
        if previous is not None:
            previous.close()

    def _first_line(self, server: subprocess.Popen[str]) -> str:
        """What the server says first, "" when it ends without a word."""
        said: SimpleQueue[str] = SimpleQueue()
        assert server.stdout is not None, "stdout is a pipe"
        threading.Thread(target=lambda: said.put(server.stdout.readline()), daemon=True).start()  # type: ignore[union-attr]
        for _ in range(round(_LOAD_LIMIT_S / HEARTBEAT_S)):
            with suppress(Empty):
                return said.get(timeout=HEARTBEAT_S)
            if self._closing.is_set():
                raise _Closing
        raise LLMError(f"{self.name} did not load within {_LOAD_LIMIT_S:g} s")


class _Closing(Exception):
    """The owner is closing the model."""


def _not_ready(name: str, status: LLMStatus) -> str:
    if status.state != "fetching":
        return f"{name} is still being loaded"
    return f"{name} is still being fetched ({100 * status.done // status.total} %)"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end(server: subprocess.Popen[str]) -> None:
    """End a server. It has nothing to put in order, and may be amid loading, so it is not asked first."""
    server.kill()
    server.wait()
    with suppress(BrokenPipeError):
        server.stdin.close()  # type: ignore[union-attr]
