"""Log lines as JSON objects on standard error, one a line, with upstream's keys. Source: OP-660, OP-661."""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["JsonFormatter", "set_up_logging"]

LEVELS: Final = {"WARNING": "info", "INFO": "info", "DEBUG": "debug"}


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: level, ts, logger, caller, msg, and of an error its text and stack."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, str] = {
            "level": LEVELS.get(record.levelname, "error"),
            "ts": f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z",
            "logger": record.name,
            "caller": f"{'/'.join(Path(record.pathname).parts[-2:])}:{record.lineno}",
            "msg": record.getMessage(),
        }
        if record.exc_info is not None and record.exc_info[1] is not None:
            line["error"] = str(record.exc_info[1]) or type(record.exc_info[1]).__name__
            line["stacktrace"] = "".join(traceback.format_exception(record.exc_info[1]))
        # What is no Unicode, such as half of a surrogate pair from an object's JSON, must not cost the line.
        clean = {key: each.encode(errors="backslashreplace").decode() for key, each in line.items()}
        return msgspec.json.encode(clean).decode()


def set_up_logging(level: int) -> None:
    """Everything of this level and above, as JSON, on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # What a library says of every request is of no use here.
    logging.getLogger("kubernetes").setLevel(max(level, logging.WARNING))
    logging.getLogger("asyncio").setLevel(max(level, logging.INFO))
