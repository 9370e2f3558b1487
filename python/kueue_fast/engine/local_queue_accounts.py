"""What workloads do to the past use of their LocalQueues: counted while admitted, charged when assumed, settled, void.

Without admission fair sharing nothing here does anything. Source: QC-84..86.
"""

from __future__ import annotations

from kueue_fast.arrays.tables import NONE
from kueue_fast.arrays.workloads import ADMITTED, Record
from kueue_fast.engine.state import State


class LocalQueueAccounts:
    """Carries workload events to the ledger. A workload counts while it is admitted and its quota is booked."""

    def __init__(self, state: State) -> None:
        self._state = state

    def booked(self, record: Record) -> None:
        """Its quota was booked."""
        if record.state == ADMITTED:
            self._count(record, 1)

    def releasing(self, record: Record) -> None:
        """Its quota is about to be released."""
        if record.state == ADMITTED:
            self._count(record, -1)

    def changed(self, record: Record, before: int) -> None:
        """It holds the same quota as before, but came to be admitted or ceased to be."""
        if (before == ADMITTED) != (record.state == ADMITTED) and self._reserved_in(record) != NONE:
            self._count(record, 1 if record.state == ADMITTED else -1)

    def moved(self, record: Record, number: int) -> None:
        """It is about to belong to the LocalQueue `number`, with what it counts for; the old one's penalty is void."""
        fairness = self._state.fairness
        if fairness is None or number == record.local_queue:
            return
        self.void(record)
        if record.state == ADMITTED and self._reserved_in(record) != NONE:
            held = self._held_amounts(record)
            fairness.count(record.local_queue, held, -1)
            fairness.count(number, held, 1)

    def admitted(self, record: Record) -> None:
        """It came to be admitted, and counts already: what it was charged becomes consumption (QC-86).

        Upstream asks the ClusterQueue for the LocalQueue: without one that leads there nothing is settled.
        """
        state = self._state
        queue = self._reserved_in(record)
        if state.fairness is None or queue == NONE or not state.tables.flavors.usage_based[queue]:
            return
        local = state.local_queues.get(state.local_queue_names[record.local_queue])
        if local is not None and local.cluster_queue == state.by_row[queue].name:
            state.fairness.settle(record.local_queue, record.key, state.now_ns)

    def charge(self, record: Record, queue: int) -> None:
        """A cycle assumed it: it pays its entry penalty where the ClusterQueue orders by use (QC-85)."""
        state = self._state
        if state.fairness is None or not state.tables.flavors.usage_based[queue]:
            return
        declared = None
        if state.tables.scheduler.assigner.ignore_undeclared:
            declared = {
                name
                for group in state.by_row[queue].spec.resource_groups or ()
                for name in group.covered_resources or ()
            }
        requests: dict[str, int] = {}
        assert record.layout is not None
        for pod_set, pods in zip(record.layout.pod_sets, record.layout.classes, strict=True):
            count = pod_set.count - min(pod_set.reclaimed, pod_set.count)
            for name, amount in pods.requests:
                if declared is None or name in declared:
                    requests[name] = requests.get(name, 0) + amount * count
        state.fairness.charge(record.local_queue, record.key, requests, state.now_ns)

    def void(self, record: Record) -> None:
        """It will never settle what it was charged (QC-86)."""
        if self._state.fairness is not None:
            self._state.fairness.drop(record.local_queue, record.key)

    def _count(self, record: Record, sign: int) -> None:
        if self._state.fairness is not None:
            held, queue = self._held_amounts(record), self._reserved_in(record)
            self._state.fairness.count(record.local_queue, held, sign, queue)

    def _reserved_in(self, record: Record) -> int:
        return int(self._state.tables.workloads.reserved_in[record.row])

    def _held_amounts(self, record: Record) -> dict[str, int]:
        """What it holds of each resource, over all flavors."""
        names = self._state.tables.resource_names
        held: dict[str, int] = {}
        for resource, _, flavor, amount in self._state.tables.workloads.slots_of(record.row):
            if flavor >= 0:
                held[names[resource]] = held.get(names[resource], 0) + amount
        return held
