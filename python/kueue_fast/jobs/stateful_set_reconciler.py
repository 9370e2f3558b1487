"""The Workload and the pods of a StatefulSet: what to do about them. Source: JS-394, JS-397."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.jobs import names
from kueue_fast.jobs.actions import GroupAction, UpdatePod
from kueue_fast.jobs.group_workload import (
    is_on_hold,
    owned_by,
    serving_workload,
    updated_gates,
    with_gates,
    with_owner_again,
)
from kueue_fast.jobs.pod_facts import with_metadata
from kueue_fast.jobs.reconciler import CreateWorkload, UpdateWorkload, UpdateWorkloadStatus, View
from kueue_fast.jobs.serving import released
from kueue_fast.jobs.stateful_set import StatefulSets, replicas
from kueue_fast.jobs.workload import is_managed, new_workload, priority_of, queue_name
from kueue_fast.lifecycle import events, finish
from kueue_fast.lifecycle.admission import unset_reservation
from kueue_fast.lifecycle.status import Reasons, with_status, writable_status
from kueue_fast.model import conditions

__all__ = ["reconcile"]

KIND: Final = StatefulSets()
ON_HOLD: Final = "OnHold"


def reconcile(
    job: StatefulSet, workload: Workload | None, pods: Iterable[Pod], view: View, now_ns: int
) -> list[GroupAction]:
    """Pods follow the queue and are let go where they need not wait; the Workload is made, held and taken up again.

    `workload` is the one of the StatefulSet, `pods` are the members of its group. Raises InputError when a priority
    class does not exist, or no pod set can be made. Source: JS-394.
    """
    queue = queue_name(job.metadata)
    labels = {names.QUEUE_NAME_LABEL: queue} if queue and replicas(job) else {}
    actions: list[GroupAction] = []
    for pod in pods:
        changed = released(job, with_metadata(pod, labels=labels))
        if changed is not pod:
            actions.append(UpdatePod(changed, None))
    if workload is not None:
        return _followed(job, workload, view, now_ns) + actions
    remote = names.MULTIKUEUE_ORIGIN_LABEL in (job.metadata.labels or {})
    if replicas(job) and is_managed(job.metadata, view.settings) and not remote:
        actions.append(_created(job, view, now_ns))
    return actions


def _created(job: StatefulSet, view: View, now_ns: int) -> CreateWorkload:
    settings = view.settings
    pod_sets = KIND.pod_sets(job, settings)
    priority = priority_of(job.metadata, pod_sets, view.workload_classes, view.pod_classes)
    name = KIND.workload_name(job, settings)
    made = new_workload(name, job.metadata, pod_sets, priority, settings, label_keys=())
    namespace = job.metadata.namespace or ""
    event = events.created_workload(KIND.kind, namespace, job.metadata.name, f"{namespace}/{name}", now_ns)
    return CreateWorkload(serving_workload(made, job), event)


def _followed(job: StatefulSet, workload: Workload, view: View, now_ns: int) -> list[GroupAction]:
    """Owner, queue and gates in one write, then the reservation: given back at no replicas, free again with some."""
    actions: list[GroupAction] = []
    changed = workload
    if replicas(job):
        if not owned_by(workload, job):
            changed = with_owner_again(workload, job)
        queue = queue_name(job.metadata) or None
        if (workload.spec.queue_name or None) != queue:
            spec = msgspec.structs.replace(workload.spec, queue_name=queue)
            changed = msgspec.structs.replace(changed, spec=spec)
    gated = with_gates(changed, job.metadata, view.settings)
    if gated is not workload:
        event = updated_gates(KIND.kind, job.metadata, now_ns) if gated is not changed else None
        actions.append(UpdateWorkload(gated, event))
    known = gated.status.conditions if gated.status is not None else None
    if not replicas(job):
        reserved = conditions.is_true(known, conditions.QUOTA_RESERVED)
        if reserved and not finish.is_finished(gated) and gated.spec.active is not False:
            message = "StatefulSet scaled to zero; workload on hold"
            actions.append(_unreserved(gated, ON_HOLD, message, now_ns, view.settings.reasons))
    elif is_on_hold(gated):
        reasons = view.settings.reasons
        message = "Workload no longer on hold; waiting for quota reservation"
        reason = reasons.pick("PendingEvaluation", "Pending")
        actions.append(_unreserved(gated, reason, message, now_ns, reasons))
    return actions


def _unreserved(
    workload: Workload, reason: str, message: str, now_ns: int, reasons: Reasons
) -> UpdateWorkloadStatus:
    status = writable_status(workload)
    unset_reservation(workload, status, reason, message, now_ns, reasons)
    return UpdateWorkloadStatus(with_status(workload, status), None)
