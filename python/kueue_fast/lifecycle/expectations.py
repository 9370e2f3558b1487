"""Writes that have been sent and not been seen: what is decided meanwhile would be decided on old facts.

Source: TP-1803.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

__all__ = ["Expectations"]


class Expectations:
    """UIDs of pods that were written, by the key of their Workload."""

    def __init__(self) -> None:
        self._expected: dict[str, set[str]] = {}

    def expect(self, key: str, uids: Iterable[str]) -> None:
        """Before a batch is written: nothing more for this key until each of these was seen."""
        self._expected.setdefault(key, set()).update(uids)
        if not self._expected[key]:
            del self._expected[key]

    def observed(self, key: str, uid: str) -> None:
        """A pod was seen as it was written, is gone, or could not be written, or did not need to be."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.discard(uid)
            if not expected:
                del self._expected[key]

    def pending(self, key: str) -> Set[str]:
        """UIDs that have not been seen; none is what one waits for."""
        return self._expected.get(key, frozenset())
