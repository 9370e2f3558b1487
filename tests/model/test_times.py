"""RFC 3339 times and Go durations, as nanoseconds."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_fast.model import times

NOON = 1_769_860_800 * 10**9  # 2026-01-31T12:00:00Z

PARSED = {
    "the form that Kubernetes writes": ("2026-01-31T12:00:00Z", NOON),
    "the epoch": ("1970-01-01T00:00:00Z", 0),
    "before the epoch": ("1969-12-31T23:59:59Z", -(10**9)),
    "a leap day": ("2024-02-29T00:00:00Z", 1_709_164_800 * 10**9),
    "micro digits": ("2026-01-31T12:00:00.000001Z", NOON + 1000),
    "one digit": ("2026-01-31T12:00:00.5Z", NOON + 500_000_000),
    "nano digits": ("2026-01-31T12:00:00.123456789Z", NOON + 123_456_789),
    "more digits are dropped": ("2026-01-31T12:00:00.1234567899Z", NOON + 123_456_789),
    "a fraction before the epoch": ("1969-12-31T23:59:59.5Z", -500_000_000),
    "an offset east": ("2026-01-31T14:30:00+02:30", NOON),
    "an offset west": ("2026-01-31T11:00:00-01:00", NOON),
    "a fraction and an offset": ("2026-01-31T13:00:00.5+01:00", NOON + 500_000_000),
    "no offset in digits": ("2026-01-31T12:00:00+00:00", NOON),
}


@pytest.mark.parametrize(("text", "want"), PARSED.values(), ids=PARSED)
def test_a_time_is_nanoseconds_since_1970(text: str, want: int) -> None:
    assert times.parse(text) == want


REFUSED_TIMES = {
    "nothing": "",
    "a date": "2026-01-31",
    "no zone": "2026-01-31T12:00:00",
    "a space for the T": "2026-01-31 12:00:00Z",
    "a small z": "2026-01-31T12:00:00z",
    "a day that does not exist": "2026-02-30T12:00:00Z",
    "a month that does not exist": "2026-13-01T12:00:00Z",
    "the year 0": "0000-01-01T00:00:00Z",
    "hour 24": "2026-01-31T24:00:00Z",
    "minute 60": "2026-01-31T12:60:00Z",
    "a leap second": "2016-12-31T23:59:60Z",
    "an offset that does not exist": "2026-01-31T12:00:00+24:00",
    "a week date of the same length": "2026-W05-6T12:00:00Z",
    "letters": "2026-01-31T1a:00:00Z",
    "signs": "2026-01-31T+1:00:00Z",
    "spaces in digits": "2026-01-31T 1:00:00Z",
    "digits of another script": "2026-01-31T12:00:0\u0661Z",
    "a line end": "2026-01-31T12:00:00Z\n",
    "no digits after the point": "2026-01-31T12:00:00.Z",
    "a number": "1769860800",
}


@pytest.mark.parametrize("text", REFUSED_TIMES.values(), ids=REFUSED_TIMES)
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="expected a time such as 2026-01-31T12:00:00Z") as caught:
        times.parse(text)
    assert repr(text) in str(caught.value)


def test_a_long_text_is_cut_in_the_message() -> None:
    for parse in (times.parse, times.parse_duration):
        with pytest.raises(ValueError, match="is not a") as caught:
            parse("1" * 1_000_000)
        assert len(str(caught.value)) < 200


def test_a_time_is_written_in_whole_seconds() -> None:
    assert times.format(NOON + 999_999_999) == "2026-01-31T12:00:00Z"
    assert times.format(-1) == "1969-12-31T23:59:59Z"
    assert times.format_micro(NOON + 1_999) == "2026-01-31T12:00:00.000001Z"


@pytest.mark.parametrize("nanoseconds", [10**30, -(10**20) * 5, 253_402_300_800 * 10**9])
def test_a_time_outside_the_calendar_is_refused(nanoseconds: int) -> None:
    with pytest.raises(ValueError, match="expected one in the years 1 to 9999"):
        times.format(nanoseconds)


@given(st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(microsecond=0)))
def test_times_read_back(time: datetime) -> None:
    nanoseconds = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1) * 10**9
    text = times.format(nanoseconds)
    assert text == f"{time:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")
    want_nanoseconds = max(-(2**63), min(nanoseconds, 2**63 - 1))
    assert times.parse(text) == times.parse(text.replace("Z", "+00:00")) == want_nanoseconds


def test_a_time_beyond_64_bits_comes_first_or_last() -> None:
    assert times.parse("0001-01-02T00:00:00Z") == -(2**63)
    assert times.parse("9999-12-31T23:59:59Z") == 2**63 - 1


DURATIONS = {
    "hours": ("2h", 2 * 3600 * 10**9),
    "minutes": ("5m", 300 * 10**9),
    "a fraction of seconds": ("1.5s", 1_500_000_000),
    "milliseconds": ("300ms", 300_000_000),
    "microseconds": ("7us", 7_000),
    "microseconds in Greek": ("7\u00b5s", 7_000),
    "nanoseconds": ("9ns", 9),
    "several units": ("1h30m10s", 5410 * 10**9),
    "zero needs no unit": ("0", 0),
    "below zero": ("-1.5h", -5400 * 10**9),
    "no digit before the point": (".5s", 500_000_000),
}


@pytest.mark.parametrize(("text", "want"), DURATIONS.values(), ids=DURATIONS)
def test_a_duration_is_nanoseconds(text: str, want: int) -> None:
    assert times.parse_duration(text) == want


REFUSED_DURATIONS = {
    "nothing": "",
    "no unit": "5",
    "an unknown unit": "5d",
    "a space": "5 m",
    "a space after": "5m ",
    "a line end": "5m\n",
    "words": "soon",
    "only a sign": "-",
    "only a unit": "s",
    "digits of another script": "\u0661s",
    "more than 292 years": "3000000h",
}


@pytest.mark.parametrize("text", REFUSED_DURATIONS.values(), ids=REFUSED_DURATIONS)
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: expected") as caught:
        times.parse_duration(text)
    assert repr(text) in str(caught.value)


WRITTEN = {
    "zero": (0, "0s"),
    "nanoseconds": (9, "9ns"),
    "microseconds": (1_500, "1.5\u00b5s"),
    "milliseconds": (300_000_000, "300ms"),
    "seconds": (2_050_000_000, "2.05s"),
    "minutes": (300 * 10**9, "5m0s"),
    "hours": (5400 * 10**9, "1h30m0s"),
    "below zero": (-1_500_000_000, "-1.5s"),
}


@pytest.mark.parametrize(("nanoseconds", "want"), WRITTEN.values(), ids=WRITTEN)
def test_a_duration_is_written_as_go_writes_it(nanoseconds: int, want: str) -> None:
    assert times.format_duration(nanoseconds) == want


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_durations_read_back(nanoseconds: int) -> None:
    assert times.parse_duration(times.format_duration(nanoseconds)) == nanoseconds
