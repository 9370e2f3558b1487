"""What a stopped, missing or terminating queue means for a Workload that holds its quota. Source: LC-1402, LC-1403."""

from __future__ import annotations

from typing import Final

from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.lifecycle import events, eviction
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.lifecycle.steps import REST, Step, UpdateWorkloadStatus
from kueue_fast.lifecycle.unset import unset
from kueue_fast.model import conditions

__all__ = [
    "BY_CLUSTER_QUEUE",
    "BY_LOCAL_QUEUE",
    "NO_STOP",
    "by_cluster_queue",
    "by_local_queue",
    "concerns_workloads",
    "policy",
]

BY_LOCAL_QUEUE: Final = "LocalQueueStopped"
BY_CLUSTER_QUEUE: Final = "ClusterQueueStopped"
NO_STOP: Final = "None"
HOLD_AND_DRAIN: Final = "HoldAndDrain"


def policy(queue: ClusterQueue | LocalQueue | None) -> str:
    """The stop policy of a queue; None of one that is not there."""
    spec = queue.spec if queue is not None else None
    return (spec.stop_policy if spec is not None else None) or NO_STOP


def concerns_workloads(old: ClusterQueue | LocalQueue | None, new: ClusterQueue | LocalQueue | None) -> bool:
    """Whether a change of a queue is one that its Workloads are looked at for. None: it was not there, or is gone.

    Source: LC-1404.
    """
    if old is None or new is None:
        return True
    strategies = [getattr(each.spec, "admission_checks_strategy", None) for each in (old, new)]
    return (
        bool(old.metadata.deletion_timestamp) != bool(new.metadata.deletion_timestamp)
        or policy(old) != policy(new)
        or strategies[0] != strategies[1]
    )


def by_local_queue(
    workload: Workload, queue: LocalQueue | None, now_ns: int, reasons: Reasons = Reasons()
) -> Step:
    """A Workload with a reservation, by what its LocalQueue says."""
    return _by_queue(workload, queue, "LocalQueue", workload.spec.queue_name or "", now_ns, reasons)


def by_cluster_queue(
    workload: Workload, queue: ClusterQueue | None, name: str, now_ns: int, reasons: Reasons = Reasons()
) -> Step:
    """A Workload with a reservation, by what the ClusterQueue of its LocalQueue says.

    `name` is empty where the LocalQueue is stopped or gone: then nobody looks at the ClusterQueue that holds the quota.
    """
    return _by_queue(workload, queue, "ClusterQueue", name, now_ns, reasons)


def _by_queue(
    workload: Workload,
    queue: ClusterQueue | LocalQueue | None,
    kind: str,
    name: str,
    now_ns: int,
    reasons: Reasons,
) -> Step:
    known = workload.status.conditions if workload.status is not None else None
    if conditions.is_true(known, conditions.ADMITTED):
        if policy(queue) != HOLD_AND_DRAIN or eviction.is_evicted(workload):
            return REST
        reason = BY_LOCAL_QUEUE if kind == LocalQueue.KIND else BY_CLUSTER_QUEUE
        message = f"The {kind} is stopped"
        told = eviction.evicted(workload, reason, message, now_ns)
        namespace = workload.metadata.namespace or ""
        event = events.evicted(namespace, workload.metadata.name, reason, message, now_ns)
        return Step((UpdateWorkloadStatus(told),), (event,))
    if queue is None or queue.metadata.deletion_timestamp:
        why, message = "Misconfigured", f"{kind} {name} is terminating or missing"
    elif policy(queue) != NO_STOP:
        why, message = "Suspended", f"{kind} {name} is stopped"
    else:
        return REST
    changed = unset(workload, reasons.pick(why, "Inadmissible"), message, now_ns, reasons)
    return REST if changed is None else Step((UpdateWorkloadStatus(changed),))
