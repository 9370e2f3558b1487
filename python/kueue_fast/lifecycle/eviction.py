"""From the decision to take a Workload's quota back to its place in the queue. Source: QC-146, QC-152, LC 8."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle.admission import PENDING, unset_reservation
from kueue_fast.lifecycle.status import FALSE, TRUE, Reasons, add_condition, with_status, writable_status
from kueue_fast.model import conditions

BY_PREEMPTION: Final = "Preempted"
BY_NODE_FAILURES: Final = "NodeFailures"
PENDING_EVALUATION: Final = "PendingEvaluation"

_HUMAN_REASONS: Final = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}


def preemption_message(
    preemptor_uid: str, preemptor_job_uid: str, reason: str, preemptor_path: str, victim_path: str
) -> str:
    """Why a workload was preempted, in the words that tools read UIDs and paths from. Source: QP-813."""
    return (
        f"Preempted to accommodate a workload (UID: {preemptor_uid or 'UNKNOWN'}, "
        f"JobUID: {preemptor_job_uid or 'UNKNOWN'}) due to {_HUMAN_REASONS.get(reason, 'UNKNOWN')}; "
        f"preemptor path: {preemptor_path or 'UNKNOWN'}; preemptee path: {victim_path or 'UNKNOWN'}"
    )


def preempted(workload: Workload, reason: str, message: str, now_ns: int) -> Workload:
    """The Workload told to stop for another one: it holds its quota until it has. Source: QP-812."""
    status = writable_status(workload)
    add_condition(workload, status, conditions.PREEMPTED, TRUE, reason, message, now_ns)
    return evicted(with_status(workload, status), BY_PREEMPTION, message, now_ns)


def evicted(workload: Workload, reason: str, message: str, now_ns: int) -> Workload:
    """The Workload told to stop. Checks begin anew, and what named clusters or nodes is gone."""
    status = writable_status(workload)
    add_condition(workload, status, conditions.EVICTED, TRUE, reason, message, now_ns)
    checks = [
        check
        if check.state == "Pending"
        else msgspec.structs.replace(
            check,
            state="Pending",
            message=f"Reset to Pending after eviction. Previously: {check.state}",
            retry_count=(check.retry_count or 0) + 1 if check.state == "Retry" else check.retry_count,
        )
        for check in status.admission_checks or ()
    ]
    status = msgspec.structs.replace(
        status,
        admission_checks=checks or None,
        cluster_name=None,
        nominated_cluster_names=None,
        unhealthy_nodes=None,
    )
    return with_status(workload, status)


def stopped(workload: Workload, now_ns: int, reasons: Reasons = Reasons()) -> Workload:
    """An evicted Workload whose job has stopped: its quota is free, and it may queue again. Source: QC-152."""
    status = writable_status(workload)
    eviction = conditions.find(status.conditions, conditions.EVICTED)
    if eviction is None:
        return workload
    at_once = eviction.reason in (BY_PREEMPTION, BY_NODE_FAILURES)
    add_condition(
        workload, status, conditions.REQUEUED, TRUE if at_once else FALSE, eviction.reason, eviction.message, now_ns
    )
    reason = reasons.pick(PENDING_EVALUATION, PENDING)
    unset_reservation(workload, status, reason, eviction.message, now_ns, reasons)
    return with_status(workload, status)
