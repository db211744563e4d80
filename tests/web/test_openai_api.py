"""The chat API, as existing clients meet it: the real openai client against the running app."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from ingest.pipeline import ingest
from rag.engine import Engine
from rag.errors import StoreError
from rag.index import writing
from rag.settings import Settings, load_settings
from rag.web import answering
from rag.web.limits import MAX_BODY, MAX_QUESTION, MAX_TURN, MAX_TURNS
from rag.wire import Wire
from tests.conftest import ROOT
from tests.fakes import WordEmbedder
from tests.web.conftest import Server
from tests.web.fake_engine import FakeEngine, growing, quoting, refusing, talk_of

TALK = talk_of("Zero.", "One.", "Two.", "Three.", talk_id="a", title="T", media="/x/y.mp3")
QUESTION: Any = [{"role": "user", "content": "What?"}]


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine([TALK], script=growing(replace(quoting(TALK, 1, 3), usage={"prompt_tokens": 7})))


@pytest.fixture
def server(engine: FakeEngine, serve: Callable[..., Server]) -> Server:
    return serve(engine)


def client(server: Server) -> openai.OpenAI:
    """As the README has it; nothing is tried again, so that errors show."""
    return openai.OpenAI(base_url=f"{server.url}v1", api_key="unused", max_retries=0, timeout=60)


def text_at(server: Server) -> str:
    link = f"{server.url}?talk=a&t="
    return (
        f"One. [1]({link}2#s2)\n\nThree. [2]({link}6#s4)\n\nSources:\n\n"
        f"1. [T, 0:02]({link}2#s2): “One.”\n2. [T, 0:06]({link}6#s4): “Three.”"
    )


def test_the_models(server: Server) -> None:
    with client(server) as api:
        (model,) = api.models.list().data
        assert (model.id, model.object, model.owned_by) == ("talkcite", "model", "talkcite")
        assert api.models.retrieve("talkcite") == model
        with pytest.raises(openai.NotFoundError, match="model 'gpt/5': there is none of that name"):
            api.models.retrieve("gpt/5")


def test_a_whole_answer(engine: FakeEngine, server: Server) -> None:
    with client(server) as api:
        completion = api.chat.completions.create(model="talkcite", messages=QUESTION, temperature=0.3, user="x")
    (choice,) = completion.choices
    assert (choice.index, choice.finish_reason, choice.message.role) == (0, "stop", "assistant")
    content = choice.message.content
    assert content == text_at(server)
    assert choice.message.annotations is not None
    found = [annotation.url_citation for annotation in choice.message.annotations]
    assert [content[each.start_index : each.end_index] for each in found] == [
        f"[1]({server.url}?talk=a&t=2#s2)", f"[2]({server.url}?talk=a&t=6#s4)",
    ]  # fmt: skip
    assert [(each.url, each.title) for each in found] == [
        (f"{server.url}?talk=a&t=2#s2", "T, 0:02"), (f"{server.url}?talk=a&t=6#s4", "T, 0:06"),
    ]  # fmt: skip
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens, completion.usage.total_tokens) == (
        7, 0, 7,
    )  # fmt: skip
    here = server.url.rstrip("/")
    whole = Wire(Settings(public_url=here)).answer(replace(engine.script[-1], question="What?", searched="What?"))
    assert completion.model_extra == {"talkcite": json.loads(json.dumps(whole))}
    assert engine.closed == 1


@pytest.mark.parametrize("include_usage", [True, False])
def test_a_streamed_answer(engine: FakeEngine, server: Server, include_usage: bool) -> None:
    asked: Any = {"stream_options": {"include_usage": True}} if include_usage else {}
    with client(server) as api:
        chunks = list(api.chat.completions.create(model="talkcite", messages=QUESTION, stream=True, **asked))
        whole = api.chat.completions.create(model="talkcite", messages=QUESTION)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    link = f"{server.url}?talk=a&t="
    assert (deltas[0].role, [delta.content for delta in deltas[:3]]) == (
        "assistant", ["", f"One. [1]({link}2#s2)", f"\n\nThree. [2]({link}6#s4)"],
    )  # fmt: skip
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices] == [None, None, None, None, "stop"]
    last = [chunk for chunk in chunks if chunk.choices][-1]
    annotations = whole.choices[0].message.annotations
    assert annotations is not None
    assert (last.choices[0].delta.model_extra or {})["annotations"] == [found.model_dump() for found in annotations]
    assert last.model_extra == whole.model_extra
    assert len({chunk.id for chunk in chunks}) == 1
    assert [chunk.usage for chunk in chunks][:-1] == [None] * (len(chunks) - 1)
    assert chunks[-1].usage == (whole.usage if include_usage else None)
    assert engine.closed == 2


def test_a_follow_up(engine: FakeEngine, server: Server) -> None:
    with client(server) as api:
        answer = api.chat.completions.create(model="talkcite", messages=QUESTION).choices[0].message.content or ""
        messages: Any = [
            {"role": "system", "content": "You are a pirate."},
            {"role": "user", "content": "What?"},
            {"role": "assistant", "content": answer},
            {"role": "tool", "tool_call_id": "1", "content": "42"},
            {"role": "user", "content": [{"type": "text", "text": "And"}, {"type": "text", "text": "why?"}]},
            {"role": "assistant", "content": None},
        ]
        api.chat.completions.create(model="talkcite", messages=messages)
        api.chat.completions.create(model="talkcite", messages=QUESTION * 20 + [{"role": "user", "content": "x" * 9}])
        long: Any = [{"role": "assistant", "content": "y" * (MAX_TURN + 1)}, *QUESTION]
        api.chat.completions.create(model="talkcite", messages=long)
    _, (question, _, turns), (_, _, many), (_, _, cut) = engine.asked
    assert question == "And\nwhy?"
    assert [(turn.role, turn.content) for turn in turns] == [("user", "What?"), ("assistant", "One. Three.")]
    assert [turn.content for turn in many] == ["What?"] * MAX_TURNS
    assert [len(turn.content) for turn in cut] == [MAX_TURN]


def test_a_refusal(engine: FakeEngine, server: Server) -> None:
    engine.script = [refusing((TALK, 1))]
    with client(server) as api:
        message = api.chat.completions.create(model="talkcite", messages=QUESTION).choices[0].message
        streamed = api.chat.completions.create(model="talkcite", messages=QUESTION, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in streamed)
    assert (
        message.content
        == text
        == (
            "The talks don't cover this (3 searched).\n\nNearest moments:\n\n"
            f"- [T, 0:02]({server.url}?talk=a&t=2#s2): “One.”"
        )
    )
    assert message.annotations == []


def error(raised: Any) -> tuple[int, str, str, str | None]:
    """Status, message, type and code of an error in OpenAI's form."""
    assert raised.body.keys() == {"message", "type", "param", "code"}
    return raised.status_code, raised.body["message"], raised.body["type"], raised.body["code"]


@pytest.mark.parametrize(
    ("changed", "status", "message", "code"),
    [
        ({"model": "gpt-5"}, 404, "model 'gpt-5': there is none of that name, expected 'talkcite'", "model_not_found"),
        ({"messages": []}, 400, "messages: List should have at least 1 item after validation, not 0", None),
        ({"messages": [{"role": "user", "content": " "}]}, 400, "messages: found no question, expected", None),
        ({"messages": [{"role": "system", "content": "x"}]}, 400, "messages: found no question, expected", None),
        ({"messages": [{"role": "owner", "content": "x"}]}, 400, "messages.0.role: Input should be", None),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "messages: found a part", None),
        ({"messages": [{"role": "user", "content": "x" * 300_000}]}, 400,
         f"messages: found a question of 300,000 characters, expected at most {MAX_QUESTION:,}", None),
        ({"messages": [{"role": "user", "content": "x" * MAX_BODY}]}, 413,
         "The body is too large, the limit is 1,000,000 bytes.", None),
        ({"n": 2}, 400, "n: Input should be 1", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [True, False])
def test_what_is_refused(
    engine: FakeEngine, server: Server, stream: bool, changed: Any, status: int, message: str, code: str | None
) -> None:
    with client(server) as api, pytest.raises(openai.APIStatusError) as raised:
        api.chat.completions.create(**{"model": "talkcite", "messages": QUESTION, "stream": stream} | changed)
    found, what, kind, named = error(raised.value)
    assert (found, what[: len(message)], kind, named) == (status, message, "invalid_request_error", code)
    assert engine.asked == []


def test_requests_that_no_client_sends(engine: FakeEngine, server: Server) -> None:
    url = f"{server.url}v1/chat/completions"
    for body in (
        b"{",
        b"\xff",
        b'{"model": "\\ud800", "messages": [{"role": "user", "content": "x"}]}',
        b"[" * 100_000,
    ):
        answer = httpx.post(url, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 404)
        assert answer.json()["error"]["type"] == "invalid_request_error"
    assert httpx.get(f"{server.url}v1/nowhere").json() == {
        "error": {"message": "Not Found", "type": "invalid_request_error", "param": None, "code": "not_found"}
    }
    assert httpx.get(url).status_code == 405
    assert engine.asked == []


@pytest.mark.parametrize("stream", [True, False])
def test_without_talks(engine: FakeEngine, serve: Callable[..., Server], tmp_path: Path, stream: bool) -> None:
    with Engine(load_settings(home=tmp_path, llm="off"), WordEmbedder()) as empty:
        server = serve(empty)
        with client(server) as api, pytest.raises(openai.InternalServerError) as raised:
            api.chat.completions.create(model="talkcite", messages=QUESTION, stream=stream)  # type: ignore[call-overload]
        server.stop()
    status, message, kind, _ = error(raised.value)
    assert (status, kind) == (503, "server_error")
    assert message.endswith("no talks yet; add some with 'python -m ingest PATH'")


def test_what_fails_later_is_an_event(engine: FakeEngine, server: Server) -> None:
    engine.failure = StoreError("data: gone")
    with client(server) as api:
        with pytest.raises(openai.APIError, match="data: gone"):
            list(api.chat.completions.create(model="talkcite", messages=QUESTION, stream=True))
        engine.failure = ZeroDivisionError("secret")
        with pytest.raises(openai.APIError, match="the log of the server says what"):
            list(api.chat.completions.create(model="talkcite", messages=QUESTION, stream=True))
        with pytest.raises(openai.InternalServerError, match="the log of the server says what"):
            api.chat.completions.create(model="talkcite", messages=QUESTION)


def test_it_shares_the_places_of_the_api(
    engine: FakeEngine, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "MAX_ANSWERS", 1)
    engine.pace_s, engine.script = 0.05, engine.script[:1] * 1000
    server = serve(engine)
    with httpx.stream(
        "POST", f"{server.url}api/ask", json={"question": "x"}, headers={"Accept": "text/event-stream"}, timeout=30
    ):
        with client(server) as api, pytest.raises(openai.InternalServerError) as raised:
            api.chat.completions.create(model="talkcite", messages=QUESTION)
    assert error(raised.value)[:3] == (503, "1 questions are being answered; try again in a moment.", "server_error")
    assert raised.value.response.headers["retry-after"] == "5"


def test_a_client_that_leaves_stops_the_answer(engine: FakeEngine, server: Server) -> None:
    engine.pace_s = 0.02
    engine.script = [*engine.script[:2], *engine.script[1:2] * 10_000]
    with client(server) as api:
        with api.chat.completions.create(model="talkcite", messages=QUESTION, stream=True) as stream:
            for chunk in stream:
                if chunk.choices[0].delta.content:
                    break
    deadline = time.monotonic() + 20
    while engine.closed < 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert engine.closed == 1


def test_no_other_site_can_ask(engine: FakeEngine, server: Server) -> None:
    asked = {"model": "talkcite", "messages": QUESTION}
    refused = httpx.post(f"{server.url}v1/chat/completions", json=asked, headers={"Origin": "https://evil.example"})
    assert refused.status_code == 403
    assert engine.asked == []


@pytest.fixture
def library(tmp_path: Path) -> Path:
    with writing(tmp_path, WordEmbedder()) as writer:
        ingest(sorted((ROOT / "eval" / "data" / "talks").glob("*.vtt")), writer)
    return tmp_path


def test_a_real_library_and_a_follow_up(library: Path, serve: Callable[..., Server]) -> None:
    with Engine(load_settings(home=library, llm="off"), WordEmbedder()) as engine:
        server = serve(engine, public_url="https://talks.example.org")
        ask = partial(httpx.post, f"{server.url}v1/chat/completions", headers={"Host": "talks.example.org"}, timeout=60)
        messages = [{"role": "user", "content": "How do you keep a key value cache small?"}]
        first = ask(json={"model": "talkcite", "messages": messages}).json()
        content = first["choices"][0]["message"]["content"]
        assert "](https://talks.example.org/?talk=" in content
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": "And why?"}]
        second = ask(json={"model": "talkcite", "messages": messages}).json()
        assert second["talkcite"]["searched"] == "keep key value cache small: And why?"
        server.stop()


def test_the_example_of_the_readme(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert "http://127.0.0.1:7860/" in block
    exec(block.replace("http://127.0.0.1:7860/", server.url), {})
    shown = capsys.readouterr().out
    assert shown.startswith("One. [1](")
    assert shown.endswith("{'text': 'Three.', 'support': 'supported', 'citations': [2]}]\n")


@pytest.mark.parametrize("content", ['"\\ud800"', '[{"type": "text", "text": "\\ud800"}]'])
def test_half_a_character_is_refused(server: Server, content: str) -> None:
    body = f'{{"model": "talkcite", "messages": [{{"role": "user", "content": {content}}}]}}'
    answer = httpx.post(f"{server.url}v1/chat/completions", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "messages: found half of a surrogate pair, expected Unicode text"
