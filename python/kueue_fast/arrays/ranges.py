"""Ranges of rows in a flat table: given out by length, given back, given out again."""

from __future__ import annotations

from collections import defaultdict


class Ranges:
    """Hands out starts of ranges. Lengths repeat a lot here, so a free list for each length is enough."""

    def __init__(self) -> None:
        self.end = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)

    def take(self, length: int) -> int:
        """Start of a free range of `length` rows; `end` is the size that the table must have."""
        if length == 0:
            return 0
        free = self._free.get(length)
        if free:
            return free.pop()
        start = self.end
        self.end += length
        return start

    def give_back(self, start: int, length: int) -> None:
        """Free a range that `take` gave."""
        if length:
            self._free[length].append(start)
