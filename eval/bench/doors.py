"""One request through each door of the app, as a program makes it, and what is wrong with the response, if anything."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_TIMEOUT_S = 120.0
_SSE = "text/event-stream"


class Wrong(Exception):
    """A response that is not what its client should get."""


def search(address: str, query: str) -> str:
    """`/api/search`."""
    found = json.loads(_post(f"{address}api/search", {"query": query, "k": 10}))
    return _sound(bool(found["hits"]), "search", found)


def ask(address: str, question: str) -> str:
    """`/api/ask` as JSON; returns who answered."""
    return _answered(json.loads(_post(f"{address}api/ask", {"question": question})))


def ask_streaming(address: str, question: str) -> str:
    """`/api/ask` as events; returns who answered."""
    text = _post(f"{address}api/ask", {"question": question}, _SSE)
    name, data = text.rstrip().rpartition("\n\n")[2].split("\n", 1)
    if name != "event: answer":
        raise Wrong(f"the stream ended with {name!r}: {data[:200]}")
    return _answered(json.loads(data.removeprefix("data: ")))


def chat(address: str, question: str) -> str:
    """`/v1/chat/completions`, streamed; returns who answered."""
    asked = {"model": "talkcite", "messages": [{"role": "user", "content": question}], "stream": True}
    *chunks, done = _post(f"{address}v1/chat/completions", asked).rstrip().split("\n\n")
    if done != "data: [DONE]":
        raise Wrong(f"the stream ended with {done[:200]!r}")
    return _answered(json.loads(chunks[-1].removeprefix("data: "))["talkcite"])


def tool_search(address: str, query: str) -> str:
    """`search_moments` at `/mcp`."""
    found = _tool(address, "search_moments", {"query": query, "k": 10})
    return _sound(bool(found["hits"]), "search_moments", found)


def tool_ask(address: str, question: str) -> str:
    """`ask` at `/mcp`; returns who answered."""
    return _answered(_tool(address, "ask", {"question": question}))


def upload(address: str, file: Path) -> str:
    """`/api/ingest` with one file; returns the job's id."""
    boundary = "talkcite-load"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{file.name}"\r\n\r\n'
    body = head.encode() + file.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
    job = json.loads(_send(f"{address}api/ingest", body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}))
    return str(job["job_id"])


def job_state(address: str, job_id: str) -> str:
    """How far an upload is."""
    with urllib.request.urlopen(f"{address}api/jobs/{job_id}", timeout=_TIMEOUT_S) as reply:
        return str(json.load(reply)["state"])


DOORS: Mapping[str, Callable[[str, str], str]] = {
    "search (API)": search,
    "search (MCP)": tool_search,
    "ask (API)": ask,
    "ask (API, stream)": ask_streaming,
    "ask (chat API, stream)": chat,
    "ask (MCP)": tool_ask,
}


def _tool(address: str, name: str, arguments: Mapping[str, Any]) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    text = _post(f"{address}mcp", call, f"application/json, {_SSE}")
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    result = json.loads(data[-1] if data else text).get("result", {})
    if result.get("isError") or "structuredContent" not in result:
        raise Wrong(f"{name}: {text[:200]}")
    return result["structuredContent"]


def _post(url: str, document: Mapping[str, Any], accept: str = "application/json") -> str:
    return _send(url, json.dumps(document).encode(), {"Content-Type": "application/json", "Accept": accept})


def _send(url: str, body: bytes, headers: Mapping[str, str]) -> str:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, dict(headers)), timeout=_TIMEOUT_S) as reply:
            return str(reply.read().decode())
    except urllib.error.HTTPError as error:
        raise Wrong(f"{url}: {error.code} {error.read(200).decode(errors='replace')}") from error


def _answered(answer: Mapping[str, Any]) -> str:
    """Who answered; every claim must cite, or be a refusal's absence of any."""
    cites = all(claim["citations"] for claim in answer["claims"])
    return _sound(cites and bool(answer["claims"]) != answer["abstained"], str(answer["answered_by"]), answer)


def _sound(is_sound: bool, name: str, found: object) -> str:
    if not is_sound:
        raise Wrong(f"{name}: {json.dumps(found)[:300]}")
    return name
