"""Times as the API writes them (RFC 3339) and as everything inside counts them: int nanoseconds since 1970, UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from kueue_fast.api.configuration_types import parse_duration as _parse_duration

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000

_DAY: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_PATTERN: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
# Creation times repeat within a second of a busy cluster, and each is read again at every event of its object.
_KNOWN: Final[dict[str, int]] = {}
_MOST_KNOWN: Final = 4096
_EXPECTED: Final = "a time such as 2026-01-31T12:00:00Z"


def parse(text: str) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time; digits after the ninth of a fraction are dropped.

    What does not fit 64 bits (before 1678, after 2261) is the first or the last time that does: it still comes
    before or after everything else.
    Raises ValueError quoting the text if it is no such time.
    """
    # The form that Kubernetes writes, by Python's own reader. That one takes more than RFC 3339 does,
    # so what stands between the digits is looked at first (and hour 24, which it takes from 3.13 on).
    known = _KNOWN.get(text)
    if known is not None:
        return known
    if len(text) == 20 and text[4:17:3] == "--T::" and text[19] == "Z" and text[11:13] != "24":
        try:
            since = datetime.fromisoformat(text) - _EPOCH
        except ValueError:
            return _parse_any(text)  # for its words
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        found = _KNOWN[text] = _fitting((since.days * _DAY + since.seconds) * SECOND)
        return found
    return _parse_any(text)


def format(nanoseconds: int) -> str:
    """The RFC 3339 text of a time, in UTC, whole seconds: the API keeps no fractions of them.

    Raises ValueError outside the years 1 to 9999.
    """
    try:
        time = _EPOCH + timedelta(seconds=nanoseconds // SECOND)
    except OverflowError:
        raise ValueError(f"{nanoseconds} ns is no time: expected one in the years 1 to 9999") from None
    return time.isoformat()[:19] + "Z"


def format_micro(nanoseconds: int) -> str:
    """The RFC 3339 text of a time, in UTC, with the six digits that events and leases carry."""
    return f"{format(nanoseconds)[:-1]}.{nanoseconds % SECOND // 1000:06}Z"


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration such as `2h`, `1h30m`, `1.5s`, `300ms`, `0`.

    Raises ValueError quoting the text if it is none. Source: OP-226.
    """
    shown = text if len(text) <= 60 else text[:60] + "..."
    if len(text) > 200 or text != text.strip():
        raise ValueError(f"{shown!r} is not a duration: expected one such as 30s, 5m or 1h30m")
    return _parse_duration(text)


def format_duration(nanoseconds: int) -> str:
    """A duration as Go writes it: `1h30m0s`, `1.5s`, `300ms`, `0s`."""
    if nanoseconds < 0:
        return f"-{format_duration(-nanoseconds)}"
    if nanoseconds < SECOND:
        for unit, size in (("ms", MILLISECOND), ("µs", 1_000), ("ns", 1)):
            if nanoseconds >= size:
                return f"{_decimal(nanoseconds, size)}{unit}"
        return "0s"
    minutes, rest = divmod(nanoseconds, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _decimal(value: int, size: int) -> str:
    """value / size without zeros at the end; size is a power of ten."""
    whole, fraction = divmod(value, size)
    if not fraction:
        return str(whole)
    return f"{whole}.{fraction:0{len(str(size)) - 1}}".rstrip("0")


def _parse_any(text: str) -> int:
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise _not_a_time(text)
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    try:
        date = datetime(year, month, day, tzinfo=UTC)
    except ValueError as error:
        raise _not_a_time(text, f" ({error})") from None
    if hour > 23 or minute > 59 or second > 59:
        raise _not_a_time(text, " (the time of day does not exist)")
    seconds = (date - _EPOCH) // timedelta(seconds=1)
    seconds += hour * 3600 + minute * 60 + second
    sign, offset_hours, offset_minutes = match.group(8, 9, 10)
    if sign:
        if int(offset_hours) > 23 or int(offset_minutes) > 59:
            raise _not_a_time(text, " (the offset does not exist)")
        offset = int(offset_hours) * 3600 + int(offset_minutes) * 60
        seconds += offset if sign == "-" else -offset
    fraction = (match.group(7) or "")[:9].ljust(9, "0")
    return _fitting(seconds * SECOND + int(fraction))


def _fitting(nanoseconds: int) -> int:
    return max(-(2**63), min(nanoseconds, 2**63 - 1))


def _not_a_time(text: str, why: str = "") -> ValueError:
    shown = text if len(text) <= 60 else text[:60] + "..."
    return ValueError(f"{shown!r} is not a time{why}: expected {_EXPECTED}")
