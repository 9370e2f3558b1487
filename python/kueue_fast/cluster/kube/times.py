"""Times with microseconds, as Leases and Events carry them."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["micro_time"]


def micro_time(time_ns: int) -> str:
    """A metav1.MicroTime of a time in ns since 1970: RFC 3339, always six digits, in UTC."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"
