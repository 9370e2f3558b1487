"""What is cleaned up at some time, and would not keep a run going by itself."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

__all__ = ["Housekeeping"]


class Housekeeping:
    """Calls `action(argument)` at given times, as long as the run lasts."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callable[[Any], None], Any]] = []
        self._sequence = 0

    def schedule(self, at_ns: int, action: Callable[[Any], None], argument: Any) -> None:
        """Have something cleaned up at `at_ns`, in ns since 1970."""
        self._sequence += 1
        heappush(self._heap, (at_ns, self._sequence, action, argument))

    def restart(self) -> None:
        """What was to be cleaned up is forgotten: whoever asked for it looks again."""
        self._heap.clear()

    def next_time(self) -> int | None:
        """When the next is due, None when nothing is."""
        return self._heap[0][0] if self._heap else None

    def run_due(self, now_ns: int) -> None:
        """Do what is due."""
        while self._heap and self._heap[0][0] <= now_ns:
            _, _, action, argument = heappop(self._heap)
            action(argument)
