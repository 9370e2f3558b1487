"""Where two records differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["Difference", "differences"]

ABSENT = "<absent>"


class Difference(NamedTuple):
    """A place, with what upstream and what we made of it."""

    place: str
    upstream: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.place}\n    upstream: {self.upstream}\n    ours:     {self.ours}"


def differences(upstream: Any, ours: Any, place: str = "") -> Iterator[Difference]:
    """Down to values that differ; lists are compared as a whole."""
    if isinstance(upstream, dict) and isinstance(ours, dict):
        for name in sorted({*upstream, *ours}):
            below = f"{place} > {name}" if place else name
            yield from differences(upstream.get(name, ABSENT), ours.get(name, ABSENT), below)
    elif upstream != ours:
        yield Difference(place, upstream, ours)
