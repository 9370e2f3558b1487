"""Virtual time: a heap of what happens next, ordered by (time, sequence).

Two entries at one instant keep the order in which they were scheduled, so that the same input always gives the
same run. Nothing here sleeps and nothing reads the wall clock.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, TypeAlias

__all__ = ["VirtualClock"]

Action: TypeAlias = Callable[[Any], None]


class VirtualClock:
    """The time of a simulation, in nanoseconds since 1970, and what is still to happen."""

    __slots__ = ("_heap", "_pending", "_sequence", "now")

    def __init__(self, start_ns: int) -> None:
        self.now = start_ns
        self._sequence = 0
        self._heap: list[tuple[int, int, Action, Any]] = []
        # Sequence numbers of the entries that are still to happen; others in the heap were cancelled.
        self._pending: set[int] = set()

    def schedule(self, at_ns: int, action: Action, argument: Any = None) -> int:
        """Have `action(argument)` called at `at_ns`; returns what `cancel` takes.

        A time that has passed means now, after what already waits for now.
        """
        self._sequence += 1
        heappush(self._heap, (max(at_ns, self.now), self._sequence, action, argument))
        self._pending.add(self._sequence)
        return self._sequence

    def cancel(self, entry: int) -> None:
        """Have an entry not happen; one that has happened, or was cancelled, is left alone."""
        self._pending.discard(entry)

    def next_time(self) -> int | None:
        """Time of the next entry, None when nothing is scheduled."""
        heap = self._heap
        while heap and heap[0][1] not in self._pending:
            heappop(heap)
        return heap[0][0] if heap else None

    def advance(self, to_ns: int) -> None:
        """Move the clock forward.

        Raises ValueError when `to_ns` lies in the past: virtual time never goes back.
        """
        if to_ns < self.now:
            raise ValueError(f"clock stands at {self.now} ns and cannot go back to {to_ns} ns")
        self.now = to_ns

    def run_due(self) -> int:
        """Carry out every entry that is due now, those that its actions add for now included; returns how many."""
        done = 0
        heap, pending = self._heap, self._pending
        while heap and heap[0][0] <= self.now:
            _, entry, action, argument = heappop(heap)
            if entry in pending:
                pending.remove(entry)
                action(argument)
                done += 1
        return done

    def __len__(self) -> int:
        return len(self._pending)
