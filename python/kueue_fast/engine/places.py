"""Places that workloads hold: from their assignments to the kernel's bookings. Source: TP-501..504, TP-506."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kueue_fast.arrays.decisions import PodSetAssignment
from kueue_fast.arrays.layouts import Layout
from kueue_fast.arrays.tables import NONE
from kueue_fast.arrays.workloads import PENDING, Record
from kueue_fast.engine.state import State


class Places:
    """Writes what admissions say of places. Where a flavor has no tree yet, its places wait for it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._kernel = state.tables.topologies

    def write(self, record: Record) -> None:
        """The places of a reserved workload that is about to be booked."""
        assert record.admission is not None and record.layout is not None
        assignments = record.admission[1]
        if not any(one.placement is not None for one in assignments):
            return
        rows = [row for one in assignments for row in self._rows(record, record.layout, one)]
        self._kernel.write_bookings(record.row, np.array(rows, np.int64).reshape(-1, 5))

    def flavor_came(self, flavor: str) -> None:
        """A flavor has a tree now: book what waited for it."""
        state = self._state
        if not state.topology.exists(flavor):
            return
        for key in sorted(state.unplaced):
            record = state.rows.records.get(key)
            state.unplaced.discard(key)
            if record is None or record.state == PENDING or record.admission is None:
                continue
            if not self.rebook(record):
                self.write(record)

    def flavor_went(self, flavor: str) -> None:
        """A flavor has no tree any more: what was booked there counts nowhere, and waits for another tree (TP-505)."""
        for record in self._state.rows.records.values():
            if (
                record.state != PENDING
                and record.admission is not None
                and any(
                    one.placement is not None and flavor in one.flavors.values()
                    for one in record.admission[1]
                )
            ):
                self.rebook(record)

    def rebook(self, record: Record) -> bool:
        """Book the places of a workload by the trees of now, if it holds quota; returns whether it does."""
        if self._state.tables.workloads.reserved_in[record.row] == NONE:
            return False
        self._kernel.book_workload(record.row, remove=True)
        self.write(record)
        self._kernel.book_workload(record.row)
        return True

    def _rows(
        self, record: Record, layout: Layout, assignment: PodSetAssignment
    ) -> Iterator[tuple[int, int, int, int, int]]:
        if assignment.placement is None or assignment.name not in layout.names:
            return
        state = self._state
        pod_set = layout.names.index(assignment.name)
        pods = state.topology.pods_row(layout.classes[pod_set].pod)
        for flavor in sorted(set(assignment.flavors.values())):
            if not state.topology.exists(flavor):
                state.unplaced.add(record.key)
                continue
            tree = state.tables.flavor(flavor)
            for values, count in assignment.placement.domains:
                yield tree, pod_set, state.topology.place(flavor, values), pods, count
