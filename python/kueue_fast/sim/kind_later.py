"""One look at a thing at the end of an instant, however much happened to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kueue_fast.sim.clock import VirtualClock

__all__ = ["Later"]


class Later:
    """Calls `action(key)` once for a key after what is under way now."""

    def __init__(self, clock: VirtualClock, action: Callable[[Any], None]) -> None:
        self._clock = clock
        self._action = action
        self._asked: set[Any] = set()

    def ask(self, key: Any) -> None:
        """Have the key looked at."""
        if key not in self._asked:
            self._asked.add(key)
            self._clock.schedule(self._clock.now, self._run, key)

    def _run(self, key: Any) -> None:
        self._asked.discard(key)
        self._action(key)
