"""Workloads to rows: what the engine remembers of each, and the writing of its row and slots.

Of a Workload object only what scheduling needs is kept: a hundred thousand pending ones must fit (about 1 KB each).
Source: QC-2, QC-59..62.
"""

from __future__ import annotations

import msgspec

from kueue_fast.api.kueue import Admission, Workload
from kueue_fast.arrays.decisions import PodSetAssignment
from kueue_fast.arrays.layouts import Layout, Layouts
from kueue_fast.arrays.ranges import Ranges
from kueue_fast.arrays.tables import NONE, Tables
from kueue_fast.errors import InputError
from kueue_fast.model.quantities import request_value

PENDING, ASSUMED, RESERVED, ADMITTED = range(4)
"""How far a workload is: ASSUMED was admitted in a cycle and not yet seen with its reservation."""


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What of a pending workload matters to its place in the queue (QC-27)."""

    priority: int
    timestamp: int
    requeue_at: int
    requeue_blocked: bool
    checks_failed: bool
    marks: object  # conditions Evicted and Requeued, closed preemption gate: compared as a whole


class Record(msgspec.Struct, gc=False):
    """What is remembered of one workload. The garbage collector skips it: it is in no cycle, and there are many."""

    key: str
    namespace: str
    row: int
    uid: str
    state: int = PENDING
    queueable: bool = False
    """May wait in a queue: active, not gated, not on hold (QC-56)."""
    layout: Layout | None = None
    facts: Facts | None = None
    local_queue: int = NONE
    slot_start: int = 0
    slot_length: int = 0
    admission: tuple[str, tuple[PodSetAssignment, ...]] | None = None
    """Of a reserved one: ClusterQueue, and assignments to compare."""
    late: Workload | None = None
    """Of an assumed one: how the object looks by now, in case the admission cannot be written."""


class WorkloadRows:
    """Records by key and by row, and their rows in the kernel."""

    def __init__(self, tables: Tables, layouts: Layouts) -> None:
        self.tables = tables
        self.layouts = layouts
        self.records: dict[str, Record] = {}
        self.by_row: list[Record | None] = []
        self.keys: list[str] = []  # [row] key of the workload, for decisions: a record costs one more look-up
        self._free: list[int] = []
        self._slots = Ranges()
        self._put_new = tables.pending.put_new
        self._uid_width = tables.workloads.uid.shape[1]
        self._capacity = 0
        self._slot_capacity = 0

    def add(self, key: str, namespace: str, uid: str) -> Record:
        """A record and a row for a workload that is new."""
        row = self._take_row(uid)
        record = Record(key, namespace, row, uid)
        self.records[key] = record
        self.by_row[row] = record
        self.keys[row] = record.key
        return record

    def add_pending(
        self, record: Record, queue: int, namespace: int, shape: int, generation: int | None
    ) -> None:
        """Take in a record that its maker filled, of a workload that is new and waits, and queue it."""
        layout, facts = record.layout, record.facts
        assert layout is not None and facts is not None
        record.row = row = self._take_row(record.uid)
        layout.uses += 1
        record.slot_length = layout.slots
        record.slot_start = self._slots.take(layout.slots)
        if self._slots.end > self._slot_capacity:
            self._reserve_slots()
        self.records[record.key] = record
        self.by_row[row] = record
        self.keys[row] = record.key
        self._put_new(
            row, queue, record.local_queue, namespace, shape, facts.priority, facts.timestamp, record.uid,
            layout.start, layout.length, record.slot_start, layout.violation is not None,
            generation or 0,
        )  # fmt: skip

    def _take_row(self, uid: str) -> int:
        if self._free:
            row = self._free.pop()
        else:
            row = len(self.by_row)
            self.by_row.append(None)
            self.keys.append("")
        width = len(uid) if uid.isascii() else len(uid.encode())
        if row >= self._capacity or width > self._uid_width:
            self._uid_width = max(self._uid_width, width)
            self.tables.workloads.reserve(rows=row + 1, uid_width=self._uid_width)
            self._capacity = self.tables.workloads.queue.shape[0]
            self.tables.workloads.reserve(rows=self._capacity)
        return row

    def remove(self, record: Record) -> None:
        """Forget a workload that is neither queued nor booked any more."""
        self._take_slots(record, 0)
        if record.layout is not None:
            self.layouts.release(record.layout)
        self.tables.workloads.clear_row(record.row)
        self.by_row[record.row] = None
        self._free.append(record.row)
        del self.records[record.key]

    def write_pending(
        self, record: Record, layout: Layout, queue: int, local_queue: int, facts: Facts, shape: int
    ) -> None:
        """Write the row of a workload that waits. The flavor scan goes on where it was if the pod sets are the same."""
        keep = record.layout is layout and record.state == PENDING
        if not keep:
            self._set_layout(record, layout)
            self._take_slots(record, layout.slots)
        record.facts = facts
        record.local_queue = local_queue
        record.state = PENDING
        record.admission = None
        self.tables.workloads.write(
            record.row,
            queue,
            local_queue,
            self.tables.namespace(record.namespace),
            shape,
            facts.priority,
            facts.timestamp,
            facts.requeue_at,
            facts.requeue_blocked,
            layout.violation is not None,
            facts.checks_failed,
            record.uid,
            layout.start,
            layout.length,
            record.slot_start,
            keep,
        )

    def write_reserved(
        self, record: Record, workload: Workload, layout: Layout, local_queue: int, facts: Facts
    ) -> None:
        """Write the row of a workload whose reservation comes from the API; the caller books it.

        Raises InputError for an amount that cannot be read. Source: QC-62.
        """
        status = workload.status
        assert status is not None and status.admission is not None
        booked = self._read_admission(workload, status.admission)
        self._set_layout(record, layout)
        self._take_slots(record, len(booked))
        record.facts = facts
        record.local_queue = local_queue
        kernel = self.tables.workloads
        kernel.write(
            record.row, NONE, local_queue, self.tables.namespace(record.namespace), NONE, facts.priority,
            facts.timestamp, 0, False, False, False, record.uid, layout.start, 0, record.slot_start, False,
        )  # fmt: skip
        kernel.slot_length[record.row] = len(booked)
        kernel.pod_set_length[record.row] = layout.length
        for slot, (pod_set, resource, flavor, amount) in enumerate(booked, record.slot_start):
            column_flavor, column_resource = self.tables.flavor(flavor), self.tables.resource(resource)
            self.tables.column(column_flavor, column_resource)
            kernel.write_slot(slot, column_resource, column_flavor, amount, pod_set)

    def _read_admission(self, workload: Workload, admission: Admission) -> list[tuple[int, str, str, int]]:
        """(number of the pod set, resource, flavor, amount), scaled down where pods were reclaimed (QC-62, QP-212)."""
        status = workload.status
        reclaimed = {pod.name: pod.count for pod in (status.reclaimable_pods if status else None) or ()}
        if not self.layouts.reclaimable_pods:
            reclaimed = {}
        counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets or ()}
        place = {pod_set.name: index for index, pod_set in enumerate(workload.spec.pod_sets or ())}
        booked = []
        for number, assignment in enumerate(admission.pod_set_assignments or ()):
            full = counts.get(assignment.name, 0)
            admitted = full if assignment.count is None else assignment.count
            left = full - min(reclaimed.get(assignment.name, 0), full)
            flavors = assignment.flavors or {}
            for resource, quantity in (assignment.resource_usage or {}).items():
                try:
                    amount = request_value(resource, quantity)
                except ValueError as error:
                    field = f"$.status.admission.podSetAssignments[{number}].resourceUsage.{resource}"
                    raise InputError(
                        str(error), object=f"Workload {record_name(workload)}", field=field
                    ) from error
                if left < admitted and admitted > 0:
                    amount = _divide(amount, admitted) * left
                booked.append(
                    (place.get(assignment.name, number), resource, flavors.get(resource, ""), amount)
                )
        return booked

    def _set_layout(self, record: Record, layout: Layout) -> None:
        if record.layout is layout:
            return
        self.layouts.use(layout)
        if record.layout is not None:
            self.layouts.release(record.layout)
        record.layout = layout

    def _take_slots(self, record: Record, length: int) -> None:
        if record.slot_length == length:
            return
        self._slots.give_back(record.slot_start, record.slot_length)
        record.slot_start = self._slots.take(length)
        record.slot_length = length
        if self._slots.end > self._slot_capacity:
            self._reserve_slots()

    def _reserve_slots(self) -> None:
        self.tables.workloads.reserve(slots=self._slots.end)
        self._slot_capacity = self.tables.workloads.slot_resource.shape[0]


def record_name(workload: Workload) -> str:
    """Key of a workload: `namespace/name`."""
    return f"{workload.metadata.namespace}/{workload.metadata.name}"


def _divide(a: int, b: int) -> int:
    """Integer division truncated toward zero, as upstream's is."""
    quotient = abs(a) // b
    return quotient if a >= 0 else -quotient
