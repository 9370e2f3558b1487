"""The second pass: workloads that hold their quota and wait for places. Source: TP-1501, TP-1601..1604, QC-51."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

from kueue_fast.api.kueue import Workload
from kueue_fast.arrays.decisions import DELAYS
from kueue_fast.arrays.workloads import Record
from kueue_fast.engine.decisions import Eviction
from kueue_fast.engine.state import State
from kueue_fast.model import conditions
from kueue_fast.model.placements import placements
from kueue_fast.model.second_pass import (
    PENDING,
    loses_node,
    needs_second_pass,
    no_replacement_message,
    wait_ns,
)


def is_due(workload: Workload) -> bool:
    """Whether a Workload comes again. Raises InputError for places on nodes that failed which cannot be read."""
    status = workload.status
    # Only failed nodes are looked for among the places, which may be many.
    failed = status is not None and bool(status.unhealthy_nodes)
    return needs_second_pass(workload, placements(workload) if failed else {})


class Waiting(NamedTuple):
    """A workload that comes again."""

    workload: Workload
    """As it was when it was queued: upstream decides by that state."""
    iteration: int


class SecondPassQueue:
    """Workloads by key: first they wait for their delay, then for the next cycle."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, str]] = []
        self._waiting: dict[str, tuple[int, Waiting]] = {}
        self._ready: dict[str, Waiting] = {}
        self._offers = 0

    def offer(self, key: str, workload: Workload, iteration: int, now_ns: int) -> bool:
        """Queue a workload, if it needs it and does not wait for its delay already; returns whether it was queued."""
        if not is_due(workload):
            if iteration > 0:
                self.forget(key)
            return False
        if key in self._waiting:
            return False
        self._offers += 1
        self._waiting[key] = (self._offers, Waiting(workload, iteration + 1))
        heapq.heappush(self._due, (now_ns + wait_ns(iteration + 1), self._offers, key))
        return True

    def forget(self, key: str) -> None:
        """The workload is gone, or needs no second pass any more."""
        self._waiting.pop(key, None)
        self._ready.pop(key, None)

    def advance(self, now_ns: int) -> bool:
        """Let those whose delay is over wait for a cycle; returns whether any waits for one."""
        while self._due and self._due[0][0] <= now_ns:
            _, number, key = heapq.heappop(self._due)
            waiting = self._waiting.get(key)
            if waiting is not None and waiting[0] == number:
                del self._waiting[key]
                self._ready[key] = waiting[1]
        return bool(self._ready)

    def next_due(self) -> int | None:
        """When the next delay is over, ns since the epoch, or None."""
        while self._due and self._waiting.get(self._due[0][2], (None,))[0] != self._due[0][1]:
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else None

    def next_try(self, key: str) -> int | None:
        """When the delay of a workload is over, ns since the epoch; 0 if it is, None if it waits for none."""
        if key in self._ready:
            return 0
        waiting = self._waiting.get(key)
        if waiting is None:
            return None
        return next(due for due, number, _ in self._due if number == waiting[0])

    def take(self) -> list[tuple[str, Waiting]]:
        """All that are ready, in order of their keys; upstream takes them in random order."""
        ready, self._ready = sorted(self._ready.items()), {}
        return ready


def is_done(record: Record, workload: Workload) -> bool:
    """Whether what a Workload was queued for has been decided since: its event came later than the decision.

    It is queued anew by such an event, with its places as they were.
    """
    assert record.admission is not None
    unhealthy = {node.name for node in (workload.status.unhealthy_nodes if workload.status else None) or ()}
    if not unhealthy:
        return not any(one.delayed == PENDING and one.placement is None for one in record.admission[1])
    return not any(
        values[-1] in unhealthy
        for one in record.admission[1]
        if one.placement is not None
        for values, _ in one.placement.domains
    )


def node_failure(workload: Workload, cluster_queue: str) -> Eviction:
    """The eviction of a workload for which there was no place instead of a failed node's (TP-1509)."""
    key = f"{workload.metadata.namespace or ''}/{workload.metadata.name}"
    return Eviction(key, cluster_queue, "NodeFailures", no_replacement_message(workload))


def entry(state: State, record: Record, workload: Workload) -> tuple[Any, ...]:
    """What the kernel's SecondPass takes of a workload."""
    assert record.admission is not None and record.layout is not None
    by_name = {one.name: one for one in record.admission[1]}
    names = record.layout.names
    flavor, resource = state.tables.flavor, state.tables.resource
    pod_sets = []
    holds = []
    flavors: dict[str, None] = {}
    for number, name in enumerate(names):
        one = by_name.get(name)
        if one is None:
            pod_sets.append((0, 0))
            continue
        pod_sets.append((one.count, DELAYS.index(one.delayed) if one.delayed in DELAYS else 0))
        for held, of in one.flavors.items():
            flavors[of] = None
            holds.append((number, resource(held), flavor(of), one.usage.get(held, 0)))
    unhealthy = (workload.status.unhealthy_nodes if workload.status else None) or ()
    places = [
        (flavor(name), state.topology.place(name, [node.name]))
        for node in unhealthy
        for name in flavors
        if state.topology.exists(name)
    ]
    enabled = state.gates.enabled
    fast = enabled("TASFailedNodeReplacementFailFast") and loses_node(workload, placements(workload))
    keep = enabled("SkipReassignmentForPodOwnedWorkloads") and conditions.owned_by_single_pod(workload)
    return record.row, keep, fast, pod_sets, holds, places
