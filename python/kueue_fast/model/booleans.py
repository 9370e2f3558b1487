"""Booleans in annotations, as Go's `strconv.ParseBool` reads them."""

from __future__ import annotations

from typing import Final

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def parse_bool(text: str) -> bool | None:
    """True or False, or None for any other word."""
    if text in _TRUE:
        return True
    return False if text in _FALSE else None
