"""Planted mistakes, built only with bounds checks or sanitizers: tools/prove_checks.py expects each to be noticed."""

ctypedef long long int64


def read_past_end(const int64[::1] values):
    """The item behind the last one: IndexError with bounds checks, a report of the address sanitizer without."""
    return values[values.shape[0]]


def overflow(int64 value):
    """One more than `value`: a report of the undefined-behaviour sanitizer where int64 has no such number."""
    return value + 1
