"""Amounts in words, and arithmetic that does not wrap. The wanted texts were taken down from Go's own formatter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_fast.model.quantities import (
    MAX,
    MIN,
    UNLIMITED,
    add,
    canonical_text,
    format_amount,
    format_quantity,
    multiply,
    request_value,
    saturate,
    subtract,
)

FORMATS = {
    "cpu in milli": ("cpu", 1500, "1500m"),
    "whole cpu": ("cpu", 128_000, "128"),
    "many cpu": ("cpu", 20_000_000, "20k"),
    "negative cpu": ("cpu", -500, "-500m"),
    "no cpu": ("cpu", 0, "0"),
    "the largest request of cpu": ("cpu", MAX, "9223372036854775807m"),
    "no memory": ("memory", 0, "0"),
    "memory below 1024": ("memory", 1000, "1k"),
    "memory that no binary suffix fits": ("memory", 100_000, "100k"),
    "memory with a common power": ("memory", 128_000, "125Ki"),
    "memory of 1.5Gi": ("memory", 1_610_612_736, "1536Mi"),
    "memory of one more byte": ("memory", 1025, "1025"),
    "negative memory": ("memory", -2048, "-2Ki"),
    "the most memory": ("memory", 2**60, "1Ei"),
    "the least memory": ("memory", MIN, "-9223372036854775808"),
    "ephemeral storage": ("ephemeral-storage", 2**30, "1Gi"),
    "huge pages": ("hugepages-2Mi", 2**21, "2Mi"),
    "pods": ("pods", 16, "16"),
    "many pods": ("pods", 1000, "1k"),
    "other resources are decimal": ("nvidia.com/gpu", 1024, "1024"),
    "large others": ("example.com/gpu", 10**18, "1E"),
}


@pytest.mark.parametrize(("resource", "value", "want"), FORMATS.values(), ids=FORMATS)
def test_an_amount_is_written_as_upstream_writes_it(resource: str, value: int, want: str) -> None:
    assert format_quantity(resource, value) == want


def test_named_resources_count_in_bytes() -> None:
    assert format_amount("example.com/mem", 2048, {"example.com/mem"}) == "2Ki"
    assert format_amount("example.com/other", 2048, {"example.com/mem"}) == "2048"


def test_unlimited_has_a_word() -> None:
    assert format_amount("cpu", UNLIMITED) == "<unlimited>"


@given(st.sampled_from(["cpu", "memory", "pods"]), st.integers(MIN, MAX))
def test_what_is_written_reads_back(resource: str, value: int) -> None:
    assert request_value(resource, format_quantity(resource, value)) == value


SUMS = {
    "bounded": (1, 2, 3),
    "unlimited absorbs on the left": (UNLIMITED, -5, UNLIMITED),
    "unlimited absorbs on the right": (MIN, UNLIMITED, UNLIMITED),
    "an overflow becomes unlimited": (MAX - 5, 100, UNLIMITED),
    "an underflow stays at the smallest": (MIN, -1, MIN),
}


@pytest.mark.parametrize(("a", "b", "want"), SUMS.values(), ids=SUMS)
def test_add(a: int, b: int, want: int) -> None:
    assert add(a, b) == want


DIFFERENCES = {
    "bounded": (1, 2, -1),
    "both unlimited": (UNLIMITED, UNLIMITED, 0),
    "only the left unlimited": (UNLIMITED, 5, UNLIMITED),
    "only the right unlimited": (5, UNLIMITED, MIN),
    "an overflow": (MAX - 1, -100, MAX),
    "an underflow": (MIN, 1, MIN),
}


@pytest.mark.parametrize(("a", "b", "want"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_subtract(a: int, b: int, want: int) -> None:
    assert subtract(a, b) == want


PRODUCTS = {
    "bounded": (3, -4, -12),
    "overflow of equal signs": (MIN, -1, MAX),
    "overflow of different signs": (MAX, -2, MIN),
    "zero": (MAX, 0, 0),
}


@pytest.mark.parametrize(("a", "b", "want"), PRODUCTS.values(), ids=PRODUCTS)
def test_multiply(a: int, b: int, want: int) -> None:
    assert multiply(a, b) == want


@given(st.integers())
def test_saturate(value: int) -> None:
    assert saturate(value) == max(MIN, min(MAX, value))


CANONICAL: dict[str, tuple[str | int | float, str]] = {
    "zero": ("0", "0"),
    "zero with a suffix": ("0Ki", "0"),
    "a fraction": ("0.1", "100m"),
    "thousands": (12000, "12k"),
    "no round number": ("12345", "12345"),
    "billionths": ("1234567n", "1234567n"),
    "millionths": ("0.0001", "100u"),
    "binary": ("1024Mi", "1Gi"),
    "a binary fraction": ("1.5Gi", "1536Mi"),
    "binary that is no whole number": ("1.0001Ki", "1024102400u"),
    "binary below 1024": ("0.5Ki", "512"),
    "negative binary": ("-2Ki", "-2Ki"),
    "the largest suffix": ("1Ei", "1Ei"),
    "an exponent": ("1000000e3", "1e9"),
    "a negative exponent": ("12e-3", "12e-3"),
    "an exponent that is not needed": ("5e0", "5"),
}


@pytest.mark.parametrize("case", CANONICAL)
def test_canonical_text(case: str) -> None:
    value, want = CANONICAL[case]
    assert canonical_text(value) == want
    assert canonical_text(want) == want
