"""Where a Workload's pods have been put: its topology assignments, read once and handed around.

Reading costs its length, so whoever keeps Workloads keeps their placements beside them.

Source: TP-205, TP-1402, TP-1501, TP-1802.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from kueue_fast.api import topology_assignment
from kueue_fast.api.kueue import PodSetAssignment, Workload
from kueue_fast.api.topology_assignment import TopologyAssignment
from kueue_fast.model import conditions
from kueue_fast.model.topology_names import HOSTNAME

__all__ = [
    "Placements",
    "PlacementsOf",
    "assignments",
    "has_placement_on",
    "is_placed",
    "lowest_values",
    "nodes",
    "placements",
    "stands_on",
]

Placements: TypeAlias = Mapping[str, TopologyAssignment]
"""Topology assignments by the name of the pod set; a pod set without one is not in it."""

PlacementsOf: TypeAlias = Callable[[Workload], Placements]


def assignments(workload: Workload) -> list[PodSetAssignment]:
    """The pod set assignments of the admission, none without one."""
    admission = workload.status.admission if workload.status is not None else None
    return (admission.pod_set_assignments or []) if admission is not None else []


def placements(workload: Workload) -> dict[str, TopologyAssignment]:
    """The placements that stand in the status. Raises InputError naming the field of one that cannot be read."""
    return {
        assignment.name: topology_assignment.decode(
            assignment.topology_assignment,
            f"$.status.admission.podSetAssignments[{number}].topologyAssignment",
        )
        for number, assignment in enumerate(assignments(workload))
        if assignment.topology_assignment
    }


def is_placed(workload: Workload) -> bool:
    """Whether a Workload is admitted and some of its pods were given a place. Source: TP-1802."""
    return (
        workload.status is not None
        and conditions.is_true(workload.status.conditions, conditions.ADMITTED)
        and any(assignment.topology_assignment for assignment in assignments(workload))
    )


def lowest_values(placement: TopologyAssignment) -> Iterator[str]:
    """The value of the lowest level of each domain; no domain is empty."""
    return (values[-1] for values, _ in placement.domains)


def stands_on(placement: TopologyAssignment, node: str) -> bool:
    """Whether pods were put on this node; only an assignment down to the host name says so. Source: TP-1402."""
    return placement.levels[-1] == HOSTNAME and any(value == node for value in lowest_values(placement))


def has_placement_on(placed: Placements, node: str) -> bool:
    """Whether some pod set has pods on this node."""
    return any(stands_on(placement, node) for placement in placed.values())


def nodes(workload: Workload, placed: Placements) -> set[str]:
    """Nodes that a running Workload's pods were put on: the key under which a failed node finds it.

    Empty for one that is finished, evicted or not admitted. Source: TP-1402.
    """
    known = workload.status.conditions if workload.status is not None else None
    if (
        conditions.is_true(known, conditions.FINISHED)
        or conditions.is_true(known, conditions.EVICTED)
        or not is_placed(workload)
    ):
        return set()
    return {
        value
        for placement in placed.values()
        if placement.levels[-1] == HOSTNAME
        for value in lowest_values(placement)
    }
