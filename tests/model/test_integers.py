"""Decimal integers as Go reads them."""

import pytest

from kueue_fast.model.integers import parse_int32, parse_int64, parse_uint64

INTEGERS: dict[str, int | None] = {
    "0": 0,
    "-5": -5,
    "+5": 5,
    "007": 7,
    "9223372036854775807": 2**63 - 1,
    "-9223372036854775808": -(2**63),
    "9223372036854775808": None,
    "9" * 5000: None,
    "-" + "9" * 5000: None,
    "0" * 5000 + "7": 7,
    "-0": 0,
    "": None,
    " 1": None,
    "1_0": None,
    "1.0": None,
    "٣": None,
}


@pytest.mark.parametrize(("text", "want"), INTEGERS.items(), ids=lambda value: str(value)[:24])
def test_parse_int64(text: str, want: int | None) -> None:
    assert parse_int64(text) == want


BOUNDS: dict[str, int | None] = {
    "2147483647": 2**31 - 1,
    "2147483648": None,
    "-2147483648": -(2**31),
    "-2147483649": None,
    "9" * 5000: None,
    "1.0": None,
}


@pytest.mark.parametrize(("text", "want"), BOUNDS.items(), ids=lambda value: str(value)[:24])
def test_parse_int32(text: str, want: int | None) -> None:
    assert parse_int32(text) == want


UNSIGNED: dict[str, int | None] = {
    "0": 0,
    "007": 7,
    "18446744073709551615": 2**64 - 1,
    "18446744073709551616": None,
    "9" * 5000: None,
    "0" * 5000 + "7": 7,
    "+5": None,
    "-0": None,
    "": None,
    " 1": None,
    "1_0": None,
    "٣": None,
}


@pytest.mark.parametrize(("text", "want"), UNSIGNED.items(), ids=lambda value: str(value)[:24])
def test_parse_uint64(text: str, want: int | None) -> None:
    assert parse_uint64(text) == want
