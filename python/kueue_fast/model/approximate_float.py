"""A quantity as the double that upstream computes with.

Kubernetes keeps a quantity as an integer times a power of ten, and which power depends on how it was written. Its
double is that integer, converted, times that power: not always the nearest one, so that `0.3` and `300m` differ in the
last bit. Source: QC-14.
"""

from __future__ import annotations

import math
import re
from typing import Final

from kueuecore._quantity import parse

NANO: Final = 1e-9
_MAX: Final = 2**63 - 1
_MOST_DIGITS: Final = 18
"""Digits that certainly fit int64; upstream keeps longer numbers as decimals of nine places."""
_NUMBER: Final = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?(.*)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def approximate_float(value: str | int | float) -> float:
    """The double of a quantity, in whole units. Raises ValueError for what is no quantity."""
    quantity = parse(value)
    match = _NUMBER.fullmatch(quantity.text)
    assert match is not None
    sign, whole, fraction, suffix = match[1], match[2] or "0", match[3] or "", match[4]
    digits = len(whole) + len(fraction)
    base: int | None = None
    exponent = 0
    if suffix in _BINARY:
        power = _BINARY[suffix]
        if not fraction and digits + power * 3 // 10 < 15:
            base = int(whole) << power
    else:
        exponent = (_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])) - len(fraction)
        if digits <= _MOST_DIGITS and exponent >= -9:
            base = int(whole + fraction)
    if base is not None:
        unscaled = float(-base if sign == "-" else base)
        return unscaled * float(f"1e{exponent}") if exponent else unscaled
    if suffix in _BINARY and abs(quantity.nanos) == _MAX * 10**9:
        return float(quantity.nanos // 10**9)  # capped to the largest int64, a whole number
    return nanos_to_float(quantity.nanos)


def nanos_to_float(nanos: int) -> float:
    """The double of a quantity that is kept with nine places, as every product with a double is; infinite beyond."""
    try:
        return float(nanos) * NANO
    except OverflowError:
        return math.inf if nanos > 0 else -math.inf
