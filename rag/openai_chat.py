"""Messages -> a stream of text from any server that speaks the OpenAI API. The only file that knows openai.

The request runs in a thread of its own, so that a stalled server holds up nobody: the stream yields an empty piece
while nothing arrives, and closing it ends the request at once. What a server can't take (schema, seed, ...) is found
out once and remembered. Messages of errors name the cause and never hold a key or what a server wrote.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice

from rag.errors import LLMError
from rag.llm import HEARTBEAT_S, ContextTooLong, Delta, LLMStatus, Message, SchemaNotTaken
from rag.thoughts import Thoughts

_OPENAI = "https://api.openai.com/v1"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_TRIES = 3
_FIRST_WAIT_S = 0.5
# A server that asks to wait longer than this is treated as one that does not answer.
_LONGEST_WAIT_S = 10.0
_MAX_TOKENS = 700
_SEED = 7
_REFUSED_REQUEST = (400, 404, 415, 422, 501)
_REFUSED_OPTION = (400, 422, 501)
_ONE_WORD = {"max_tokens": 1, "logprobs": True, "top_logprobs": 10}


class _NoLikelihood(LLMError):
    """The server does not tell how likely a word is."""


class OpenAIChat:
    """Chat completions of one model at one base address. Safe for several threads; `close` ends its own thread."""

    def __init__(self, model: str, base_url: str = "", api_key: str = "", timeout_s: float = 120.0) -> None:
        self.name = model
        self.status = LLMStatus("ready")  # a server elsewhere is only known by asking it
        self._base_url = base_url or _OPENAI
        self._timeout_s = timeout_s
        host = urlsplit(self._base_url).hostname or ""
        self._place = f"the language model {model} at {host}"
        # Parameters that some servers refuse; each is dropped for good when this one does.
        self._optional: dict[str, Any] = {
            "temperature": 0,
            "seed": _SEED,
            "stream_options": {"include_usage": True},
            "max_tokens": _MAX_TOKENS,
        }
        self.takes_schema = True
        # A model on this machine is a small one, which is asked twice: that costs nothing, and it needs it.
        self._tells_likelihood = host in _LOOPBACK
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm", daemon=True)
        self._thread.start()
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none",
            base_url=self._base_url,
            timeout=timeout_s,
            max_retries=0,  # retries are ours: bounded by the time limit and ended by closing the stream
            http_client=openai.DefaultAsyncHttpxClient(trust_env=host not in _LOOPBACK),
        )

    def close(self) -> None:
        """Release the connections and the thread."""
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result(timeout=5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)

    async def _shut_down(self) -> None:
        """End what a reply that was closed early left running, then release the connections."""
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._client.close()

    def stream(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Generator[Delta, None, None]:
        """See `LLM.stream`. The time limit covers the whole of it, retries and waits included."""
        return self._stream(messages, schema, {})

    def agrees(self, messages: Sequence[Message]) -> Generator[Delta, None, float | None]:
        """See `LLM.agrees`. Asked of models on this machine whose server tells how likely words are."""
        if not self._tells_likelihood:
            return None
        likely: Mapping[str, float] = {}
        try:
            for piece in self._stream(messages, None, _ONE_WORD):
                likely = likely or piece.likely
                yield Delta(usage=piece.usage)
        except _NoLikelihood:
            pass
        self._tells_likelihood = bool(likely)
        yes, no = (_chance(likely, word) for word in ("yes", "no"))
        return yes / (yes + no) if yes + no else None

    def _stream(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, options: Mapping[str, Any]
    ) -> Generator[Delta, None, None]:
        arrived: SimpleQueue[Delta | Exception | None] = SimpleQueue()
        task = asyncio.run_coroutine_threadsafe(self._read(list(messages), schema, options, arrived), self._loop)
        try:
            while True:
                try:
                    item = arrived.get(timeout=HEARTBEAT_S)
                except Empty:
                    yield Delta()
                    continue
                if item is None:
                    return
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            task.cancel()

    async def _read(
        self,
        messages: list[Message],
        schema: Mapping[str, Any] | None,
        options: Mapping[str, Any],
        arrived: SimpleQueue[Delta | Exception | None],
    ) -> None:
        """Put the pieces of the reply into `arrived`, then None or the error that ended it."""
        try:
            async with asyncio.timeout(self._timeout_s):
                any_text = False
                async for piece in _without_thinking(self._pieces(messages, schema, options)):
                    any_text = any_text or bool(piece.text.strip())
                    arrived.put(piece)
            arrived.put(None if any_text else LLMError(f"{self._place} sent an empty answer"))
        except TimeoutError:
            arrived.put(LLMError(f"{self._place} did not finish within {self._timeout_s:g} s (RAG_LLM_TIMEOUT_S)"))
        except Exception as error:  # handed over to the thread that reads, which raises it
            arrived.put(error)

    async def _pieces(
        self, messages: list[Message], schema: Mapping[str, Any] | None, options: Mapping[str, Any]
    ) -> AsyncIterator[Delta]:
        response = await self._open(messages, schema, options)
        usage: dict[str, int] = {}
        cut = False
        try:
            async with response:
                if "html" in response.response.headers.get("content-type", ""):
                    raise LLMError(f"{self._place} sent a web page; does RAG_LLM_BASE_URL end in /v1?")
                async for chunk in response:
                    if chunk.usage:
                        usage = {
                            "prompt_tokens": chunk.usage.prompt_tokens,
                            "completion_tokens": chunk.usage.completion_tokens,
                        }
                    for choice in (chunk.choices or [])[:1]:
                        cut = cut or choice.finish_reason == "length"
                        if choice.delta and choice.delta.content:
                            yield Delta(choice.delta.content, likely=_likely(choice))
        except ValueError:
            raise LLMError(f"{self._place} sent something that is no valid JSON") from None
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            raise LLMError(f"{self._place} broke off its answer ({type(error).__name__})") from None
        yield Delta(cut=cut, usage=usage)

    async def _open(
        self, messages: list[Message], schema: Mapping[str, Any] | None, options: Mapping[str, Any]
    ) -> openai.AsyncStream[ChatCompletionChunk]:
        """The open response stream; tries again after errors that may pass, and without what the server refuses."""
        failed = 0
        while True:
            request: dict[str, Any] = {
                "model": self.name,
                "messages": messages,
                "stream": True,
                **self._optional,
                **options,
            }
            if schema:
                request["response_format"] = _response_format(schema)
            try:
                stream: openai.AsyncStream[ChatCompletionChunk] = await self._client.chat.completions.create(**request)
                return stream
            except openai.APIStatusError as error:
                if error.status_code in _REFUSED_REQUEST and self._adapts(error, schema):
                    continue
                if error.status_code in _REFUSED_OPTION and "logprobs" in options:
                    raise _NoLikelihood(self._refusal(error)) from None
                failed += 1
                wait_s = _wait_s(error, failed)
                if failed == _TRIES or wait_s is None:
                    raise LLMError(self._refusal(error)) from None
            except openai.APIConnectionError:
                failed += 1
                wait_s = _FIRST_WAIT_S * failed
                if failed == _TRIES:
                    raise LLMError(f"{self._place} can't be reached: is it running? (RAG_LLM_BASE_URL)") from None
            await asyncio.sleep(wait_s)

    def _adapts(self, error: openai.APIStatusError, schema: Mapping[str, Any] | None) -> bool:
        """True when the refused request can be sent again without the parameter that the server refused."""
        said = f"{error.param or ''} {error.message}".lower()
        if any(words in said for words in ("context length", "context_length", "context size", "context_size")):
            raise ContextTooLong(f"{self._place} can't read that many words at once") from None
        if schema and any(word in said for word in ("response_format", "schema", "grammar", "structured", "guided")):
            self.takes_schema = False
            raise SchemaNotTaken(f"{self._place} takes no JSON schema") from None
        if "max_tokens" in said and self._optional.pop("max_tokens", None):
            self._optional["max_completion_tokens"] = _MAX_TOKENS
            return True
        refused = [name for name in self._optional if name in said]
        for name in refused:
            del self._optional[name]
        return bool(refused)

    def _refusal(self, error: openai.APIStatusError) -> str:
        status = error.status_code
        causes = {
            401: "refused the key (401): set RAG_LLM_API_KEY",
            403: "refused access (403): check RAG_LLM_API_KEY and the model's name",
            404: "was not found (404): check RAG_LLM and RAG_LLM_BASE_URL",
            429: "takes no more requests for now (429)",
        }
        return f"{self._place} {causes.get(status, f'answered with an error ({status})')}"


def _likely(choice: Choice) -> dict[str, float]:
    """The words that could have stood at the first place of a piece, with their log probabilities."""
    told = choice.logprobs.content if choice.logprobs else None
    return {other.token: other.logprob for other in told[0].top_logprobs} if told else {}


def _chance(likely: Mapping[str, float], word: str) -> float:
    """The probability of a word, in whatever case and with whatever blanks it was told."""
    return sum(math.exp(logprob) for token, logprob in likely.items() if token.strip().lower() == word)


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}


def _wait_s(error: openai.APIStatusError, failed: int) -> float | None:
    """How long to wait before the next try, in seconds; None when trying again is of no use."""
    if error.status_code not in (408, 409, 429) and error.status_code < 500:
        return None
    try:
        wait_s = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return _FIRST_WAIT_S * failed
    return wait_s if 0 <= wait_s <= _LONGEST_WAIT_S else None


async def _without_thinking(pieces: AsyncIterator[Delta]) -> AsyncIterator[Delta]:
    thoughts = Thoughts()
    async for piece in pieces:
        if piece.text:
            if text := thoughts.feed(piece.text):
                yield replace(piece, text=text)
        else:
            if text := thoughts.close():
                yield Delta(text)
            yield piece
