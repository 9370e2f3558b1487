"""Bodies of server-side apply for a Workload's status, with upstream's field managers.

Field managers are a contract: who takes over from us, such as upstream again, can only clear fields that it owns.

Source: OP-891, LC-501.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.encode import encode
from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.api.meta import Condition, KubernetesObject, ObjectMeta
from kueue_fast.cluster.kube.resources import RESOURCES
from kueue_fast.cluster.kube.writer import Verb, Write
from kueue_fast.model import conditions

__all__ = ["ADMISSION", "PODS", "RECLAIMABLE_PODS", "admission", "condition", "reclaimable_pods"]

ADMISSION: Final = "kueue-admission"
RECLAIMABLE_PODS: Final = "kueue-reclaimable-pods"
# Whoever writes what a group of pods waits for, which the admission's manager leaves alone. Source: JS-064.
PODS: Final = "kueue-pod-controller"

# The conditions that belong to the admission's manager, in the order in which it writes them.
ADMISSION_CONDITIONS: Final = (
    conditions.QUOTA_RESERVED,
    "BlockedOnPreemptionGates",
    conditions.EVICTED,
    conditions.ADMITTED,
    conditions.PREEMPTED,
    "Requeued",
    "DeactivationTarget",
    conditions.FINISHED,
    "PodsReady",
)
WORKLOADS: Final = RESOURCES[Workload.KIND]


class _Applied(KubernetesObject, kw_only=True):
    """A Workload without a spec: what is left out is left alone."""

    API_VERSION = Workload.API_VERSION
    KIND = Workload.KIND
    NAMESPACED = True

    status: WorkloadStatus


def admission(workload: Workload, *, strict: bool = True) -> Write:
    """Everything that the admission's manager owns, as it is in this Workload; takes fields from others.

    With `strict` it is a conflict if the object has changed since this version; without, nothing is checked, not even
    whether it is still the same object (the API server ignores uid and generation here).
    """
    found = workload.status or WorkloadStatus()
    requeue = found.requeue_state
    if requeue is not None and requeue.count is None and requeue.requeue_at is None:
        requeue = None
    by_type = {each.type: each for each in found.conditions or ()}
    status = msgspec.structs.replace(
        found,
        requeue_state=requeue,
        # The admission says what is used; what was asked for is of no interest then.
        resource_requests=None if found.admission is not None else found.resource_requests,
        conditions=[by_type[type_] for type_ in ADMISSION_CONDITIONS if type_ in by_type],
        # Another manager's.
        reclaimable_pods=None,
    )
    return _apply(workload, status, ADMISSION, strict=strict)


def condition(workload: Workload, changed: Condition, manager: str, *, strict: bool = True) -> Write:
    """One condition, written by a manager of its own."""
    return _apply(workload, WorkloadStatus(conditions=[changed]), manager, strict=strict)


def reclaimable_pods(workload: Workload) -> Write:
    """`reclaimablePods` as in this Workload."""
    found = workload.status or WorkloadStatus()
    status = WorkloadStatus(reclaimable_pods=found.reclaimable_pods or [])
    return _apply(workload, status, RECLAIMABLE_PODS, strict=True)


def _apply(workload: Workload, status: WorkloadStatus, manager: str, *, strict: bool) -> Write:
    metadata = workload.metadata
    applied = _Applied(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            # As upstream sends it; the API server does not look at it.
            generation=metadata.generation,
            labels=metadata.labels,
            annotations=metadata.annotations,
            resource_version=metadata.resource_version if strict else None,
        ),
        status=status,
    )
    return Write(
        WORKLOADS,
        metadata.namespace,
        metadata.name,
        Verb.APPLY,
        encode(applied),
        subresource="status",
        manager=manager,
        force=True,
    )
