"""What the server writes to stderr: warnings and errors, and with `RAG_LOG` a line for each request and each answer.

A line is either text (time, level, logger, message, `field=value` …) or one JSON object. Whatever a message holds, it
stays on its line. Loggers pass fields in `extra={"fields": {…}}`.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

# The request that the code which logs is working for; "" outside of any.
request_id: ContextVar[str] = ContextVar("request_id", default="")

# What our own loggers tell beside warnings once a line for each request is wanted.
_OURS = ("rag", "ingest")


def set_up_log(form: Literal["off", "text", "json"], stream: TextIO | None = None) -> None:
    """Let all loggers of this process write to `stream` (stderr): only warnings with "off"."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.addFilter(_with_request_id)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in _OURS:
        logging.getLogger(name).setLevel(logging.NOTSET if form == "off" else logging.INFO)


def told(logger: logging.Logger, what: str, fields: Mapping[str, Any]) -> None:
    """Log `what` with its fields, in their order."""
    logger.info(what, extra={"fields": fields})


class TextLines(logging.Formatter):
    """`2026-12-01T15:41:19.123Z INFO rag.web.observe: request method=GET …`, tracebacks below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields = "".join(f" {name}={_plain(value)}" for name, value in _fields(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {_one_line(record.getMessage())}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """`{"time": …, "level": …, "logger": …, "message": …, …}`, with a traceback as `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _with_request_id(record: logging.LogRecord) -> bool:
    record.request_id = request_id.get()
    return True


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = dict(getattr(record, "fields", {}))
    known = getattr(record, "request_id", "")
    return fields if "request_id" in fields or not known else {**fields, "request_id": known}


def _time(record: logging.LogRecord) -> str:
    """When it was logged, in UTC to the millisecond."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: Any) -> str:
    """A value as it is where it is one plain word, else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    is_word = text.isprintable() and not set(text) & set(' "=') and text != ""
    return text if is_word or not isinstance(value, str) else json.dumps(value, ensure_ascii=True)


def _one_line(text: str) -> str:
    """`text` with everything that could begin another line, or move the cursor of a terminal, written out."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
