import json
import logging
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.answer import ask
from rag.errors import LLMError, StartError
from rag.llm import ContextTooLong, Delta, SchemaNotTaken
from rag.llms import load_llm
from rag.openai_chat import OpenAIChat
from rag.settings import load_settings
from rag.thoughts import Thoughts
from rag.types import Answer
from tests.fakes import WordEmbedder
from tests.rag.scripted import evidence, hit, talk
from tests.rag.stub_server import Exchange, Stub, said, serving

SCHEMA = {"type": "object", "properties": {}}
KEY = "sk-secret-123456"
ASKED = [{"role": "user", "content": "Where is the cache?"}]


@contextmanager
def chat(url: str, timeout_s: float = 10) -> Iterator[OpenAIChat]:
    llm = OpenAIChat("stub", url, KEY, timeout_s)
    try:
        yield llm
    finally:
        llm.close()


def text_of(llm: OpenAIChat, schema: Mapping[str, object] | None = None) -> str:
    return "".join(delta.text for delta in llm.stream(ASKED, schema))


def good(stub: Stub, exchange: Exchange) -> None:
    exchange.stream(said("The cache "), said("is here."), said(None, finish_reason="stop"))


def test_a_reply_with_its_usage() -> None:
    def behave(stub: Stub, exchange: Exchange) -> None:
        usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
        exchange.stream(said("A"), said("B", finish_reason="length"), {**said(""), "choices": [], "usage": usage})

    with serving(behave) as stub, chat(stub.url) as llm:
        deltas = [delta for delta in llm.stream(ASKED, SCHEMA) if delta != Delta()]
    assert deltas == [Delta("A"), Delta("B"), Delta(cut=True, usage={"prompt_tokens": 12, "completion_tokens": 3})]
    (request,) = stub.requests
    assert (request["temperature"], request["stream"], request["model"]) == (0, True, "stub")
    assert {"seed", "max_tokens"} <= request.keys()
    assert request["response_format"]["json_schema"]["schema"] == SCHEMA


def test_thinking_is_never_part_of_the_reply() -> None:
    def behave(stub: Stub, exchange: Exchange) -> None:
        exchange.stream(
            said("<th"), said("ink>Hm, [s1]"), said("</think>The"), said(None, reasoning_content="x"), said(" cache")
        )

    with serving(behave) as stub, chat(stub.url) as llm:
        assert text_of(llm) == "The cache"


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "a", "think>", "<thin"]), max_size=8).map("".join), st.data()
)
def test_thoughts_are_taken_out_of_any_chunks(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    whole, split = Thoughts(), Thoughts()
    expected = whole.feed(text) + whole.close()
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(split.feed(part) for part in parts) + split.close() == expected
    assert expected == re.sub(r"<think>.*?(?:</think>|\Z)", "", text)


def test_schema_not_supported_is_found_out_once() -> None:
    def behave(stub: Stub, exchange: Exchange) -> None:
        if "response_format" in exchange.body:
            exchange.error(400, "response_format.type must be text", param="response_format")
        else:
            good(stub, exchange)

    with serving(behave) as stub, chat(stub.url) as llm:
        with pytest.raises(SchemaNotTaken):
            text_of(llm, SCHEMA)
        assert not llm.takes_schema
        assert text_of(llm) == "The cache is here."
        assert len(stub.requests) == 2


def test_refused_parameters_are_dropped_once_and_for_all() -> None:
    def behave(stub: Stub, exchange: Exchange) -> None:
        for name in ("max_tokens", "temperature", "seed"):
            if name in exchange.body:
                exchange.error(400, f"Unsupported parameter: '{name}'", param=name)
                return
        good(stub, exchange)

    with serving(behave) as stub, chat(stub.url) as llm:
        assert text_of(llm) == "The cache is here."
        assert text_of(llm) == "The cache is here."
    assert len(stub.requests) == 5
    assert "max_completion_tokens" in stub.requests[-1]


def test_errors_that_pass_are_waited_out() -> None:
    def busy(stub: Stub, exchange: Exchange) -> None:
        exchange.send(429, "{}", Retry_After="0.2")

    with serving(busy, busy, good) as stub, chat(stub.url) as llm:
        started = time.monotonic()
        assert text_of(llm) == "The cache is here."
        assert time.monotonic() - started >= 0.4
        assert len(stub.requests) == 3


def test_context_too_long_has_its_own_error() -> None:
    def behave(stub: Stub, exchange: Exchange) -> None:
        exchange.error(400, "the request exceeds the available context size", type="exceed_context_size_error")

    with serving(behave) as stub, chat(stub.url) as llm, pytest.raises(ContextTooLong):
        text_of(llm, SCHEMA)


def status(code: int, body: str = "{}", **headers: str) -> Callable[[Stub, Exchange], None]:
    return lambda stub, exchange: exchange.send(code, body, **headers)


def stream(*chunks: dict[str, object] | str, done: bool = True) -> Callable[[Stub, Exchange], None]:
    return lambda stub, exchange: exchange.stream(*chunks, done=done)


def stall_before(stub: Stub, exchange: Exchange) -> None:
    stub.released.wait(20)


def stall_amid(stub: Stub, exchange: Exchange) -> None:
    exchange.stream(said('{"covered": true, "claims": [{"cues": ["s'), done=False)
    stub.released.wait(20)


WRONG_KEY = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}})
MISBEHAVIOUR = {
    "401": (status(401, WRONG_KEY), "refused the key (401)", 1),
    "403": (status(403), "refused access (403)", 1),
    "404": (status(404), "was not found (404)", 1),
    "429, wait an hour": (status(429, Retry_After="3600"), "takes no more requests for now (429)", 1),
    "429": (status(429, Retry_After="0.05"), "takes no more requests for now (429)", 3),
    "500": (status(500, f"secret {KEY}"), "answered with an error (500)", 3),
    "stalls before": (stall_before, "did not finish within 2 s", 1),
    "stalls amid": (stall_amid, "did not finish within 2 s", 1),
    "no choices": (stream({**said(""), "choices": []}), "sent an empty answer", 1),
    "choices null": (stream({**said(""), "choices": None}), "sent an empty answer", 1),
    "null content": (stream(said(None)), "sent an empty answer", 1),
    "only reasoning": (stream(said(None, reasoning_content="Let me think [s1].")), "sent an empty answer", 1),
    "only thinking": (stream(said("<think>Let me [s1]. "), said("Hm.")), "sent an empty answer", 1),
    "cut by length": (stream(said("They store the", finish_reason="length")), "cut off before it said anything", 2),
    "bad JSON answer": (stream(said('{"covered": tru maybe')), "sent no readable answer", 2),
    "bad JSON event": (stream("{broken", done=False), "no valid JSON", 1),
    "error event": (stream('{"error": {"message": "boom", "code": 500}}', done=False), "broke off its answer", 1),
    "page": (status(200, "<html><body>Welcome [s1]</body></html>", kind="text/html"), "sent a web page", 1),
    "no stream": (status(200, "not even JSON", kind="text/plain"), "sent an empty answer", 1),
    "off topic": (stream(said("Bananas are yellow [s1].")), "something that the talks do not say", 2),
}  # fmt: skip


def answer_from(llm: OpenAIChat) -> Answer:
    found = evidence(hit(talk(), 2, 3))
    *_, answer = ask("Where do you store the cache?", retrieve=lambda _: found, embedder=WordEmbedder(), llm=llm)
    return answer


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_a_misbehaving_server_gives_quotes_and_one_notice(name: str, caplog: pytest.LogCaptureFixture) -> None:
    behave, cause, requests = MISBEHAVIOUR[name]
    caplog.set_level(logging.DEBUG)
    with serving(behave) as stub, chat(stub.url, timeout_s=2 if "stalls" in name else 20) as llm:
        answer = answer_from(llm)
        assert len(stub.requests) == requests
    assert answer.done
    assert answer.answered_by == "quotes"
    assert answer.claims[0].text == "The cache is like a distributed file system."
    assert cause in answer.notice
    assert "\n" not in answer.notice
    assert KEY not in answer.notice + caplog.text
    assert "Traceback" not in caplog.text


def test_a_refused_connection_gives_quotes_and_one_notice() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with chat(f"http://127.0.0.1:{port}/v1") as llm:
        answer = answer_from(llm)
    assert answer.answered_by == "quotes"
    assert answer.notice == (
        "Quotes instead of a written answer: the language model stub at 127.0.0.1 can't be reached: is it running? "
        "(RAG_LLM_BASE_URL)."
    )


def test_a_schema_refused_leads_to_a_written_answer_with_marks() -> None:
    def behave(stub: Stub, exchange: Exchange) -> None:
        if "response_format" in exchange.body:
            exchange.error(400, "json_schema is not supported")
        else:
            exchange.stream(said("They store the cache in host memory and on disk [s4]."))

    with serving(behave) as stub, chat(stub.url) as llm:
        answer = answer_from(llm)
        assert ["response_format" in request for request in stub.requests] == [False, True, False]
    assert (answer.answered_by, answer.notice) == ("stub", "")
    assert [(c.first, c.last) for c in answer.citations] == [(3, 3)]


def word(**chances: float) -> dict[str, object]:
    """A chunk that says the likeliest of these words, with the log probabilities of all."""
    told = [{"token": token, "logprob": math.log(chance), "bytes": None} for token, chance in chances.items()]
    chunk = said(max(chances, key=lambda token: chances[token]))
    chunk["choices"][0]["logprobs"] = {"content": [{**told[0], "top_logprobs": told}], "refusal": None}
    return chunk


def whether(llm: OpenAIChat) -> float | None:
    """What `agrees` returns."""
    asking = llm.agrees([{"role": "user", "content": "Is it?"}])
    while True:
        try:
            next(asking)
        except StopIteration as end:
            answer: float | None = end.value
            return answer


@pytest.mark.parametrize(
    ("chunk", "sure"),
    [
        (word(Yes=0.6, no=0.2), 0.75),
        (word(**{" yes": 0.3, "YES": 0.1, "No": 0.3, " no": 0.1, "maybe": 0.2}), 0.5),
        (word(no=0.9), 0.0),
        (word(Well=0.9), None),
        (said("yes"), None),
    ],
)
def test_how_sure_a_model_is_that_the_lines_answer(chunk: dict[str, object], sure: float | None) -> None:
    with serving(stream(chunk)) as stub, chat(stub.url) as llm:
        assert whether(llm) == (sure if sure is None else pytest.approx(sure))
        request = stub.requests[0]
        assert (request["max_tokens"], request["logprobs"], request["top_logprobs"]) == (1, True, 10)


@pytest.mark.parametrize("reply", [status(400), stream(said("yes"))])
def test_a_server_that_does_not_tell_is_not_asked_again(reply: Callable[[Stub, Exchange], None]) -> None:
    with serving(reply) as stub, chat(stub.url) as llm:
        assert (whether(llm), whether(llm)) == (None, None)
        assert len(stub.requests) == 1


def test_only_models_on_this_machine_are_asked_twice() -> None:
    llm = OpenAIChat("big", "https://llm.example.org/v1", KEY)
    assert whether(llm) is None  # and nothing is sent: there is no network here
    llm.close()


def test_a_doubting_model_refuses_and_is_not_asked_for_an_answer() -> None:
    with serving(stream(word(no=0.6, yes=0.4))) as stub, chat(stub.url) as llm:
        answer = answer_from(llm)
        assert len(stub.requests) == 1
    assert (answer.abstained, answer.answered_by, answer.claims) == (True, "stub", ())


def test_a_context_too_long_is_shrunk_and_asked_once_more() -> None:
    with serving(status(400, json.dumps({"error": {"message": "maximum context length is 10 tokens"}}))) as stub:
        with chat(stub.url) as llm:
            answer = answer_from(llm)
        assert len(stub.requests) == 2
    assert "can't read that many words at once" in answer.notice


@pytest.mark.parametrize("amid", [False, True])
def test_closing_the_stream_hangs_up_at_once(amid: bool) -> None:
    def behave(stub: Stub, exchange: Exchange) -> None:
        exchange.stream(*([said("The cache")] if amid else []), done=False)
        stub.stall(exchange)

    with serving(behave) as stub, chat(stub.url) as llm:
        deltas = llm.stream(ASKED, None)
        assert next(delta for delta in deltas if delta.text or not amid) is not None
        started = time.monotonic()
        deltas.close()
        assert time.monotonic() - started < 0.5
        assert stub.hung_up.wait(2)


def test_a_silent_server_lets_the_caller_stop_several_times_a_second() -> None:
    with serving(stall_before) as stub, chat(stub.url) as llm:
        deltas = llm.stream(ASKED, None)
        started = time.monotonic()
        assert [next(deltas) for _ in range(3)] == [Delta(), Delta(), Delta()]
        assert time.monotonic() - started < 2
        deltas.close()


def test_several_threads_share_one_model() -> None:
    with serving(good) as stub, chat(stub.url) as llm:
        seen: list[str] = []
        threads = [threading.Thread(target=lambda: seen.append(text_of(llm))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == ["The cache is here."] * 5


def test_the_model_is_made_from_the_settings() -> None:
    assert load_llm(load_settings(llm="off")) is None
    with pytest.raises(StartError, match="RAG_LLM_BASE_URL"):
        load_llm(load_settings(llm="gpt-x", llm_base_url="", llm_api_key=""))
    llm = load_llm(load_settings(llm="m", llm_base_url="http://127.0.0.1:1/v1"))
    assert llm is not None
    assert llm.name == "m"
    llm.close()


def test_errors_never_chain_what_the_server_said() -> None:
    with serving(MISBEHAVIOUR["401"][0]) as stub, chat(stub.url) as llm, pytest.raises(LLMError) as caught:
        text_of(llm)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
