"""Log lines: each is one JSON object. Source: OP-660, OP-661."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from kueue_fast.app.logs import JsonFormatter


def line(level: int, message: str, *arguments: Any, error: BaseException | None = None) -> dict[str, Any]:
    info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("setup", level, "/any/app/run.py", 12, message, arguments, info)
    record.created = 1_767_225_600.25
    text = JsonFormatter().format(record)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_line() -> None:
    assert line(logging.INFO, "leading%s", " now") == {
        "level": "info",
        "ts": "2026-01-01T00:00:00.250000Z",
        "logger": "setup",
        "caller": "app/run.py:12",
        "msg": "leading now",
    }


@pytest.mark.parametrize(
    ("level", "want"),
    [
        (logging.DEBUG, "debug"),
        (logging.INFO, "info"),
        (logging.WARNING, "info"),
        (logging.ERROR, "error"),
        (logging.CRITICAL, "error"),
    ],
)
def test_levels(level: int, want: str) -> None:
    assert line(level, "any")["level"] == want


def test_an_error_brings_its_text_and_stack() -> None:
    try:
        raise ValueError("no\nnumber")
    except ValueError:
        found = line(logging.ERROR, "cannot be read", error=sys.exc_info()[1])
    assert found["error"] == "no\nnumber"
    assert "test_logs.py" in found["stacktrace"]


def test_an_error_without_a_text_is_named() -> None:
    assert line(logging.ERROR, "late", error=TimeoutError())["error"] == "TimeoutError"


def test_text_that_is_no_unicode() -> None:
    assert line(logging.INFO, "object %s", "a\ud800b")["msg"] == "object a\\ud800b"
