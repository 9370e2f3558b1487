"""Quantities read as Go's resource.Quantity reads them.

The tables hold facts of Go's parser; those marked odd were taken down by running it.
"""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueuecore._quantity import UNLIMITED, as_fraction, parse, quota_value, request_value

MAX = 2**63 - 1
MIN = -(2**63)
NANO = Fraction(1, 10**9)

# text -> (exact value, format)
READ: dict[str, tuple[Fraction | int, str]] = {
    "0": (0, "DecimalSI"),
    "0n": (0, "DecimalSI"),
    "0Ki": (0, "BinarySI"),
    "0.0Gi": (0, "BinarySI"),
    "00": (0, "DecimalSI"),
    "-0": (0, "DecimalSI"),
    "1": (1, "DecimalSI"),
    "+1": (1, "DecimalSI"),
    "-1": (-1, "DecimalSI"),
    "007": (7, "DecimalSI"),
    "5n": (Fraction(5, 10**9), "DecimalSI"),
    "4u": (Fraction(4, 10**6), "DecimalSI"),
    "3m": (Fraction(3, 1000), "DecimalSI"),
    "500m": (Fraction(1, 2), "DecimalSI"),
    "8k": (8000, "DecimalSI"),
    "7M": (7 * 10**6, "DecimalSI"),
    "6G": (6 * 10**9, "DecimalSI"),
    "5T": (5 * 10**12, "DecimalSI"),
    "2P": (2 * 10**15, "DecimalSI"),
    "1E": (10**18, "DecimalSI"),
    "1Ki": (1024, "BinarySI"),
    "7Mi": (7 * 2**20, "BinarySI"),
    "16Gi": (16 * 2**30, "BinarySI"),
    "100Ti": (100 * 2**40, "BinarySI"),
    "4Pi": (4 * 2**50, "BinarySI"),
    "3Ei": (3 * 2**60, "BinarySI"),
    "0.5": (Fraction(1, 2), "DecimalSI"),
    ".001": (Fraction(1, 1000), "DecimalSI"),
    "1.": (1, "DecimalSI"),
    "1.G": (10**9, "DecimalSI"),
    "0.00050k": (Fraction(1, 2), "DecimalSI"),
    "100.035k": (100035, "DecimalSI"),
    "1.01E": (101 * 10**16, "DecimalSI"),
    "12E": (12 * 10**18, "DecimalSI"),
    "1E-3": (Fraction(1, 1000), "DecimalExponent"),
    "1e3": (1000, "DecimalExponent"),
    "1E6": (10**6, "DecimalExponent"),
    "1e14": (10**14, "DecimalExponent"),
    "1.3E+6": (1300000, "DecimalExponent"),
    "0.5e-2": (Fraction(5, 1000), "DecimalExponent"),
    "0.5e0": (Fraction(1, 2), "DecimalExponent"),
    # Finer than 10**-9 rounds away from zero.
    "3.001n": (4 * NANO, "DecimalSI"),
    "0.9n": (NANO, "DecimalSI"),
    "1.1E-9": (2 * NANO, "DecimalExponent"),
    "0.0000000001": (NANO, "DecimalSI"),
    "-0.0000000001": (-NANO, "DecimalSI"),
    "0.00000000050": (NANO, "DecimalSI"),
    "0.00000012345": (124 * NANO, "DecimalSI"),
    "1e-999999999": (NANO, "DecimalExponent"),
    "0e-999999999": (0, "DecimalExponent"),
    # Binary fractions; less than one unit is written in decimal form.
    "1.5Gi": (3 * 2**29, "BinarySI"),
    "100.035Ki": (Fraction(10243584, 100), "BinarySI"),
    "0.05Gi": (Fraction(536870912, 10), "BinarySI"),
    "0.0005Ki": (Fraction(512, 1000), "DecimalSI"),
    "0.000000000001Ki": (2 * NANO, "DecimalSI"),
    # What has a binary suffix is capped to int64's range; what has a decimal one is not.
    "9Ei": (MAX, "BinarySI"),
    "8Ei": (MAX, "BinarySI"),
    "-8Ei": (-MAX, "BinarySI"),
    "-9Ei": (-MAX, "BinarySI"),
    "9223372036854775807Ki": (MAX, "BinarySI"),
    "9223372036854775808": (2**63, "DecimalSI"),
    "123456789012345678901234567890": (123456789012345678901234567890, "DecimalSI"),
    # Odd: a number may lack digits.
    "m": (0, "DecimalSI"),
    ".": (0, "DecimalSI"),
    "-": (0, "DecimalSI"),
    "+Ki": (0, "BinarySI"),
    "e3": (0, "DecimalExponent"),
    # Odd: only the lower 32 bits of an exponent count.
    "1e4294967296": (1, "DecimalExponent"),
    "1e4294967299": (1000, "DecimalExponent"),
}


@pytest.mark.parametrize(("text", "want"), READ.items(), ids=READ)
def test_a_text_has_the_value_and_format_of_go(text: str, want: tuple[Fraction | int, str]) -> None:
    want_value, want_format = want
    quantity = parse(text)
    assert (as_fraction(text), quantity.format) == (want_value, want_format)
    assert Fraction(quantity.nanos, 10**9) == want_value
    assert quantity.text == text


REFUSED = {
    "empty": "",
    "unknown suffix": "1x",
    "a space before": " 1",
    "a space after": "1 ",
    "a space between": "1 Gi",
    "a line end": "1\n",
    "an underscore": "1_000",
    "a comma": "1,5",
    "two points": "1.1.M",
    "a sign inside": "1+1.0M",
    "two signs": "--1",
    "a lower-case binary suffix": "0.1mi",
    "only the i": ".5i",
    "two suffixes": "0.1am",
    "no number": "aoeu",
    "an exponent without digits": "-3.01e-",
    "an e alone": "1e",
    "a broken exponent": "1e3.5",
    "an exponent beyond 64 bits": "1e9223372036854775808",
    "digits after a suffix": "1Ki5",
    "digits of another script": "\u0661",
    "full-width digits": "\uff11",
    "a lone surrogate": "1\ud800",
    "a zero byte": "1\0",
    "infinity": "Infinity",
    "not a number": "NaN",
    "hexadecimal": "0x10",
    "odd: nothing times Pi": "Pi",
    "odd: nothing times Ei": "-.Ei",
    "odd: nothing with an exponent below -9": "e-10",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_other_texts_are_refused_and_quoted(text: str) -> None:
    for function in (parse, as_fraction, lambda value: request_value("cpu", value)):
        with pytest.raises(ValueError, match="is not a quantity") as caught:
            function(text)
        assert repr(text) in str(caught.value)


@pytest.mark.parametrize("value", [None, True, False, b"1", [1], 1j], ids=repr)
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="expected a text or a number"):
        parse(value)


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match="is not a quantity") as caught:
        parse("1" * 10_000_000 + "x")
    assert len(str(caught.value)) < 300


LONG = {
    "many digits": ("9" * 100_000, MAX),
    "many zeros before": ("0" * 100_000 + "7", 7),
    "many decimals": ("1." + "3" * 100_000, 2),
    "many decimals with a binary suffix": ("1." + "3" * 100_000 + "Ki", 1366),
    "many zeros after the point": ("1." + "0" * 100_000, 1),
    "a huge exponent": ("1e999999999", MAX),
    "a huge exponent below zero": ("-1e999999999", MIN),
    "a huge int": (10**5000, MAX),
    "a huge int below zero": (-(10**5000), MIN),
}


@pytest.mark.parametrize(("value", "want"), LONG.values(), ids=LONG)
def test_long_numbers_are_read_in_no_time(value: str | int, want: int) -> None:
    assert request_value("memory", value) == want


NUMBERS: dict[str, tuple[int | float, Fraction | int]] = {
    "int": (5, 5),
    "negative int": (-5, -5),
    "int beyond 64 bits": (10**20, 10**20),
    "float": (0.5, Fraction(1, 2)),
    "float that is no binary fraction": (0.1, Fraction(1, 10)),
    "small float": (1e-7, Fraction(1, 10**7)),
    "large float": (1e22, 10**22),
    "whole float": (2.0, 2),
}


@pytest.mark.parametrize(("value", "want"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_read_by_their_text(value: int | float, want: Fraction | int) -> None:
    assert as_fraction(value) == want


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_floats_that_are_no_numbers_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse(value)


# (resource, text) -> request
REQUESTS = {
    "cpu counts in milli": ("cpu", "1", 1000),
    "half a core": ("cpu", "0.5", 500),
    "a finer cpu rounds up": ("cpu", "100u", 1),
    "a finer cpu below zero rounds away": ("cpu", "-1.5m", -2),
    "memory counts in bytes": ("memory", "16Gi", 16 * 2**30),
    "a fraction of a byte rounds up": ("memory", "1500m", 2),
    "a nano byte is a byte": ("memory", "1n", 1),
    "below zero rounds away": ("memory", "-1500m", -2),
    "other resources are whole": ("nvidia.com/gpu", "3", 3),
    "cpu with a binary suffix": ("cpu", "1Ki", 1024000),
    "cpu clamps above": ("cpu", "10P", MAX),
    "cpu at the last milli": ("cpu", "9223372036854775807m", MAX),
    "cpu just below it": ("cpu", "9223372036854775806m", MAX - 1),
    "cpu clamps below": ("cpu", "-10P", MIN),
    "memory clamps above": ("memory", "10E", MAX),
    "memory at the largest": ("memory", "9223372036854775807", MAX),
    "memory at the smallest": ("memory", "-9223372036854775808", MIN),
    "memory clamps below": ("memory", "-10E", MIN),
    "cpu of a petacore": ("cpu", "1P", 10**18),
    "no resource is special but cpu": ("CPU", "1", 1),
}


@pytest.mark.parametrize(("resource", "text", "want"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_in_units_and_clamped(resource: str, text: str, want: int) -> None:
    assert request_value(resource, text) == want


QUOTAS = {
    "cpu counts in milli": ("cpu", "20", 20_000),
    "cpu 1P": ("cpu", "1P", 10**18),
    "cpu 10P is unlimited": ("cpu", "10P", UNLIMITED),
    "cpu 1E is unlimited": ("cpu", "1E", UNLIMITED),
    "cpu at the limit": ("cpu", "9223372036854775", UNLIMITED),
    "cpu a milli below the limit": ("cpu", "9223372036854774999m", 9223372036854774999),
    "cpu that only rounding brings to the limit": (
        "cpu",
        "9223372036854774.9999999",
        9223372036854775000,
    ),
    "memory 1E": ("memory", "1E", 10**18),
    "memory 10E is unlimited": ("memory", "10E", UNLIMITED),
    "memory at the limit": ("memory", "9223372036854775807", UNLIMITED),
    "memory below the limit": ("memory", "9223372036854775806", MAX - 1),
    "memory capped by its binary suffix": ("memory", "9Ei", UNLIMITED),
    "pods": ("pods", "16", 16),
    "zero": ("cpu", "0", 0),
}


@pytest.mark.parametrize(("resource", "text", "want"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_is_in_units_or_unlimited(resource: str, text: str, want: int) -> None:
    assert quota_value(resource, text) == want


SUFFIXES: dict[str, Fraction] = {
    "n": NANO, "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(10**3),
    "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15),
    "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
    "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip


def away(value: Fraction) -> int:
    return math.ceil(value) if value > 0 else math.floor(value)


def clamp(value: int) -> int:
    return max(MIN, min(MAX, value))


digits = st.text("0123456789", max_size=24)


@given(
    sign=st.sampled_from(["", "+", "-"]),
    whole=st.text("0123456789", min_size=1, max_size=24),
    decimals=st.none() | digits,
    suffix=st.sampled_from(sorted(SUFFIXES)) | st.integers(-40, 40).map(lambda power: f"e{power}"),
)
def test_value_and_rounding_match_exact_fractions(
    sign: str, whole: str, decimals: str | None, suffix: str
) -> None:
    text = sign + whole + ("" if decimals is None else "." + decimals) + suffix
    scale = Fraction(10) ** int(suffix[1:]) if suffix[:1] == "e" else SUFFIXES[suffix]
    value = Fraction(int(whole + (decimals or "")), 10 ** len(decimals or "")) * scale
    want = Fraction(away(value / NANO)) * NANO
    if suffix.endswith("i"):
        want = min(want, Fraction(MAX))
    want = -want if sign == "-" else want

    assert as_fraction(text) == want
    assert request_value("cpu", text) == clamp(away(want * 1000))
    assert request_value("memory", text) == clamp(away(want))
    want_cpu_quota = UNLIMITED if want >= MAX // 1000 else clamp(away(want * 1000))
    assert quota_value("cpu", text) == want_cpu_quota
    assert quota_value("memory", text) == (UNLIMITED if want >= MAX else clamp(away(want)))


@given(st.text("0123456789.eEinumkKMGTP+-_ x", max_size=8))
def test_any_text_is_read_or_refused_the_same_each_time(text: str) -> None:
    outcomes: list[tuple[object, str]] = []
    for _ in range(2):  # the second time from the table of seen texts
        try:
            outcomes.append((as_fraction(text), parse(text).format))
        except ValueError as error:
            outcomes.append((str(error), ""))
    assert outcomes[0] == outcomes[1]


@given(st.integers())
def test_an_int_means_what_its_text_means(value: int) -> None:
    assert as_fraction(value) == as_fraction(str(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_a_float_is_its_shortest_decimal(value: float) -> None:
    exact = Fraction(repr(value))
    assert as_fraction(value) == Fraction(away(exact / NANO)) * NANO


def test_more_texts_than_the_table_holds() -> None:
    want = [request_value("cpu", f"{number}m") for number in range(70_000)]
    assert want == list(range(70_000))
    assert request_value("cpu", "3m") == 3
