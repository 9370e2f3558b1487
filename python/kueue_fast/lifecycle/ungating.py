"""Which of a Workload's gated pods may go to the scheduler now, and to which domain each.

Source: TP-1802..1811.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.api.topology_assignment import TopologyAssignment
from kueue_fast.lifecycle import finish
from kueue_fast.lifecycle.pod_ranks import pod_set_counts, pods_by_rank, rank_ranges, shifted
from kueue_fast.lifecycle.pods import (
    has_gate,
    is_terminal,
    slice_name,
    slice_of_pod,
    workload_of_pod,
)
from kueue_fast.lifecycle.slices import active_slice, live_slices
from kueue_fast.lifecycle.status import TRUE
from kueue_fast.model import conditions, times
from kueue_fast.model.other_pods import is_topology_pod
from kueue_fast.model.placements import Placements, assignments, is_placed
from kueue_fast.model.topology_names import HOSTNAME, POD_SET, TOPOLOGY_GATE

__all__ = [
    "BATCH_NS",
    "Ungating",
    "gate_seconds",
    "is_observed",
    "is_variant",
    "pods_to_ungate",
    "reconcile_ungating",
    "whose_places",
    "workload_to_look_at",
]

BATCH_NS: Final = times.SECOND
"""How long an event of a pod waits for others of its Workload before the Workload is looked at."""


class Ungating(NamedTuple):
    """Pods to write, each without the gate and with the node selector of its domain.

    `retry` says that earlier writes have not been seen yet: nothing may be decided before they are, so come again.
    """

    pods: list[Pod]
    retry: bool = False


def reconcile_ungating(
    workload: Workload,
    placed: Placements,
    pods: Iterable[Pod],
    expected: Collection[str] = (),
    *,
    concurrent_admission: bool = False,
) -> Ungating:
    """The next step for a Workload.

    `pods` are all pods of its namespace, or at least all of its own; `expected` the UIDs of pods that were written
    and not yet seen again; `concurrent_admission` the gate of that name, with which variants are passed over.

    Raises OffsetError when a pod's offset is no integer. Source: TP-1802, TP-1803.
    """
    if concurrent_admission and is_variant(workload):
        return Ungating([])
    if expected:
        return Ungating([], retry=True)
    return Ungating(pods_to_ungate(workload, placed, pods))


def pods_to_ungate(workload: Workload, placed: Placements, pods: Iterable[Pod]) -> list[Pod]:
    """Pods that may go, as they are to be written: pod sets in order, ranked pods by rank, others by name.

    Raises OffsetError when a pod's offset is no integer. Source: TP-1804..1810.
    """
    if not is_placed(workload):
        return []
    by_pod_set = _pods_by_pod_set(workload, pods)
    requests = {pod_set.name: pod_set.topology_request for pod_set in workload.spec.pod_sets or ()}
    counts = pod_set_counts(workload)
    ranges = rank_ranges(workload)
    unhealthy = {node.name for node in (workload.status.unhealthy_nodes if workload.status else None) or ()}
    found = []
    for assignment in assignments(workload):
        placement = placed.get(assignment.name)
        own = by_pod_set.get(assignment.name, [])
        if placement is None or not own:
            continue
        domains = [values for values, count in placement.domains for _ in range(count)]
        ranked = pods_by_rank(
            own,
            requests.get(assignment.name),
            counts[assignment.name],
            shifted(ranges[assignment.name], own),
            domains,
            placement.levels,
        )
        pairs = (
            _greedy(placement, own)
            if ranked is None
            else [(ranked[rank], domains[rank]) for rank in sorted(ranked) if has_gate(ranked[rank])]
        )
        found += [
            _ungated(pod, dict(zip(placement.levels, values, strict=True)))
            for pod, values in pairs
            # Until a failed node is replaced a pod would be ended there as soon as it came.
            if _node(placement.levels, values) not in unhealthy
        ]
    return found


def whose_places(workload: Workload, owned: Callable[[str], Iterable[Workload]]) -> Workload | None:
    """The Workload whose places its pods get: itself, or, once it has ended, the slice that holds the quota.

    Pods of an elastic job name the slice that it was started with, also those that are made later. `owned` gives the
    Workloads of an owner by its uid. Source: TP-1802, JS-513.
    """
    if not finish.is_finished(workload):
        return workload
    owner = next((each for each in workload.metadata.owner_references or () if each.controller), None)
    return None if owner is None else active_slice(live_slices(owned(owner.uid)))


def is_variant(workload: Workload) -> bool:
    """Whether the Workload is one of several tries to admit another, which has no pods of its own."""
    return any(
        owner.kind == Workload.KIND and owner.api_version == Workload.API_VERSION and owner.name
        for owner in workload.metadata.owner_references or ()
    )


def workload_to_look_at(pod: Pod) -> str | None:
    """`namespace/name` of the Workload to look at, `BATCH_NS` later, after any event of the pod. Source: TP-1802."""
    name = workload_of_pod(pod)
    if name is None or not is_topology_pod(pod):
        return None
    return f"{pod.metadata.namespace or ''}/{name}"


def is_observed(pod: Pod, *, deleted: bool) -> bool:
    """Whether an event shows that the pod's gate is gone, or the pod with it. Source: TP-1803."""
    return deleted or not has_gate(pod)


def gate_seconds(workload: Workload, now_ns: int) -> float | None:
    """How long a pod that is let go now was held after its Workload was admitted, at least 0.

    None for a Workload that is not admitted. Source: TP-1811.
    """
    known = workload.status.conditions if workload.status is not None else None
    admitted = conditions.find(known, conditions.ADMITTED)
    if admitted is None or admitted.status != TRUE or not admitted.last_transition_time:
        return None
    return max(0, now_ns - times.parse(admitted.last_transition_time)) / times.SECOND


def _pods_by_pod_set(workload: Workload, pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """The Workload's pods that have not ended, by pod set and in the order of their names. Source: TP-1804."""
    namespace, slice_ = workload.metadata.namespace, slice_name(workload)
    found: dict[str, list[Pod]] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        pod_set = (pod.metadata.labels or {}).get(POD_SET)
        if (
            pod_set is not None
            and pod.metadata.namespace == namespace
            and slice_of_pod(pod) == slice_
            and not is_terminal(pod)
        ):
            found.setdefault(pod_set, []).append(pod)
    return found


def _greedy(placement: TopologyAssignment, pods: Sequence[Pod]) -> list[tuple[Pod, tuple[str, ...]]]:
    """Gated pods in order into what other pods leave free of each domain. Source: TP-1809."""
    gated = [pod for pod in pods if has_gate(pod)]
    taken: dict[tuple[str, ...], int] = {}
    for pod in pods:
        if not has_gate(pod):
            selector = pod.spec.node_selector or {}
            values = tuple(selector.get(level, "") for level in placement.levels)
            taken[values] = taken.get(values, 0) + 1
    pairs: list[tuple[Pod, tuple[str, ...]]] = []
    for values, count in placement.domains:
        free = max(count - taken.get(values, 0), 0)
        pairs += [(pod, values) for pod in gated[len(pairs) : len(pairs) + free]]
    return pairs


def _ungated(pod: Pod, selector: dict[str, str]) -> Pod:
    """The pod without the gate and with the node selector; other gates stay. Source: TP-1811."""
    gates = [gate for gate in pod.spec.scheduling_gates or () if gate.name != TOPOLOGY_GATE]
    spec = msgspec.structs.replace(
        pod.spec,
        scheduling_gates=gates or None,
        node_selector={**(pod.spec.node_selector or {}), **selector},
    )
    return msgspec.structs.replace(pod, spec=spec)


def _node(levels: Sequence[str], values: Sequence[str]) -> str | None:
    """The node that a domain is; an assignment to hosts has no other level."""
    return ",".join(values) if levels[-1] == HOSTNAME else None
