"""Doubles of quantities as Kubernetes computes them. Source: QC-14.

The wanted values are those that Go's `Quantity.AsApproximateFloat64` gives.
"""

from __future__ import annotations

import pytest

from kueue_fast.model.approximate_float import approximate_float

CASES = {
    "a whole number": ("3", 3.0),
    "a JSON number": (3, 3.0),
    "an integer times a power of ten is not the nearest double": ("0.3", 0.30000000000000004),
    "nor is it for a JSON number": (0.3, 0.30000000000000004),
    "the same amount in milli is": ("300m", 0.3),
    "the same amount in nano is not": ("300000000n", 0.30000000000000004),
    "zeros before the point count for nothing": ("000.3", 0.30000000000000004),
    "an exponent": ("12e-1", 1.2000000000000002),
    "a large exponent": ("1e30", 1e30),
    "a decimal suffix": ("5E", 5e18),
    "a binary suffix": ("64Ti", 70368744177664.0),
    "a binary suffix with more digits than the integer form takes": ("100Ti", 109951162777600.0),
    "a binary suffix with a fraction": ("1.5Gi", 1610612736.0),
    "a binary amount beyond int64 is capped": ("9Ei", 9223372036854775807.0),
    "more digits than int64 holds": ("9999999999999999999", 1e19),
    "below a nano it is rounded up": ("0.1n", 1e-9),
    "ten places are rounded up to nine": ("0.1234567891", 0.12345679000000001),
    "nine places": ("123456789.123456789", 123456789.12345679),
    "a negative amount": ("-0.3", -0.30000000000000004),
    "nothing": ("0", 0.0),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_double_of(case: tuple[str | int | float, float]) -> None:
    value, want = case
    assert approximate_float(value) == want


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="1x"):
        approximate_float("1x")


def test_a_quantity_beyond_every_double_is_infinite() -> None:
    assert approximate_float("9" * 450) == float("inf")
    assert approximate_float("-" + "9" * 450) == float("-inf")
