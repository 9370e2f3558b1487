"""One look at a thing at the end of an instant, however much happened to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kueue_fast.errors import InputError
from kueue_fast.sim.clock import VirtualClock

__all__ = ["Later"]


MOST_LOOKS: Final = 1000


class Later:
    """Calls `action(key)` once for a key after what is under way now.

    Raises InputError when a key is looked at so often at one instant that it cannot be coming to rest.
    """

    def __init__(self, clock: VirtualClock, action: Callable[[Any], None]) -> None:
        self._clock = clock
        self._action = action
        self._asked: set[Any] = set()
        # Looks at the present instant, and which that is.
        self._looks: dict[Any, int] = {}
        self._at = clock.now

    def ask(self, key: Any) -> None:
        """Have the key looked at."""
        if key not in self._asked:
            self._asked.add(key)
            self._clock.schedule(self._clock.now, self._run, key)

    def _run(self, key: Any) -> None:
        self._asked.discard(key)
        if self._clock.now != self._at:
            self._looks.clear()
            self._at = self._clock.now
        looks = self._looks[key] = self._looks.get(key, 0) + 1
        if looks > MOST_LOOKS:
            raise InputError("its controllers do not come to rest", object="/".join(filter(None, key)))
        self._action(key)
