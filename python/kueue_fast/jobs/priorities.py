"""Workloads follow the priority class that their job names. Source: JS-118, JS-483."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs import names
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.reconciler import UpdateWorkload, View, resolved_priority
from kueue_fast.lifecycle import events
from kueue_fast.model import conditions
from kueue_fast.model.priority import WORKLOAD_CLASS_GROUP, WORKLOAD_CLASS_KIND

__all__ = ["next_priority_update"]

JobType = TypeVar("JobType", bound=KubernetesObject)


def next_priority_update(
    job: JobType, integration: Integration[JobType], workloads: Iterable[Workload], view: View, now_ns: int
) -> UpdateWorkload | None:
    """The first of these Workloads of the job that has to follow its label, None when all do.

    Nothing happens until some Workload names another class than the job: a class whose value was edited is no reason.
    Then those of the same class go first, so that the different name stays what tells that there is more to do. A
    Workload with a reservation and no class cannot get one, and one with a class of its pods does not follow the label.

    Raises InputError when the class does not exist. Source: JS-118.
    """
    wanted = (job.metadata.labels or {}).get(names.PRIORITY_CLASS_LABEL, "")
    same: list[Workload] = []
    other: list[Workload] = []
    for workload in workloads:
        ref = workload.spec.priority_class_ref
        if ref is None:
            if workload.status is not None and conditions.is_true(
                workload.status.conditions, conditions.QUOTA_RESERVED
            ):
                continue
        elif (ref.group, ref.kind) != (WORKLOAD_CLASS_GROUP, WORKLOAD_CLASS_KIND):
            continue
        (same if (ref.name if ref is not None else "") == wanted else other).append(workload)
    if not other:
        return None
    resolved = resolved_priority(job, integration, other[0].spec.pod_sets or (), view)
    for workload in (*same, *other):
        spec = msgspec.structs.replace(
            workload.spec, priority_class_ref=resolved.class_ref, priority=resolved.value
        )
        if spec != workload.spec:
            namespace = job.metadata.namespace or ""
            key = f"{namespace}/{workload.metadata.name}"
            event = events.updated_priority(integration.kind, namespace, job.metadata.name, key, now_ns)
            return UpdateWorkload(msgspec.structs.replace(workload, spec=spec), event)
    return None
