"""How long the pods of one start take to be ready, and when one of them is lost, as annotations say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.lifecycle_facts import LifecycleFacts

__all__ = ["Readiness"]

NOW: Final = 0


class Readiness:
    """Counts the starts of what runs, by uid or another key, and tells when its pods are ready and when not."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._starts: dict[Any, int] = {}
        self._entries: dict[Any, list[int]] = {}

    def begin(self, key: Any, facts: LifecycleFacts, tell: Callable[[Any, bool], None]) -> int | None:
        """Something starts: how long its pods take to be ready, in ns; None: for ever.

        Zero means at once: `tell(key, ready)` is called for later changes alone.
        """
        self.end(key)
        if not facts.ready_after and not facts.pod_loss:
            return NOW
        start = self._starts.get(key, 0)
        self._starts[key] = start + 1
        delay = facts.ready_after[min(start, len(facts.ready_after) - 1)] if facts.ready_after else NOW
        entries = self._entries[key] = []
        if delay is None:
            return None
        now = self._clock.now
        if delay > 0:
            entries.append(self._clock.schedule(now + delay, partial(_tell, tell, True), key))
        for after, length in facts.pod_loss:
            lost = now + delay + after
            entries.append(self._clock.schedule(lost, partial(_tell, tell, False), key))
            if length is not None:
                entries.append(self._clock.schedule(lost + length, partial(_tell, tell, True), key))
        return delay

    def end(self, key: Any) -> None:
        """What was to come of this start will not."""
        for entry in self._entries.pop(key, ()):
            self._clock.cancel(entry)


def _tell(tell: Callable[[Any, bool], None], ready: bool, key: Any) -> None:
    tell(key, ready)
