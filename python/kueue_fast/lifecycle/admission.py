"""What a scheduling cycle writes on a Workload: a reservation, an admission, or why it still waits.

Source: QC-135..141, LC-504, LC-505, LC-701, LC-705, TP-1510, TP-1604.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import msgspec

from kueue_fast.api.kueue import Admission, PodSetAssignment, PodSetRequest, Workload, WorkloadStatus
from kueue_fast.api.topology_assignment import Domain, encode
from kueue_fast.lifecycle.status import (
    FALSE,
    READY,
    TRUE,
    Reasons,
    add_condition,
    sync_admitted,
    with_status,
    writable_status,
)
from kueue_fast.model import conditions
from kueue_fast.model.quantities import format_amount

__all__ = [
    "Decision",
    "PodSetDecision",
    "PodSetTopology",
    "admitted",
    "holds_quota",
    "pending",
    "set_reservation",
    "to_admission",
    "topologies_of",
    "unset_reservation",
]

BLOCKED_ON_PREEMPTION_GATES: Final = "BlockedOnPreemptionGates"
PENDING: Final = "Pending"
# Conditions that a new reservation ends, in the order in which they are written.
ENDED_BY_RESERVATION: Final = (conditions.EVICTED, conditions.PREEMPTED, BLOCKED_ON_PREEMPTION_GATES)


class PodSetDecision(Protocol):
    """What the engine gives one pod set: pods, flavor of each resource, total usage in the kernel's units."""

    @property
    def name(self) -> str:
        """Name of the pod set."""

    @property
    def count(self) -> int:
        """Pods admitted; below the pod set's count under partial admission."""

    @property
    def flavors(self) -> Mapping[str, str]:
        """Flavor by resource."""

    @property
    def usage(self) -> Mapping[str, int]:
        """Usage of all its pods by resource."""


class PlacedDecision(Protocol):
    """What the engine says of one pod set's places."""

    @property
    def name(self) -> str:
        """Name of the pod set."""

    @property
    def placement(self) -> tuple[tuple[str, ...], tuple[Domain, ...]] | None:
        """Level keys, and domains with their pods in order."""

    @property
    def delayed(self) -> str | None:
        """`delayedTopologyRequest`."""


class Decision(Protocol):
    """One entry of `Cycle.admitted`: what is needed of it here."""

    @property
    def cluster_queue(self) -> str:
        """Name of the ClusterQueue."""

    @property
    def pod_sets(self) -> Sequence[PodSetDecision]:
        """One entry a pod set, in the order of the Workload."""

    @property
    def checks(self) -> Collection[str]:
        """Admission checks that the assigned flavors require."""


class PodSetTopology(NamedTuple):
    """What a decision says of one pod set's places: the JSON text of its topology assignment, empty without one, and
    whether the places were put off, as `delayedTopologyRequest` says it before the decision.
    """

    assignment: bytes = b""
    delayed: str | None = None

    @property
    def state(self) -> str | None:
        """`delayedTopologyRequest` after the decision: places that were put off are there now. Source: TP-1604."""
        return READY if self.delayed is not None and self.assignment else self.delayed


NOWHERE: Final = PodSetTopology()
NO_TOPOLOGY: Final[Mapping[str, PodSetTopology]] = MappingProxyType({})


def topologies_of(
    pod_sets: Iterable[PlacedDecision], *, by_hostname_prefix: bool = True
) -> dict[str, PodSetTopology]:
    """What the engine decided of places, as `to_admission` takes it; pod sets without places are left out.

    `by_hostname_prefix` is the gate TASAssignmentsEncodingByHostnamePrefix.
    """
    return {
        one.name: PodSetTopology(
            encode(*one.placement, by_hostname_prefix=by_hostname_prefix) if one.placement else b"",
            one.delayed,
        )
        for one in pod_sets
        if one.placement is not None or one.delayed is not None
    }


def to_admission(decision: Decision, topologies: Mapping[str, PodSetTopology] = NO_TOPOLOGY) -> Admission:
    """`status.admission` of a decision; amounts become quantities, resources and flavors are sorted by name.

    `topologies` says by name which pod sets were given places, or will be. Source: TP-205, TP-1510.
    """
    return Admission(
        cluster_queue=decision.cluster_queue,
        pod_set_assignments=[
            _assignment(pod_set, topologies.get(pod_set.name, NOWHERE)) for pod_set in decision.pod_sets
        ],
    )


def _assignment(pod_set: PodSetDecision, topology: PodSetTopology) -> PodSetAssignment:
    assignment = PodSetAssignment(
        name=pod_set.name,
        flavors=dict(sorted(pod_set.flavors.items())),
        resource_usage={
            resource: format_amount(resource, amount) for resource, amount in sorted(pod_set.usage.items())
        },
        count=pod_set.count,
        delayed_topology_request=topology.state,
    )
    # An empty text other than the default one would be written.
    if topology.assignment:
        assignment.topology_assignment = msgspec.Raw(topology.assignment)
    return assignment


def admitted(
    workload: Workload,
    decision: Decision,
    now_ns: int,
    reasons: Reasons = Reasons(),
    *,
    topologies: Mapping[str, PodSetTopology] = NO_TOPOLOGY,
) -> Workload:
    """The Workload with its reservation, and admitted too when every check it needs is listed and ready and no
    places are put off.

    A second pass ends here as well: the new places take the room of the old ones, and no node of the Workload is
    unhealthy any more. `now_ns` is written with whole seconds, as Kubernetes keeps times.

    Source: QC-135, QC-137, QC-138, LC-505, LC-701, TP-1510, TP-1604.
    """
    status = writable_status(workload)
    status.unhealthy_nodes = None
    set_reservation(workload, status, to_admission(decision, topologies), now_ns)
    if not missing_checks(status, decision.checks):
        sync_admitted(workload, status, now_ns, reasons)
    return with_status(workload, status)


def set_reservation(workload: Workload, status: WorkloadStatus, admission: Admission, now_ns: int) -> None:
    """Write a reservation into a writable status; what had taken the quota away ends. Source: LC-505, LC-602."""
    status.admission = admission
    # The totals of a pending Workload give way to the usage of its pod sets.
    status.resource_requests = None
    reason = conditions.QUOTA_RESERVED
    message = f"Quota reserved in ClusterQueue {admission.cluster_queue}"
    add_condition(workload, status, conditions.QUOTA_RESERVED, TRUE, reason, message, now_ns)
    for type_ in ENDED_BY_RESERVATION:
        before = conditions.find(status.conditions, type_)
        if before is not None and before.status == TRUE:
            add_condition(workload, status, type_, FALSE, reason, f"Previously: {before.message}", now_ns)


def pending(
    workload: Workload,
    message: str,
    now_ns: int,
    *,
    reason: str = "",
    reasons: Reasons = Reasons(),
    requests: Sequence[tuple[str, Mapping[str, int]]] = (),
) -> Workload | None:
    """The Workload with why the cycle could not admit it, or None when that stands there already.

    `reason` is the granular reason, which counts only with its gate; without it the condition says `Pending`.
    `requests` says of each pod set what its pods ask for, in the kernel's units; left out, the status keeps silent.

    Source: QC-140, QC-141, LC-504, LC-705.
    """
    status = writable_status(workload)
    changed = unset_reservation(workload, status, reasons.pick(reason, PENDING), message, now_ns, reasons)
    asked = [
        PodSetRequest(
            name=name,
            resources={resource: format_amount(resource, amount) for resource, amount in sorted(each.items())}
            or None,
        )
        for name, each in requests
    ]
    if asked and asked != status.resource_requests:
        status.resource_requests = asked
        changed = True
    return with_status(workload, status) if changed else None


def unset_reservation(
    workload: Workload,
    status: WorkloadStatus,
    reason: str,
    message: str,
    now_ns: int,
    reasons: Reasons = Reasons(),
) -> bool:
    """Take the reservation out of a writable status; returns whether anything changed. Source: LC-504."""
    changed = add_condition(workload, status, conditions.QUOTA_RESERVED, FALSE, reason, message, now_ns)
    if status.admission is not None:
        status.admission = None
        changed = True
    return sync_admitted(workload, status, now_ns, reasons) or changed


def assigned_flavors(admission: Admission) -> set[str]:
    """Names of all flavors of an admission."""
    return {
        flavor
        for assignment in admission.pod_set_assignments or ()
        for flavor in (assignment.flavors or {}).values()
    }


def missing_checks(status: WorkloadStatus, required: Iterable[str]) -> list[str]:
    """Required checks that the status does not list, in the order given. Source: QC-137."""
    listed = {check.name for check in status.admission_checks or ()}
    return [name for name in required if name not in listed]


def holds_quota(workload: Workload, cluster_queue: str) -> bool:
    """Whether the Workload's reservation is one of this ClusterQueue's quota."""
    status = workload.status
    return (
        status is not None
        and status.admission is not None
        and status.admission.cluster_queue == cluster_queue
        and conditions.is_true(status.conditions, conditions.QUOTA_RESERVED)
    )
