"""Rows of the kernel's pod table: what one pod takes from the node on which it stands. Source: TP-501."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kueue_fast.arrays.tables import Tables


class PodRows:
    """One row for all pods that take the same."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._rows: dict[tuple[tuple[str, int], ...], int] = {}
        self._items = 0

    def row(self, amounts: Mapping[str, int]) -> int:
        """The row of these amounts by resource; the pod itself (`pods: 1`) is not among them.

        Items stand in byte order of the resources' names, so that the first of equals limits (TP-705).
        """
        key = tuple(sorted(amounts.items(), key=lambda item: item[0].encode()))
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self._rows)
            self._write(row, key)
        return row

    def _write(self, row: int, items: tuple[tuple[str, int], ...]) -> None:
        resources = [self._tables.resource(name) for name, _ in items]
        topologies = self._tables.topologies
        start, self._items = self._items, self._items + len(items)
        topologies.item_resource = _room(np.asarray(topologies.item_resource), self._items)
        topologies.item_amount = _room(np.asarray(topologies.item_amount), self._items)
        topologies.pods_start = _room(np.asarray(topologies.pods_start), row + 1)
        topologies.pods_length = _room(np.asarray(topologies.pods_length), row + 1)
        topologies.pods_start[row] = start
        topologies.pods_length[row] = len(items)
        for place, (resource, (_, amount)) in enumerate(zip(resources, items, strict=True), start):
            topologies.item_resource[place] = resource
            topologies.item_amount[place] = amount


def _room(array: np.ndarray, length: int) -> np.ndarray:
    """The array with room for at least so many entries; new ones are 0."""
    if length <= len(array):
        return array
    grown = np.zeros(max(length, 2 * len(array), 16), array.dtype)
    grown[: len(array)] = array
    return grown
