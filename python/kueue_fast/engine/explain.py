"""Where a workload stands and what the last cycle that looked at it found: facts to read, nothing is decided here.

Amounts are in the kernel's units, times in ns since the epoch. What a cycle found is as old as that cycle; quota is as
it is now.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key
from typing import Final, NamedTuple

from kueue_fast.arrays.decisions import (
    EXCEEDS_MAX_QUOTA,
    LAYER_NOT_PLACED,
    NODES_EXCLUDED,
    NOT_PLACED,
    WAITING_FOR_QUOTA,
    Reason,
)
from kueue_fast.arrays.layouts import Layout
from kueue_fast.arrays.tables import NONE, PODS
from kueue_fast.arrays.workloads import PENDING, Record
from kueue_fast.engine import messages
from kueue_fast.engine.refusals import Refusal
from kueue_fast.engine.state import ClusterQueueEntry, State
from kueue_fast.model.quantities import add, multiply, subtract
from kueue_fast.model.topology_messages import PlacementError

__all__ = ["Ask", "Holders", "Look", "PassedOver", "QuotaRow", "Standing", "describe"]

PLACES: Final = ("Nowhere", "Queued", "Parked", "InFlight")
"""Names of kueuecore's Place."""

KINDS: Final = (
    "UndeclaredResource",
    "NotEligible",
    "AffinityError",
    "ExceedsMaximum",
    "WaitingForQuota",
    "NotNominated",
    "NoTopologyData",
    "TopologyUnsupported",
    "TopologyOnly",
    "TopologyUnknown",
    "LevelMissing",
    "NotPlaced",
    "NodesExcluded",
    "LayerNotPlaced",
    "NoTopologyFlavor",
    "SeveralTopologies",
    "OtherFlavorOfSlice",
    "ElasticRequired",
    "ElasticPreferred",
)
"""Names of kueuecore's ReasonCode."""


class Ask(NamedTuple):
    """What a pod set asks for: pods, and what one of them requests of each resource.

    `least` is the number of pods that would do under partial admission, None where all must be admitted.
    """

    pod_set: str
    pods: int
    per_pod: dict[str, int]
    least: int | None = None

    def total(self, resource: str) -> int:
        """What its pods ask for together."""
        return self.pods if resource == PODS else multiply(self.pods, self.per_pod.get(resource, 0))


class QuotaRow(NamedTuple):
    """Quota of a ClusterQueue in one flavor and resource.

    `available` fits now, what could be borrowed counted in and preemption not; `most` could fit if nobody else used
    anything (QP-305, QP-309). Both are below 0 where more is used than there is.
    """

    flavor: str
    resource: str
    nominal: int
    borrowing_limit: int | None
    reserved: int
    borrowed: int
    available: int
    most: int


class PassedOver(NamedTuple):
    """Why a flavor did not do for a pod set; `kind` is of KINDS, names are empty where the reason is about none.

    `missing` is an amount of the resource, or a number of pods or slices of a kind NotPlaced; None where nothing is
    counted.
    """

    pod_set: str
    flavor: str
    resource: str
    kind: str
    missing: int | None
    message: str


class Holders(NamedTuple):
    """Who holds the quota that is missing in one ClusterQueue: how many workloads, how many of lower priority.

    `borrowing` says whether the ClusterQueue uses more than its nominal quota of it.
    """

    cluster_queue: str
    borrowing: bool
    workloads: int
    lower: int


class Look(NamedTuple):
    """The last time a cycle looked at a workload and did not admit it; `outcome` is of OUTCOMES (QC-92)."""

    time_ns: int
    cycle: int
    cluster_queue: str
    outcome: str
    message: str
    passed_over: tuple[PassedOver, ...]


class Standing(NamedTuple):
    """A workload in its queue.

    `cohorts` lead from the parent of the ClusterQueue to the root. `ahead` are the keys of those that come out of the
    heap before it, in that order; `queued` and `parked` count all in the heap and all that are inadmissible. `like` is
    a workload that asks for the same, was looked at, and was parked: this one was parked with it (QC-46).
    """

    cluster_queue: str | None
    cohorts: tuple[str, ...]
    place: str
    ahead: tuple[str, ...]
    queued: int
    parked: int
    by_usage: bool
    asks: tuple[Ask, ...]
    quotas: tuple[QuotaRow, ...]
    look: Look | None
    like: str | None
    holders: tuple[Holders, ...]


def describe(state: State, key: str, refusals: dict[str, Refusal]) -> Standing | None:
    """How a workload (`namespace/name`) stands; None for one that is not known, or has finished.

    `refusals`: what cycles found, by the key of the workload.
    """
    record = state.rows.records.get(key)
    if record is None or record.layout is None:
        return None
    state.tree.refresh()
    workloads = state.tables.workloads
    pending = record.state == PENDING
    row = state.queue_row(*state.local_queue_names[record.local_queue]) if pending else NONE
    if not pending:
        row = workloads.reserved_in[record.row]
    entry = None if row == NONE else state.by_row.get(row)
    asks = tuple(_asks(record.layout))
    refusal = refusals.get(key)
    look = None if refusal is None else _look(state, refusal)
    if entry is None:
        return Standing(None, (), PLACES[0], (), 0, 0, False, asks, (), look, None, ())
    place = state.tables.pending.place_of(record.row)
    quotas = tuple(_quotas(state, entry, asks))
    return Standing(
        entry.name,
        tuple(_cohorts(state, row)),
        PLACES[place],
        _ahead(state, record, row) if PLACES[place] == "Queued" else (),
        state.tables.pending.heap_length(row),
        state.tables.pending.parked_length(row),
        bool(state.tables.flavors.usage_based[row]),
        asks,
        quotas,
        look,
        _like(state, record, row, refusals) if look is None and PLACES[place] == "Parked" else None,
        () if look is None else tuple(_holders(state, record, row, _lacking(state, quotas, look))),
    )


def _asks(layout: Layout) -> Iterator[Ask]:
    for pod_set, pods in zip(layout.pod_sets, layout.classes, strict=True):
        count = pod_set.count - min(pod_set.reclaimed, pod_set.count)
        yield Ask(pod_set.name, count, dict(pods.requests), pod_set.min_count)


def _cohorts(state: State, row: int) -> Iterator[str]:
    """Cohorts from the parent to the root; a cycle is gone through once."""
    seen = {row}
    while (row := state.tree.parent.get(row, NONE)) != NONE and row not in seen:
        seen.add(row)
        yield state.tables.nodes[row][1]


def _ahead(state: State, record: Record, queue: int) -> tuple[str, ...]:
    pending, me = state.tables.pending, record.row
    rows = [row for row in pending.heap_rows(queue) if row != me and pending.goes_before(queue, row, me)]

    def order(a: int, b: int) -> int:
        return -1 if pending.goes_before(queue, a, b) else 1

    rows.sort(key=cmp_to_key(order))
    return tuple(state.rows.keys[row] for row in rows)


def _like(state: State, record: Record, queue: int, refusals: dict[str, Refusal]) -> str | None:
    shape = state.tables.workloads.shape
    if shape[record.row] == NONE:
        return None
    rows = state.tables.pending.parked_rows(queue)
    keys = (state.rows.keys[row] for row in rows if shape[row] == shape[record.row])
    return min((key for key in keys if key in refusals), key=lambda key: refusals[key].cycle, default=None)


def _quotas(state: State, entry: ClusterQueueEntry, asks: tuple[Ask, ...]) -> Iterator[QuotaRow]:
    """Quota of what is asked for, in the order of the spec: so are flavors tried."""
    tables, forest, row = state.tables, state.tables.forest, entry.row
    wanted = {name for ask in asks for name in (*ask.per_pod, PODS)}
    in_cohort = state.tree.parent.get(row, NONE) != NONE
    for (flavor, resource), quota in state.tree.quotas[row].items():
        if resource not in wanted:
            continue
        column = tables.column(tables.flavor(flavor), tables.resource(resource))
        used = forest.usage[row, column]
        yield QuotaRow(
            flavor,
            resource,
            quota.nominal,
            quota.borrowing_limit,
            used,
            max(0, subtract(used, quota.nominal)) if in_cohort else 0,
            forest.find_available(row, column),
            forest.potential[row, column],
        )


def _look(state: State, refusal: Refusal) -> Look:
    return Look(
        refusal.time_ns,
        refusal.cycle,
        refusal.cluster_queue,
        refusal.outcome,
        refusal(),
        tuple(dict.fromkeys(_passed_over(state, refusal))),
    )


def _passed_over(state: State, refusal: Refusal) -> Iterator[PassedOver]:
    """Pod sets of one group get their flavors together: a reason holds for each of them. Source: QP-464."""
    layout, reasons = refusal.layout, refusal.reasons()
    for place, reason in enumerate(reasons):
        if reason.code in (NODES_EXCLUDED, LAYER_NOT_PLACED):
            continue  # parts of the reason before them
        if reason.code == NOT_PLACED:
            message = messages.not_placed(reasons[place:], layout, state.topology)
        else:
            message = messages.reason_text(reason, layout, state.classes)
        for name, group in zip(layout.names, layout.groups, strict=True):
            if group == layout.groups[reason.pod_set]:
                yield PassedOver(
                    name, reason.flavor, reason.resource, KINDS[reason.code], _missing(reason), message
                )


def _missing(reason: Reason) -> int | None:
    if reason.code == WAITING_FOR_QUOTA:
        return reason.first
    if reason.code == EXCEEDS_MAX_QUOTA:
        return subtract(add(reason.first, reason.second), reason.third)
    if reason.code == NOT_PLACED and reason.detail == PlacementError.NOT_ENOUGH_ROOM:
        return reason.second - reason.first
    return None


def _lacking(state: State, quotas: tuple[QuotaRow, ...], look: Look) -> set[tuple[int, int]]:
    """Flavors and resources of which others would have to give: quota is missing, or places are (TP-1203)."""
    tables = state.tables
    waiting = {(one.flavor, one.resource) for one in look.passed_over if one.kind == "WaitingForQuota"}
    unplaced = {one.flavor for one in look.passed_over if one.kind == "NotPlaced"}
    waiting |= {(one.flavor, one.resource) for one in quotas if one.flavor in unplaced}
    return {(tables.flavor(flavor), tables.resource(resource)) for flavor, resource in waiting}


def _holders(state: State, record: Record, queue: int, pairs: set[tuple[int, int]]) -> Iterator[Holders]:
    """ClusterQueues of the tree whose workloads hold some of this quota, the own one first, then by name."""
    if not pairs:
        return
    tables, workloads = state.tables, state.tables.workloads
    tree = set(state.tree.queues_of_tree(queue)) | {queue}
    counts: dict[int, list[int]] = {}
    for other in state.rows.records.values():
        held_in = workloads.reserved_in[other.row]
        if held_in not in tree or other is record:
            continue
        if any((flavor, resource) in pairs for resource, _, flavor, _ in workloads.slots_of(other.row)):
            count = counts.setdefault(held_in, [0, 0])
            count[0] += 1
            count[1] += workloads.priority[other.row] < workloads.priority[record.row]
    forest = tables.forest
    for row in sorted(counts, key=lambda row: (row != queue, state.by_row[row].name)):
        columns = [tables.column(*pair) for pair in pairs]
        borrowing = any(forest.usage[row, column] > forest.nominal[row, column] for column in columns)
        yield Holders(state.by_row[row].name, borrowing, *counts[row])
