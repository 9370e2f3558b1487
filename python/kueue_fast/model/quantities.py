"""Amounts in words, as upstream writes them, and int64 arithmetic that does not wrap.

An amount is an int in the kernel's unit: cpu in milli, everything else whole (QP-101).
"""

from __future__ import annotations

from collections.abc import Container
from fractions import Fraction
from typing import Final

from kueuecore._quantity import UNLIMITED, as_fraction, parse, quota_value, request_value

MAX: Final = 2**63 - 1
MIN: Final = -(2**63)
UNLIMITED_TEXT: Final = "<unlimited>"

_BINARY: Final = frozenset(("memory", "ephemeral-storage"))
_HUGE_PAGES: Final = "hugepages-"
_DECIMAL_SUFFIXES: Final = {-3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_SMALL_SUFFIXES: Final = {-9: "n", -6: "u"}
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def format_amount(resource: str, value: int, byte_resources: Container[str] = ()) -> str:
    """The quantity that upstream writes for an amount, `<unlimited>` for UNLIMITED.

    `byte_resources` are further resources counted in bytes (the DRA configuration names them).
    Source: QP-111.
    """
    return UNLIMITED_TEXT if value == UNLIMITED else format_quantity(resource, value, byte_resources)


def format_quantity(resource: str, value: int, byte_resources: Container[str] = ()) -> str:
    """The quantity that upstream writes for a plain int64, which the largest one is too. Source: QP-111."""
    if resource == "cpu":
        return _decimal(value, -3)
    if resource in _BINARY or resource.startswith(_HUGE_PAGES) or resource in byte_resources:
        return _binary(value)
    return _decimal(value, 0)


def canonical_quantity(value: str | int | float) -> tuple[str, int]:
    """What tells two quantities apart in Kubernetes' canonical form: the family of the suffix, and the amount in nanos.

    `5` and `5000m` are the same, and so are `1Gi` and `1024Mi`; `5` and `5e0` are not. A binary quantity below 1024 is
    written in decimal form. Raises ValueError for what is no quantity.
    """
    quantity = parse(value)
    family = quantity.format
    if family == "BinarySI" and abs(quantity.nanos) < 1024 * 10**9:
        family = "DecimalSI"
    return family, quantity.nanos


def canonical_text(value: str | int | float) -> str:
    """A quantity as Kubernetes writes it: the fewest digits before a suffix of the family it was given in.

    `0.1` is `100m`, `1024Mi` is `1Gi`, `1.5Gi` is `1536Mi`. Raises ValueError for what is no quantity.
    """
    family, nanos = canonical_quantity(value)
    if family == "BinarySI" and nanos % 10**9 == 0:
        number, power = nanos // 10**9, 0
        while number % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
            number //= 1024
            power += 1
        return f"{number}{_BINARY_SUFFIXES[power]}"
    number, exponent = nanos, -9 if nanos else 0
    while number and number % 1000 == 0 and exponent < 18:
        number //= 1000
        exponent += 3
    if family == "DecimalExponent":
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_SMALL_SUFFIXES.get(exponent) or _DECIMAL_SUFFIXES[exponent]}"


def as_double(value: str | int | float) -> float:
    """The double nearest to a quantity, capped at the largest one that Kubernetes keeps. Source: QP-301."""
    return float(max(Fraction(MIN), min(as_fraction(value), Fraction(MAX))))


def saturate(value: int) -> int:
    """The value, clamped to int64. Source: QP-106."""
    return MAX if value > MAX else MIN if value < MIN else value


def add(a: int, b: int) -> int:
    """a + b of two amounts, where UNLIMITED absorbs. Source: QP-105."""
    return UNLIMITED if UNLIMITED in (a, b) else saturate(a + b)


def subtract(a: int, b: int) -> int:
    """a - b of two amounts: UNLIMITED less itself is 0, and anything else less UNLIMITED is MIN. Source: QP-105."""
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    return MIN if b == UNLIMITED else saturate(a - b)


def multiply(a: int, b: int) -> int:
    """a * b, clamped to int64. Source: QP-106."""
    return saturate(a * b)


def _decimal(value: int, exponent: int) -> str:
    """The shortest form with a decimal suffix; exponent is a multiple of 3."""
    if value == 0:
        return "0"
    while value % 1000 == 0 and exponent < 18:
        value //= 1000
        exponent += 3
    return f"{value}{_DECIMAL_SUFFIXES[exponent]}"


def _binary(value: int) -> str:
    """The binary form, read and written once more, which makes what has no binary suffix decimal."""
    if -1024 < value < 1024 or value == MIN:  # MIN has no positive counterpart: Go leaves it as it is
        return _decimal(value, 0)
    power = 0
    while value % 1024 == 0 and power < 6:
        value //= 1024
        power += 1
    return f"{value}{_BINARY_SUFFIXES[power]}" if power else _decimal(value, 0)


__all__ = [
    "MAX",
    "MIN",
    "UNLIMITED",
    "UNLIMITED_TEXT",
    "add",
    "as_fraction",
    "canonical_quantity",
    "canonical_text",
    "format_amount",
    "format_quantity",
    "multiply",
    "quota_value",
    "request_value",
    "saturate",
    "subtract",
]
