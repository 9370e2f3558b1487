"""What goes when it is no longer needed: finished Workloads, Workloads without owner, finalizers of unused objects.

Source: LC-1602, LC-1604, LC-1605.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.lifecycle import events, finish
from kueue_fast.lifecycle.status import TRUE
from kueue_fast.lifecycle.steps import (
    REST,
    DeleteWorkload,
    Step,
    UpdateWorkload,
    UpdateWorkloadStatus,
    Write,
    again,
)
from kueue_fast.model import conditions, times

__all__ = [
    "FINALIZER",
    "after_finished",
    "finish_orphan",
    "is_orphaned",
    "kept_while_used",
    "without_finalizer",
]

FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"
JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"
NO_OWNER: Final = "The workload's owner no longer exists"

ObjectType = TypeVar("ObjectType", bound=KubernetesObject)


def without_finalizer(obj: ObjectType) -> ObjectType | None:
    """The object without Kueue's finalizer, None when it has none."""
    finalizers = obj.metadata.finalizers or []
    if FINALIZER not in finalizers:
        return None
    kept = [name for name in finalizers if name != FINALIZER]
    metadata = msgspec.structs.replace(obj.metadata, finalizers=kept or None)
    return msgspec.structs.replace(obj, metadata=metadata)


def kept_while_used(obj: ObjectType, *, in_use: bool) -> ObjectType | None:
    """A ClusterQueue, ResourceFlavor, AdmissionCheck or Topology with Kueue's finalizer, or without it.

    It has one until it is being deleted and nobody uses it: no Workload holds quota of the ClusterQueue, no
    ClusterQueue lists the flavor or the check, no flavor the Topology. None when nothing is to be written.

    Source: LC-1605, LC-1701.
    """
    if obj.metadata.deletion_timestamp:
        return None if in_use else without_finalizer(obj)
    finalizers = obj.metadata.finalizers or []
    if FINALIZER in finalizers:
        return None
    metadata = msgspec.structs.replace(obj.metadata, finalizers=[*finalizers, FINALIZER])
    return msgspec.structs.replace(obj, metadata=metadata)


def after_finished(workload: Workload, retention_ns: int | None, now_ns: int) -> Step:
    """A finished Workload: it is deleted once it was kept for so long; None: never. Source: LC-1602."""
    known = workload.status.conditions if workload.status is not None else None
    found = conditions.find(known, conditions.FINISHED)
    if retention_ns is None or found is None or found.status != TRUE:
        return REST
    deadline = (times.parse(found.last_transition_time) if found.last_transition_time else 0) + retention_ns
    if now_ns < deadline:
        return again(deadline)
    released = without_finalizer(workload)
    writes: tuple[Write, ...] = () if released is None else (UpdateWorkload(released),)
    if workload.metadata.deletion_timestamp:
        return Step(writes)
    message = "Deleted finished workload due to elapsed retention"
    namespace, name = workload.metadata.namespace or "", workload.metadata.name
    event = events.normal(namespace, name, "Deleted", message, now_ns)
    return Step((*writes, DeleteWorkload(workload)), (event,))


def is_orphaned(workload: Workload, *, finish_orphaned: bool) -> bool:
    """Whether nobody owns the Workload although somebody did, or it is being deleted.

    `finish_orphaned` is the gate FinishOrphanedWorkloads. Source: LC-1604.
    """
    if workload.metadata.owner_references:
        return False
    labels = workload.metadata.labels or {}
    return bool(workload.metadata.deletion_timestamp or (finish_orphaned and labels.get(JOB_UID_LABEL)))


def finish_orphan(workload: Workload, now_ns: int, *, finish_orphaned: bool) -> Step:
    """The next step for such a Workload: it ends, unless it is being deleted; then its finalizer goes.

    Source: LC-1604.
    """
    if finish_orphaned and not workload.metadata.deletion_timestamp:
        done = finish.finished(workload, finish.OWNER_NOT_FOUND, NO_OWNER, now_ns)
        if done is not None:
            return Step((UpdateWorkloadStatus(done),))
    released = without_finalizer(workload)
    return REST if released is None else Step((UpdateWorkload(released),))
