"""The client's own speed limit, as client-go has it: one token bucket for all requests of the process.

Source: OP-740, OP-940.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

__all__ = ["RateLimit"]


class RateLimit:
    """`qps` requests a second on average, `burst` at once. A negative `qps` is no limit; with 0 there are `burst` and
    no more. `now` returns seconds of a clock that never goes back.
    """

    def __init__(self, qps: float, burst: int, now: Callable[[], float]) -> None:
        self._qps = qps
        self._burst = burst
        self._now = now
        self._tokens = float(burst)
        self._filled_at = now()

    def reserve(self) -> float:
        """Take a token, and return in how many seconds it is there: 0 is now, infinity never."""
        if self._qps < 0:
            return 0.0
        now = self._now()
        self._tokens = min(float(self._burst), self._tokens + (now - self._filled_at) * self._qps)
        self._filled_at = now
        if self._qps == 0 and self._tokens < 1:
            return math.inf
        self._tokens -= 1
        return 0.0 if self._tokens >= 0 else -self._tokens / self._qps

    async def wait(self) -> None:
        """Return when a request may go out; those that wait go in the order in which they asked."""
        seconds = self.reserve()
        if seconds == math.inf:
            await asyncio.Event().wait()
        elif seconds > 0:
            await asyncio.sleep(seconds)
