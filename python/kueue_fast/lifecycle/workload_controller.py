"""The Workload controller as a function: a Workload and what is around it in, at most one step out.

Each step that writes ends there; the watch of what was written brings the Workload back for the next. Whoever calls
this carries the writes out, live or in the embedded cluster, and comes back at the time that a step names.

DRA and concurrent admission, both of which reconcile Workloads too, are not here.

Source: LC-1501.
"""

from __future__ import annotations

from typing import Final, Protocol

from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload, WorkloadStatus
from kueue_fast.lifecycle import (
    admission_gates,
    checks,
    deactivation,
    events,
    pods_ready,
    queue_stops,
    queues,
    requeue,
    retention,
)
from kueue_fast.lifecycle.settings import LifecycleSettings
from kueue_fast.lifecycle.status import (
    FALSE,
    Reasons,
    add_condition,
    sync_admitted,
    with_status,
    writable_status,
)
from kueue_fast.lifecycle.steps import REST, Step, UpdateWorkloadStatus, again
from kueue_fast.model import conditions, times

__all__ = ["WorkloadView", "reconcile"]

PENDING_EVALUATION: Final = "PendingEvaluation"
BY_SCHEDULER: Final = frozenset(
    (
        "WaitingForQuota",
        "NoMatchingFlavor",
        "ExceedsMaxQuota",
        "TopologyPlacementFailed",
        "WaitingForPreemptedWorkloads",
        "WaitingForPodsReady",
        PENDING_EVALUATION,
    )
)
"""Reasons that a cycle wrote: they stay until the next one."""


class WorkloadView(Protocol):
    """What the controller reads besides the Workload."""

    @property
    def lifecycle(self) -> LifecycleSettings:
        """Configuration and gates."""

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None:
        """A LocalQueue by namespace and name."""

    def cluster_queue(self, name: str) -> ClusterQueue | None:
        """A ClusterQueue by name."""

    def is_active(self, cluster_queue: str) -> bool:
        """Whether the scheduler takes workloads of a ClusterQueue."""


def reconcile(workload: Workload, view: WorkloadView, now_ns: int, random: float = 0.0) -> Step:
    """The next step for a Workload. `random` in [0, 1) spreads backoffs.

    Raises InputError for a time in the status that is none.
    """
    settings = view.lifecycle
    if retention.is_orphaned(workload, finish_orphaned=settings.finish_orphaned):
        step = retention.finish_orphan(workload, now_ns, finish_orphaned=settings.finish_orphaned)
        if step.writes or not settings.finish_orphaned or workload.metadata.deletion_timestamp:
            return step
    status = workload.status
    if status is not None and conditions.is_true(status.conditions, conditions.FINISHED):
        return retention.after_finished(workload, settings.after_finished_ns, now_ns)
    delay = requeue.check_delay(workload, now_ns) if status is not None and status.admission_checks else None
    if delay is not None:
        later = requeue.raised(writable_status(workload), delay, count=False)
        return Step((UpdateWorkloadStatus(with_status(workload, later)),))
    if conditions.is_active(workload):
        step = _active(workload, now_ns)
    else:
        step = deactivation.evict_inactive(workload, now_ns)
    if step is not REST:
        return step
    return _in_queue(workload, view, now_ns, random)


def _active(workload: Workload, now_ns: int) -> Step:
    """Switched off at last, waiting for the end of its backoff, or back from it. Source: LC-905..907, LC-1001."""
    status = workload.status
    if status is None:
        return REST
    step = deactivation.deactivate(workload)
    if step is not REST:
        return step
    at = requeue.requeue_at(workload)
    if at is not None:
        if at > now_ns:
            # Nothing else is looked at until then, not even checks that failed.
            return again(at)
        if conditions.workload_status(workload) == "pending":
            return Step((UpdateWorkloadStatus(requeue.without_requeue_at(workload)),))
    back = requeue.after_backoff(workload, now_ns)
    return REST if back is None else Step((UpdateWorkloadStatus(back),))


def _in_queue(workload: Workload, view: WorkloadView, now_ns: int, random: float) -> Step:
    """What the queues of the Workload and its admission checks say. Source: LC-1501 steps 9 to 13."""
    settings, reasons = view.lifecycle, view.lifecycle.reasons
    local = view.local_queue(workload.metadata.namespace or "", workload.spec.queue_name or "")
    held = local is not None and queues.stopped(local)
    if local is not None and not held and requeue.waits_for(workload, queue_stops.BY_LOCAL_QUEUE):
        message = "The LocalQueue was restarted after being stopped"
        return _status(requeue.requeued(workload, "LocalQueueRestarted", message, now_ns))
    if settings.admission_gated_by:
        step = admission_gates.follow_gates(workload, now_ns, reasons)
        if step is not REST:
            return step
    # The queue manager knows no LocalQueue that is stopped.
    name = (
        (local.spec.cluster_queue or "") if local is not None and local.spec is not None and not held else ""
    )
    cluster = view.cluster_queue(name) if name else None
    if cluster is not None:
        if queue_stops.policy(cluster) == queue_stops.NO_STOP and requeue.waits_for(
            workload, queue_stops.BY_CLUSTER_QUEUE
        ):
            message = "The ClusterQueue was restarted after being stopped"
            return _status(requeue.requeued(workload, "ClusterQueueRestarted", message, now_ns))
        synced = checks.synced_checks(workload, checks.required_checks(cluster, workload), now_ns)
        if synced is not None:
            # Checks that are not asked any more go, though their controllers wrote them.
            return Step((UpdateWorkloadStatus(synced, whole=True),))
    step = _admission(workload, view, local, cluster, now_ns)
    if step is not REST:
        return step
    if workload.status is None or not conditions.is_true(
        workload.status.conditions, conditions.QUOTA_RESERVED
    ):
        return REST
    for step in (
        checks.failed_checks(workload, now_ns),
        queue_stops.by_local_queue(workload, local, now_ns, reasons),
        queue_stops.by_cluster_queue(workload, cluster, name, now_ns, reasons),
    ):
        if step.writes:
            return step
    late = pods_ready.timeout(workload, settings.pods_ready, now_ns, random)
    if late.writes:
        return late
    overrun = deactivation.execution_time(workload, now_ns)
    if overrun.writes or late.again_ns is None:
        return overrun
    return late if overrun.again_ns is None else again(min(late.again_ns, overrun.again_ns))


def _admission(
    workload: Workload,
    view: WorkloadView,
    local: LocalQueue | None,
    cluster: ClusterQueue | None,
    now_ns: int,
) -> Step:
    """A Workload that is not admitted: why it has no quota, and whether it is admitted now. Source: LC-506, LC-702."""
    status = writable_status(workload)
    if conditions.is_true(status.conditions, conditions.ADMITTED):
        return REST
    reasons = view.lifecycle.reasons
    changed = False
    reserved = conditions.find(status.conditions, conditions.QUOTA_RESERVED)
    if reserved is None or reserved.status == FALSE:
        active = cluster is not None and view.is_active(cluster.metadata.name)
        blocker = queues.queue_blocker(workload, local, cluster, active)
        found = _granular(workload, blocker, reasons) if reasons.granular else blocker
        if found is not None:
            reason = reasons.pick(found[0], "Inadmissible")
            changed = add_condition(
                workload, status, conditions.QUOTA_RESERVED, FALSE, reason, found[1], now_ns
            )
    changed = sync_admitted(workload, status, now_ns, reasons) or changed
    if not changed:
        return REST
    told = (_admitted_event(workload, status, now_ns),) if _is_admitted(status) else ()
    return Step((UpdateWorkloadStatus(with_status(workload, status)),), told)


def _granular(
    workload: Workload, blocker: tuple[str, str] | None, reasons: Reasons
) -> tuple[str, str] | None:
    """Reason and message with the gate UnadmittedWorkloadsObservability; None: nothing is written.

    What the scheduler alone knows (namespaces, limits, equivalent workloads) it writes at its next look.

    Source: LC-507.
    """
    known = workload.status.conditions if workload.status is not None else None
    before = conditions.find(known, conditions.QUOTA_RESERVED)
    if not conditions.is_active(workload):
        return "Deactivated", deactivation.MESSAGE
    if before is not None and conditions.is_on_hold(workload):
        return before.reason, before.message
    if blocker is not None:
        return blocker
    gates = admission_gates.gated_by(workload)
    if gates:
        return admission_gates.GATED, f"Admission is gated by: {gates}"
    if before is not None and before.reason in BY_SCHEDULER:
        return before.reason, before.message
    if before is None and not reasons.explicit:
        return None
    return PENDING_EVALUATION, "Workload is pending evaluation in the scheduling queue"


def _is_admitted(status: WorkloadStatus) -> bool:
    return conditions.is_true(status.conditions, conditions.ADMITTED)


def _admitted_event(workload: Workload, status: WorkloadStatus, now_ns: int) -> events.Event:
    """Source: LC-703."""
    reserved = conditions.find(status.conditions, conditions.QUOTA_RESERVED)
    since = (
        times.parse(reserved.last_transition_time) if reserved and reserved.last_transition_time else now_ns
    )
    name = status.admission.cluster_queue if status.admission is not None else ""
    namespace = workload.metadata.namespace or ""
    return events.admitted(namespace, workload.metadata.name, name, now_ns - since, now_ns)


def _status(workload: Workload) -> Step:
    return Step((UpdateWorkloadStatus(workload),))
