"""From the decision to take a Workload's quota back to its place in the queue. Source: QC-146, QC-152, LC-801..805."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.kueue import (
    AdmissionCheckState,
    PreemptionGateState,
    SchedulingStats,
    Workload,
    WorkloadSchedulingStatsEviction,
    WorkloadStatus,
)
from kueue_fast.lifecycle.admission import BLOCKED_ON_PREEMPTION_GATES, PENDING, unset_reservation
from kueue_fast.lifecycle.status import (
    FALSE,
    TRUE,
    Reasons,
    add_condition,
    timestamp,
    with_status,
    writable_status,
)
from kueue_fast.model import conditions

__all__ = [
    "cohort_path",
    "evicted",
    "eviction_of",
    "is_evicted",
    "preempted",
    "preemption_message",
    "reason_with_cause",
    "reason_words",
    "stopped",
]

BY_PREEMPTION: Final = "Preempted"
BY_NODE_FAILURES: Final = "NodeFailures"
PENDING_EVALUATION: Final = "PendingEvaluation"
DEACTIVATED: Final = "Deactivated"
CLOSED: Final = "Closed"
RETRY: Final = "Retry"
UNKNOWN: Final = "UNKNOWN"

_HUMAN_REASONS: Final = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}


def reason_words(reason: str) -> str:
    """The reason of a preemption (QP-704) as people read it."""
    return _HUMAN_REASONS.get(reason, UNKNOWN)


def preemption_message(
    preemptor_uid: str, preemptor_job_uid: str, reason: str, preemptor_path: str, victim_path: str
) -> str:
    """Why a workload was preempted, in the words that tools read UIDs and paths from. Source: QP-813."""
    return (
        f"Preempted to accommodate a workload (UID: {preemptor_uid or UNKNOWN}, "
        f"JobUID: {preemptor_job_uid or UNKNOWN}) due to {reason_words(reason)}; "
        f"preemptor path: {preemptor_path or UNKNOWN}; preemptee path: {victim_path or UNKNOWN}"
    )


def cohort_path(cluster_queue: str, ancestors: list[str]) -> str:
    """`/root/.../parent/cluster-queue`; `ancestors` from the parent up to the root. Source: QP-813."""
    return "/" + "/".join([*reversed(ancestors), cluster_queue])


def preempted(workload: Workload, reason: str, message: str, now_ns: int) -> Workload:
    """The Workload told to stop for another one: it holds its quota until it has. Source: QP-812."""
    status = writable_status(workload)
    add_condition(workload, status, conditions.PREEMPTED, TRUE, reason, message, now_ns)
    return evicted(with_status(workload, status), BY_PREEMPTION, message, now_ns)


def evicted(workload: Workload, reason: str, message: str, now_ns: int, cause: str = "") -> Workload:
    """The Workload told to stop: checks begin anew, gates close, clusters and nodes that were named are forgotten.

    `cause` lies under the reason; that of a deactivation goes into the reason of the condition.

    Source: LC-801, LC-802.
    """
    status = writable_status(workload)
    told = reason_with_cause(reason, cause)
    add_condition(workload, status, conditions.EVICTED, TRUE, told, message, now_ns)
    if conditions.is_true(status.conditions, BLOCKED_ON_PREEMPTION_GATES):
        add_condition(workload, status, BLOCKED_ON_PREEMPTION_GATES, FALSE, told, message, now_ns)
    now = timestamp(now_ns)
    checks = [_reset(check, now) for check in status.admission_checks or ()]
    gates = [
        PreemptionGateState(name=gate.name, position=CLOSED, last_transition_time=now)
        for gate in status.preemption_gates or ()
    ]
    status = msgspec.structs.replace(
        status,
        admission_checks=checks or None,
        preemption_gates=gates or None,
        cluster_name=None,
        nominated_cluster_names=None,
        unhealthy_nodes=None,
        scheduling_stats=_counted(status, reason, cause),
    )
    return with_status(workload, status)


def reason_with_cause(reason: str, cause: str) -> str:
    """What the condition Evicted and the event carry: the cause of a deactivation stands in the reason.

    Source: LC-801, LC-803.
    """
    return f"{reason}DueTo{cause}" if reason == DEACTIVATED and cause else reason


def is_evicted(workload: Workload) -> bool:
    """Whether the Workload is told to stop, or has stopped and has no quota again yet."""
    return eviction_of(workload) is not None


def eviction_of(workload: Workload) -> tuple[str, str] | None:
    """Reason and message of the eviction of a Workload that has no quota again yet; None when there is none."""
    known = workload.status.conditions if workload.status is not None else None
    found = conditions.find(known, conditions.EVICTED)
    return (found.reason, found.message) if found is not None and found.status == TRUE else None


def stopped(
    workload: Workload,
    now_ns: int,
    reasons: Reasons = Reasons(),
    *,
    skip_pod_owned: bool = True,
) -> Workload:
    """An evicted Workload whose job has stopped: its quota is free, and it may queue again.

    One that ends with its pod may not; `skip_pod_owned` is the gate SkipReassignmentForPodOwnedWorkloads.

    Source: QC-152, LC-805, TP-1512.
    """
    eviction = eviction_of(workload)
    if eviction is None:
        return workload
    why, message = eviction
    status = writable_status(workload)
    at_once = TRUE if why in (BY_PREEMPTION, BY_NODE_FAILURES) else FALSE
    if skip_pod_owned and conditions.owned_by_single_pod(workload):
        at_once = FALSE
    add_condition(workload, status, conditions.REQUEUED, at_once, why, message, now_ns)
    reason = reasons.pick(PENDING_EVALUATION, PENDING)
    unset_reservation(workload, status, reason, message, now_ns, reasons)
    return with_status(workload, status)


def _reset(check: AdmissionCheckState, now: str) -> AdmissionCheckState:
    """The check as if it had not been looked at; one that is Pending stays as it is. Source: LC-802."""
    if check.state == PENDING:
        return check
    return AdmissionCheckState(
        name=check.name,
        state=PENDING,
        last_transition_time=now,
        message=f"Reset to Pending after eviction. Previously: {check.state}",
        requeue_after_seconds=check.requeue_after_seconds,
        retry_count=(check.retry_count or 0) + 1 if check.state == RETRY else None,
    )


def _counted(status: WorkloadStatus, reason: str, cause: str) -> SchedulingStats:
    """Statistics with one more eviction for this reason and cause."""
    before = status.scheduling_stats.evictions if status.scheduling_stats is not None else None
    evictions = list(before or ())
    for i, one in enumerate(evictions):
        if (one.reason, one.underlying_cause) == (reason, cause):
            evictions[i] = msgspec.structs.replace(one, count=one.count + 1)
            return SchedulingStats(evictions=evictions)
    evictions.append(WorkloadSchedulingStatsEviction(reason=reason, underlying_cause=cause, count=1))
    return SchedulingStats(evictions=evictions)
