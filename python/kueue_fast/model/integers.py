"""Decimal integers in labels and annotations, as Go's `strconv` reads them: ASCII digits, no spaces, no underscores."""

from __future__ import annotations

import re
from typing import Final

_INTEGER: Final = re.compile(r"([+-]?)([0-9]+)")
_MOST_DIGITS: Final = 20
"""No 64-bit integer has as many significant digits; what is longer need not be read to be out of range."""
_MOST_UNSIGNED_DIGITS: Final = 21


def parse_int64(text: str) -> int | None:
    """A 64-bit integer, or None."""
    return _parse(text, 64)


def parse_int32(text: str) -> int | None:
    """A 32-bit integer, or None."""
    return _parse(text, 32)


def parse_uint64(text: str) -> int | None:
    """An integer of at most 64 bits without any sign, or None."""
    if not text or not text.isdecimal() or not text.isascii():
        return None
    digits = text.lstrip("0")[:_MOST_UNSIGNED_DIGITS]
    value = int(digits or "0")
    return value if value < 1 << 64 else None


def _parse(text: str, bits: int) -> int | None:
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    digits = match[2].lstrip("0")[:_MOST_DIGITS]
    value = int(f"{match[1]}{digits or 0}")
    limit = 1 << (bits - 1)
    return value if -limit <= value < limit else None
