"""The second pass: Workloads that hold quota and need a place in the topology, a first or another one.

Source: TP-1601, TP-1602.
"""

from __future__ import annotations

from typing import Final

from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.model import conditions, times
from kueue_fast.model.placements import Placements, lowest_values

__all__ = [
    "loses_node",
    "needs_second_pass",
    "no_replacement_message",
    "topology_pending",
    "wait_ns",
]

READY: Final = "Ready"
PENDING: Final = "Pending"

FIRST_WAIT_NS: Final = times.SECOND
LONGEST_WAIT_NS: Final = 30 * times.SECOND
DOUBLINGS: Final = 5  # 2^5 seconds are longer than the longest wait


def needs_second_pass(workload: Workload, placed: Placements) -> bool:
    """Whether a Workload that holds quota is to be looked at again.

    Either its admission checks are ready and its places were put off until then, or it runs and a node failed.

    Source: TP-1601.
    """
    status = workload.status
    if status is None or conditions.is_true(status.conditions, conditions.FINISHED):
        return False
    if conditions.is_true(status.conditions, conditions.EVICTED):
        return False
    # On hold is a reason of a reservation that is not there.
    if not conditions.is_true(status.conditions, conditions.QUOTA_RESERVED):
        return False
    if conditions.is_true(status.conditions, conditions.ADMITTED):
        return loses_node(workload, placed)
    checks = status.admission_checks or ()
    return bool(checks) and all(check.state == READY for check in checks) and topology_pending(status)


def topology_pending(status: WorkloadStatus) -> bool:
    """Whether an assignment still waits for its delayed topology. Source: LC-702, TP-1604."""
    admission = status.admission
    return admission is not None and any(
        not assignment.topology_assignment and assignment.delayed_topology_request == PENDING
        for assignment in admission.pod_set_assignments or ()
    )


def loses_node(workload: Workload, placed: Placements) -> bool:
    """Whether an admitted Workload has pods on one of its unhealthy nodes. Source: TP-1501."""
    status = workload.status
    if status is None or not status.unhealthy_nodes:
        return False
    if not conditions.is_true(status.conditions, conditions.ADMITTED):
        return False
    unhealthy = {node.name for node in status.unhealthy_nodes}
    return any(value in unhealthy for placement in placed.values() for value in lowest_values(placement))


def wait_ns(iteration: int) -> int:
    """How long the attempt with this number, from 1, is waited for. Source: TP-1602."""
    doublings = iteration - 1
    return LONGEST_WAIT_NS if doublings >= DOUBLINGS else FIRST_WAIT_NS << doublings


def no_replacement_message(workload: Workload) -> str:
    """Upstream's words for the end of a Workload for whose failed nodes no others were found. Source: TP-1509."""
    nodes = (workload.status.unhealthy_nodes if workload.status is not None else None) or ()
    names = ",".join(node.name for node in nodes)
    return f"Workload was evicted as there was no replacement for unhealthy node(s): {names}"
