"""Numbers of the queues as their statuses and metrics show them: who waits, who holds how much.

Source: LC-1703, LC-1712.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from kueue_fast.arrays.layouts import Layout
from kueue_fast.arrays.quota_tree import COHORT, Quotas
from kueue_fast.arrays.tables import NONE, PODS
from kueue_fast.arrays.workloads import PENDING
from kueue_fast.engine.activity import Activity
from kueue_fast.engine.cohort_numbers import CohortNumbers, cohort_numbers
from kueue_fast.engine.state import State
from kueue_fast.model.quantities import MAX

__all__ = ["ClusterQueueNumbers", "LocalQueueNumbers", "QueueNumbers", "queue_numbers"]

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

    `pending` is what those that wait ask for, by resource, with those that the quotas name. The share is +Inf for
    weight 0 while borrowing, and 0 without fair sharing (QP-333).
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
    pending: Usage


class QueueNumbers(NamedTuple):
    """All queues at one moment: ClusterQueues by name, LocalQueues by (namespace, name), shares of Cohorts by name,
    and cohorts by name, whether or not there is a Cohort.
    """

    cluster_queues: dict[str, ClusterQueueNumbers]
    local_queues: dict[tuple[str, str], LocalQueueNumbers]
    cohort_shares: dict[str, float]
    cohorts: dict[str, CohortNumbers]


def queue_numbers(state: State) -> QueueNumbers:
    """Numbers of all queues that the engine knows, as they stand between two cycles."""
    state.tree.refresh()
    held = _Held(state)
    waiting: dict[int, list[int]] = {}
    cluster_queues = {}
    pending, forest, tables = state.tables.pending, state.tables.forest, state.tables
    local_queue = np.asarray(tables.workloads.local_queue)
    for name, entry in state.cluster_queues.items():
        places = pending.heap_rows(entry.row), pending.parked_rows(entry.row)
        for place, rows in enumerate(places):
            for number, count in _counted(local_queue[np.array(rows, np.intp)]):
                waiting.setdefault(number, [0, 0])[place] += count
        quotas = state.tree.quotas[entry.row]
        cluster_queues[name] = ClusterQueueNumbers(
            pending.heap_length(entry.row),
            pending.parked_length(entry.row),
            held.reserving.get(entry.row, 0),
            held.admitted.get(entry.row, 0),
            {
                f"{flavor}/{resource}": forest.usage[
                    entry.row, tables.column(tables.flavor(flavor), tables.resource(resource))
                ]
                for flavor, resource in quotas
            },
            held.admitted_usage.get(entry.row, NOTHING),
            quotas,
            _share(state, entry.row),
            entry.activity,
            _pending(state, itertools.chain(*places), {resource for _, resource in quotas}),
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
    return QueueNumbers(cluster_queues, local_queues, shares, cohort_numbers(state, held.admitted))


def _pending(state: State, rows: Iterable[int], declared: Iterable[str]) -> Usage:
    """What workloads that wait ask for, by resource; nothing of the resources that are declared."""
    # Many ask for the same.
    layouts: dict[Layout, int] = {}
    by_row = state.rows.by_row
    for row in rows:
        record = by_row[row]
        if record is not None and record.layout is not None:
            layouts[record.layout] = layouts.get(record.layout, 0) + 1
    found = dict.fromkeys(declared, 0)
    for layout, times in layouts.items():
        for pod_set, pods in zip(layout.pod_sets, layout.classes, strict=True):
            count = (pod_set.count - min(pod_set.reclaimed, pod_set.count)) * times
            for resource, amount in pods.requests:
                # Upstream counts pods when it looks for flavors, and not before.
                if resource != PODS:
                    found[resource] = min(found.get(resource, 0) + count * amount, MAX)
    return found


class _Held:
    """Who holds quota: counts and amounts by forest row of the ClusterQueue, and by number of the LocalQueue."""

    def __init__(self, state: State) -> None:
        workloads = state.tables.workloads
        queue = np.asarray(workloads.reserved_in)
        rows = np.flatnonzero(queue != NONE)
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
