"""Status of ClusterQueues, LocalQueues and Cohorts, and what a queue means for a Workload that waits in it.

Source: LC-506, LC-1403, LC-1702..1704, LC-1711, LC-1712, LC-1721.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.kueue import (
    ClusterQueue,
    ClusterQueueStatus,
    Cohort,
    CohortStatus,
    FairSharingStatus,
    FlavorUsage,
    LocalQueue,
    LocalQueueFlavorUsage,
    LocalQueueResourceUsage,
    LocalQueueStatus,
    ResourceUsage,
    Workload,
)
from kueue_fast.api.meta import Condition
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
from kueue_fast.model.quantities import UNLIMITED, format_amount

__all__ = [
    "Activity",
    "QueueCounts",
    "blocked",
    "cluster_queue_status",
    "cohort_status",
    "local_queue_status",
    "queue_blocker",
    "quota_pairs",
    "share_status",
    "stopped",
]

ACTIVE: Final = "Active"
NO_STOP: Final = "None"
READY: Final = "Ready"
CANNOT_SUBMIT: Final = "Can't submit new workloads to clusterQueue"

# flavor/resource to an amount in the kernel's units
Usage = Mapping[str, int]


class Activity(NamedTuple):
    """Whether a ClusterQueue admits, and the reason and message of its condition Active."""

    active: bool
    reason: str
    message: str


class QueueCounts(NamedTuple):
    """Numbers of a queue: pending, reserving and admitted workloads; reserved and admitted amounts by
    `flavor/resource`.
    """

    pending: int
    reserving: int
    admitted: int
    reserved_usage: Usage
    admitted_usage: Usage


EMPTY = QueueCounts(0, 0, 0, {}, {})


def stopped(queue: ClusterQueue | LocalQueue) -> bool:
    """Whether the stop policy is Hold or HoldAndDrain."""
    return queue.spec is not None and (queue.spec.stop_policy or NO_STOP) != NO_STOP


def cluster_queue_status(
    queue: ClusterQueue,
    activity: Activity,
    counts: QueueCounts,
    nominal: Mapping[tuple[str, str], int],
    now_ns: int,
    fair_sharing: FairSharingStatus | None = None,
) -> ClusterQueue | None:
    """The ClusterQueue with its present status, None when that stands there already.

    `nominal` is its own quota by (flavor, resource): what is used beyond it counts as borrowed, in a cohort
    only. `fair_sharing` is its share, None without fair sharing.

    Source: LC-1702..1704.
    """
    status = queue.status or ClusterQueueStatus()
    in_cohort = queue.spec is not None and bool(queue.spec.cohort_name)

    def usage(amounts: Usage) -> list[FlavorUsage]:
        flavors = []
        for flavor, resources in quota_pairs(queue):
            rows = []
            for resource in resources:
                used = amounts.get(f"{flavor}/{resource}", 0)
                borrowed = max(0, used - nominal.get((flavor, resource), 0)) if in_cohort else 0
                rows.append(
                    ResourceUsage(
                        name=resource,
                        total=format_amount(resource, used),
                        borrowed=format_amount(resource, borrowed),
                    )
                )
            flavors.append(FlavorUsage(name=flavor, resources=rows))
        return flavors

    new = msgspec.structs.replace(
        status,
        conditions=active_condition(queue, status.conditions, activity, now_ns),
        flavors_reservation=usage(counts.reserved_usage),
        flavors_usage=usage(counts.admitted_usage),
        pending_workloads=counts.pending,
        reserving_workloads=counts.reserving,
        admitted_workloads=counts.admitted,
        fair_sharing=fair_sharing,
    )
    return None if new == queue.status else msgspec.structs.replace(queue, status=new)


def local_queue_status(
    queue: LocalQueue,
    cluster_queue: ClusterQueue | None,
    cluster_queue_active: bool,
    counts: QueueCounts,
    now_ns: int,
) -> LocalQueue | None:
    """The LocalQueue with its present status, None when that stands there already. Source: LC-1711, LC-1712."""
    if stopped(queue):
        activity = Activity(False, "Stopped", "LocalQueue is stopped")
        counts = counts._replace(pending=0)
    elif cluster_queue is None:
        activity = Activity(False, "ClusterQueueDoesNotExist", CANNOT_SUBMIT)
        counts = EMPTY._replace(pending=counts.pending)
    elif cluster_queue_active:
        activity = Activity(True, READY, "Can submit new workloads to localQueue")
    else:
        activity = Activity(False, "ClusterQueueIsInactive", CANNOT_SUBMIT)
    status = queue.status or LocalQueueStatus()

    def usage(amounts: Usage) -> list[LocalQueueFlavorUsage] | None:
        if cluster_queue is None:
            return None
        return [
            LocalQueueFlavorUsage(
                name=flavor,
                resources=[
                    LocalQueueResourceUsage(
                        name=resource,
                        total=format_amount(resource, amounts.get(f"{flavor}/{resource}", 0)),
                    )
                    for resource in resources
                ],
            )
            for flavor, resources in quota_pairs(cluster_queue)
        ]

    new = msgspec.structs.replace(
        status,
        conditions=active_condition(queue, status.conditions, activity, now_ns),
        pending_workloads=counts.pending,
        reserving_workloads=counts.reserving,
        admitted_workloads=counts.admitted,
        flavors_reservation=usage(counts.reserved_usage),
        flavors_usage=usage(counts.admitted_usage),
    )
    return None if new == queue.status else msgspec.structs.replace(queue, status=new)


def cohort_status(cohort: Cohort, share: float | None, *, fair_sharing: bool) -> Cohort | None:
    """The Cohort with its present status, None when that stands there already. `share` is None in a cycle of cohorts.

    Source: LC-1721.
    """
    status = cohort.status or CohortStatus()
    if not fair_sharing:
        new = msgspec.structs.replace(status, fair_sharing=None)
    elif share is None:
        return None
    else:
        new = msgspec.structs.replace(status, fair_sharing=share_status(share))
    return None if new == status else msgspec.structs.replace(cohort, status=new)


def share_status(share: float) -> FairSharingStatus:
    """A weighted share as statuses show it: the next whole number, the largest for infinity. Source: LC-1704."""
    whole = UNLIMITED if math.isinf(share) else min(math.ceil(share), UNLIMITED)
    return FairSharingStatus(weighted_share=whole)


def active_condition(
    queue: ClusterQueue | LocalQueue, before: Iterable[Condition] | None, activity: Activity, now_ns: int
) -> list[Condition]:
    """The list of conditions with Active in it."""
    after = list(before or ())
    conditions.set_condition(
        after,
        Condition(
            type=ACTIVE,
            status=TRUE if activity.active else FALSE,
            reason=activity.reason,
            message=conditions.cut_condition_message(activity.message),
            observed_generation=queue.metadata.generation,
        ),
        timestamp(now_ns),
    )
    return after


def quota_pairs(queue: ClusterQueue) -> Iterator[tuple[str, list[str]]]:
    """Flavors of a ClusterQueue in the order of its spec, each with its resources sorted by name. Source: LC-1703."""
    for group in (queue.spec.resource_groups or ()) if queue.spec is not None else ():
        for flavor in group.flavors or ():
            yield flavor.name, sorted(resource.name for resource in flavor.resources or ())


def queue_blocker(
    workload: Workload,
    local_queue: LocalQueue | None,
    cluster_queue: ClusterQueue | None,
    cluster_queue_active: bool,
) -> tuple[str, str] | None:
    """Granular reason and message of what keeps a Workload's queues from taking it, None when they do.

    Source: LC-506.
    """
    name = workload.spec.queue_name or ""
    if local_queue is None:
        return "Misconfigured", f"LocalQueue {name} doesn't exist"
    if stopped(local_queue):
        return "Suspended", f"LocalQueue {name} is inactive"
    wanted = (local_queue.spec.cluster_queue if local_queue.spec is not None else None) or ""
    if cluster_queue is None:
        return "Misconfigured", f"ClusterQueue {wanted} doesn't exist"
    if not cluster_queue_active:
        return "Suspended", f"ClusterQueue {wanted} is inactive"
    return None


def blocked(
    workload: Workload, blocker: tuple[str, str], now_ns: int, reasons: Reasons = Reasons()
) -> Workload | None:
    """The Workload without reservation, with what its queues lack; None when that stands there. Source: LC-506."""
    reason, message = blocker
    status = writable_status(workload)
    picked = reasons.pick(reason, "Inadmissible")
    if not add_condition(workload, status, conditions.QUOTA_RESERVED, FALSE, picked, message, now_ns):
        return None
    return with_status(workload, status)
