"""Numbers of the queues as their statuses and metrics show them: who waits, who holds how much.

Source: LC-1703, LC-1712.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from kueue_fast.arrays.quota_tree import COHORT, Quotas
from kueue_fast.arrays.tables import NONE
from kueue_fast.arrays.workloads import ASSUMED, PENDING
from kueue_fast.engine.activity import Activity
from kueue_fast.engine.state import State
from kueue_fast.model.quantities import MAX

__all__ = ["ClusterQueueNumbers", "LocalQueueNumbers", "QueueNumbers", "Waiting", "queue_numbers"]

# `flavor/resource` to an amount in the kernel's units
Usage = Mapping[str, int]
NOTHING: Final[Usage] = {}


class LocalQueueNumbers(NamedTuple):
    """Workloads in the heap, parked, holding quota, and admitted; reserved and admitted amounts.

    `past_use` is what admission fair sharing orders by, None for a LocalQueue that it does not follow.
    """

    active: int
    inadmissible: int
    reserving: int
    admitted: int
    reserved_usage: Usage
    admitted_usage: Usage
    past_use: float | None


class ClusterQueueNumbers(NamedTuple):
    """The same of a ClusterQueue, its quotas, and its dominant resource share over its weight.

    The share is +Inf for weight 0 while borrowing, and 0 without fair sharing (QP-333).
    """

    active: int
    inadmissible: int
    reserving: int
    admitted: int
    reserved_usage: Usage
    admitted_usage: Usage
    quotas: Quotas
    weighted_share: float
    activity: Activity


class QueueNumbers(NamedTuple):
    """All queues at one moment: ClusterQueues by name, LocalQueues by (namespace, name), shares of Cohorts by name."""

    cluster_queues: dict[str, ClusterQueueNumbers]
    local_queues: dict[tuple[str, str], LocalQueueNumbers]
    cohort_shares: dict[str, float]


class Waiting:
    """Who waits in the queues, as upstream counts them: not who waits out a backoff, but who stands before a cycle."""

    def __init__(self, state: State) -> None:
        self._pending = state.tables.pending
        records = state.rows.records
        self._absent = {records[key].row for key in state.backing_off if key in records}
        self.standing: dict[int, list[int]] = {}
        """Rows of workloads that stand, by the row of the ClusterQueue."""
        for key in state.standing:
            record = records.get(key)
            if record is not None and record.state == ASSUMED:
                queue = int(state.tables.workloads.reserved_in[record.row])
                self.standing.setdefault(queue, []).append(record.row)

    def rows(self, queue: int) -> tuple[list[int], list[int]]:
        """Rows of those that are active, and of those that are parked."""
        active = [*self._pending.heap_rows(queue), *self.standing.get(queue, ())]
        parked = self._pending.parked_rows(queue)
        return active, [row for row in parked if row not in self._absent] if self._absent else parked


def queue_numbers(state: State) -> QueueNumbers:
    """Numbers of all queues that the engine knows, as they stand between two cycles."""
    state.tree.refresh()
    queues = Waiting(state)
    held = _Held(state, [row for rows in queues.standing.values() for row in rows])
    waiting: dict[int, list[int]] = {}
    cluster_queues = {}
    forest, tables = state.tables.forest, state.tables
    local_queue = np.asarray(tables.workloads.local_queue)
    for name, entry in state.cluster_queues.items():
        active_rows, parked_rows = queues.rows(entry.row)
        for place, rows in enumerate((active_rows, parked_rows)):
            for number, count in _counted(local_queue[np.array(rows, np.intp)]):
                waiting.setdefault(number, [0, 0])[place] += count
        quotas = state.tree.quotas[entry.row]
        usage = {
            f"{flavor}/{resource}": forest.usage[
                entry.row, tables.column(tables.flavor(flavor), tables.resource(resource))
            ]
            for flavor, resource in quotas
        }
        for row in queues.standing.get(entry.row, ()):
            _subtract(usage, state, row)
        cluster_queues[name] = ClusterQueueNumbers(
            len(active_rows),
            len(parked_rows),
            held.reserving.get(entry.row, 0),
            held.admitted.get(entry.row, 0),
            usage,
            held.admitted_usage.get(entry.row, NOTHING),
            quotas,
            _share(state, entry.row),
            entry.activity,
        )
    local_queues = {}
    for key, local in state.local_queues.items():
        active, inadmissible = waiting.get(local.number, (0, 0))
        if local.row == NONE and not local.held:
            inadmissible = _unplaced(state, local.number)
        local_queues[key] = LocalQueueNumbers(
            active,
            inadmissible,
            held.local_reserving.get(local.number, 0),
            held.local_admitted.get(local.number, 0),
            held.local_reserved_usage.get(local.number, NOTHING),
            held.local_admitted_usage.get(local.number, NOTHING),
            None if state.fairness is None else state.fairness.past_use(local.number),
        )
    shares = {}
    if tables.scheduler.preemptor.fair_sharing:
        for (kind, name), row in tables.nodes.items():
            if kind == COHORT and row in state.tree.explicit and not state.tree.is_cyclic(row):
                shares[name] = _share(state, row)
    return QueueNumbers(cluster_queues, local_queues, shares)


class _Held:
    """Who holds quota: counts and amounts by forest row of the ClusterQueue, and by number of the LocalQueue."""

    def __init__(self, state: State, without: Collection[int]) -> None:
        workloads = state.tables.workloads
        queue = np.asarray(workloads.reserved_in)
        rows = np.flatnonzero(queue != NONE)
        if without:
            rows = np.setdiff1d(rows, np.array(without, rows.dtype), assume_unique=True)
        queue, local = queue[rows], np.asarray(workloads.local_queue)[rows]
        admitted = np.asarray(workloads.admitted)[rows] != 0
        self.reserving = dict(_counted(queue))
        self.admitted = dict(_counted(queue[admitted]))
        self.local_reserving = dict(_counted(local))
        self.local_admitted = dict(_counted(local[admitted]))
        self.admitted_usage: dict[int, dict[str, int]] = {}
        self.local_reserved_usage: dict[int, dict[str, int]] = {}
        self.local_admitted_usage: dict[int, dict[str, int]] = {}
        lengths = np.asarray(workloads.slot_length)[rows]
        starts = np.asarray(workloads.slot_start)[rows]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        slots = np.repeat(starts, lengths) + within
        facts = np.stack(
            [
                np.repeat(queue, lengths).astype(np.int64),
                np.repeat(local, lengths),
                np.repeat(admitted, lengths),
                np.asarray(workloads.slot_flavor)[slots],
                np.asarray(workloads.slot_resource)[slots],
                np.asarray(workloads.slot_amount)[slots],
            ],
            axis=1,
        )
        # Few are different, and Python's integers do not wrap.
        distinct, counts = np.unique(facts[facts[:, 3] >= 0], axis=0, return_counts=True)
        flavors, resources = state.tables.flavor_names, state.tables.resource_names
        for fact, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            row, number, is_admitted, flavor, resource, amount = fact
            name = f"{flavors[flavor]}/{resources[resource]}"
            _add(self.local_reserved_usage, number, name, amount * count)
            if is_admitted:
                _add(self.admitted_usage, row, name, amount * count)
                _add(self.local_admitted_usage, number, name, amount * count)


def _subtract(usage: dict[str, int], state: State, row: int) -> None:
    """Take off what a workload holds."""
    flavors, resources = state.tables.flavor_names, state.tables.resource_names
    for resource, _, flavor, amount in state.tables.workloads.slots_of(row):
        name = f"{flavors[flavor]}/{resources[resource]}" if flavor >= 0 else ""
        if name in usage:
            usage[name] -= amount


def _add(usage: dict[int, dict[str, int]], of: int, name: str, amount: int) -> None:
    amounts = usage.setdefault(of, {})
    amounts[name] = min(amounts.get(name, 0) + amount, MAX)


def _counted(values: np.ndarray) -> Iterator[tuple[int, int]]:
    distinct, counts = np.unique(values, return_counts=True)
    return zip(distinct.tolist(), counts.tolist(), strict=True)


def _unplaced(state: State, number: int) -> int:
    """Workloads that wait in a LocalQueue which leads nowhere."""
    rows = state.rows
    named = np.flatnonzero(np.asarray(state.tables.workloads.local_queue)[: len(rows.by_row)] == number)
    records = (rows.by_row[row] for row in named.tolist())
    return sum(record is not None and record.state == PENDING for record in records)


def _share(state: State, row: int) -> float:
    preemptor = state.tables.scheduler.preemptor
    if not preemptor.fair_sharing:
        return 0.0
    ratio, weight, _ = preemptor.shares.find(row)
    if ratio == 0:
        return 0.0
    return ratio / weight if weight else math.inf
