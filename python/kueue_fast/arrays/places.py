"""Numbers of places: what a domain of a TopologyAssignment is called, kept while nodes and trees come and go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from kueuecore._topology import Topologies
from numpy.typing import NDArray

SHARED_HOSTS = ""
"""The space of host names that all hostname topologies share; the other spaces have the names of their flavors."""


class Places:
    """Numbers of domain ids, by space. Given out once and never again: bookings of workloads keep them."""

    def __init__(self, topologies: Topologies) -> None:
        self._topologies = topologies
        self._numbers: dict[str, dict[str, int]] = {}
        self._ids: list[str] = []

    def intern(self, space: str, domain: str) -> int:
        """The number of a domain id, a new one if it has none."""
        numbers = self._numbers.setdefault(space, {})
        place = numbers.get(domain)
        if place is None:
            place = self._add(numbers, [domain])
        return place

    def intern_all(self, space: str, domains: Sequence[str]) -> NDArray[np.int32]:
        """int32 [domain]: the number of each domain id."""
        numbers = self._numbers.setdefault(space, {})
        new = [domain for domain in dict.fromkeys(domains) if domain not in numbers]
        if new:
            self._add(numbers, new)
        return np.fromiter(map(numbers.__getitem__, domains), np.int32, len(domains))

    def id_of(self, place: int) -> str:
        """The domain id of a place."""
        return self._ids[place]

    def _add(self, numbers: dict[str, int], domains: Sequence[str]) -> int:
        first = len(self._ids)
        room = self._topologies.place_count
        if first + len(domains) > room:
            # Ahead of need, as each call moves the use of all places.
            self._topologies.add_places(first + len(domains) - room + first // 2)
        numbers.update(zip(domains, range(first, first + len(domains)), strict=True))
        self._ids += domains
        return first
