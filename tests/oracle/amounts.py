"""Amounts: int64 that saturate, with one value that means "no limit"; quantities in their written form.

Source: QP-101 to QP-106.
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

MAX = 2**63 - 1
MIN = -(2**63)
UNLIMITED = MAX

NANO = Fraction(1, 10**9)
SMALL = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}
DECIMAL = {suffix: Fraction(1000) ** power for power, suffix in enumerate(("", "k", "M", "G", "T", "P", "E"))}
BINARY = {
    suffix: Fraction(1024) ** power
    for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)
}
SUFFIXES = SMALL | DECIMAL | BINARY
QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]+)|([A-Za-z]*))")

QuantityText: TypeAlias = str | int | float


def saturate(value: int) -> int:
    """The nearest int64."""
    return max(MIN, min(MAX, value))


def add(a: int, b: int) -> int:
    """a + b, where Unlimited absorbs all. Source: QP-105."""
    return UNLIMITED if UNLIMITED in (a, b) else saturate(a + b)


def subtract(a: int, b: int) -> int:
    """a - b, where Unlimited minus Unlimited is 0. Source: QP-105."""
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    return MIN if b == UNLIMITED else saturate(a - b)


def multiply(a: int, b: int) -> int:
    """a * b, clamped. Source: QP-106."""
    return saturate(a * b)


def round_away(value: Fraction) -> int:
    """The next integer away from zero."""
    up = -(-abs(value).numerator // value.denominator)
    return up if value >= 0 else -up


@lru_cache(maxsize=4096)
def parse(text: QuantityText) -> Fraction:
    """The value of a Kubernetes quantity; finer than a nano is rounded away from zero, as upstream's parser does.

    Raises ValueError for anything that is no quantity.
    """
    match = QUANTITY.fullmatch(str(text))
    if match is None or (match[3] or "") not in SUFFIXES:
        raise ValueError(f"not a quantity: {text!r}")
    scale = Fraction(10) ** int(match[2]) if match[2] else SUFFIXES[match[3] or ""]
    return round_away(Fraction(match[1]) * scale / NANO) * NANO


def unit(resource: str) -> int:
    """How many units one whole of the resource has: cpu counts in milli. Source: QP-101."""
    return 1000 if resource == "cpu" else 1


def to_units(resource: str, value: Fraction) -> int:
    """An exact amount in units, rounded away from zero and clamped. Source: QP-101, QP-103."""
    return saturate(round_away(value * unit(resource)))


def request_value(resource: str, text: QuantityText) -> int:
    """A written request in units. Source: QP-103."""
    return to_units(resource, parse(text))


def quota_value(resource: str, text: QuantityText) -> int:
    """A written quota in units; huge ones mean Unlimited. Source: QP-102."""
    value = parse(text)
    return UNLIMITED if value >= MAX // unit(resource) else to_units(resource, value)


def to_double(text: QuantityText) -> float:
    """The double that upstream gets from a quantity: rounded to 64 bits first, then to 53."""
    value = parse(text)
    if value == 0:
        return 0.0
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length() - 64
    if abs(value) >= Fraction(2) ** (exponent + 64):
        exponent += 1
    mantissa = round(value / Fraction(2) ** exponent)  # half to even, as Go rounds
    return float(Fraction(mantissa) * Fraction(2) ** exponent)


def canonical(text: QuantityText) -> tuple[str, Fraction]:
    """What upstream's canonical form tells apart: the value and the family of the suffix.

    Binary quantities below 1024 are written in decimal form.
    """
    value = parse(text)
    match = QUANTITY.fullmatch(str(text))
    assert match is not None
    if match[2]:
        return "exponent", value
    binary = (match[3] or "").endswith("i") and abs(value) >= 1024
    return "binary" if binary else "decimal", value
