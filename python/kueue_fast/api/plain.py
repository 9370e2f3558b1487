"""From parsed YAML to JSON, the way Kubernetes reads YAML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime

import msgspec

from kueue_fast.errors import InputError


def to_json(document: object) -> bytes:
    """JSON text of a parsed YAML document, the way Kubernetes reads YAML.

    Times become text again, keys that are numbers or booleans become text.
    Raises InputError for what JSON cannot say (NaN, infinity, other types).
    """
    try:
        return msgspec.json.encode(_plain(document, "$"))
    except RecursionError:
        raise InputError("nested too deeply") from None


def _plain(value: object, path: str) -> object:
    """A value with JSON's types only."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"is {value}", field=path, expected="a finite number")
        return value
    if isinstance(value, Mapping):
        return {_plain_key(name, path): _plain(item, f"{path}.{name}") for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    raise InputError(
        f"has type {type(value).__name__}",
        field=path,
        expected="a text, number, boolean, list or mapping",
    )


def _plain_key(name: object, path: str) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, bool):
        return "true" if name else "false"
    if isinstance(name, int):
        return str(name)
    raise InputError(f"has the key {name!r}", field=path, expected="keys that are texts")
