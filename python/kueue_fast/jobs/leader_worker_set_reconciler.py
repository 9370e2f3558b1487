"""Workloads and pods of a LeaderWorkerSet: what to do about them.

Source: JS-416..422.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.api.leaderworkerset import LeaderWorkerSet
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.actions import DeleteWorkload, GroupAction
from kueue_fast.jobs.group_workload import (
    serving_workload,
    updated_gates,
    with_gates,
    with_priority,
    without_class_change,
)
from kueue_fast.jobs.job_events import UPDATED_WORKLOAD, job_event
from kueue_fast.jobs.leader_worker_set import LEADER, WORKER, LeaderWorkerSets, size, wanted_replicas
from kueue_fast.jobs.pod_facts import (
    annotation,
    in_group,
    with_metadata,
)
from kueue_fast.jobs.reconciler import CreateWorkload, UpdateWorkload, View
from kueue_fast.jobs.serving import finished_with, released
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.workload import new_workload, priority_of, queue_name
from kueue_fast.lifecycle import events
from kueue_fast.lifecycle.pods import has_gate

__all__ = ["reconcile_pod", "reconcile_workloads"]

KIND: Final = LeaderWorkerSets()
GROUP_INDEX_LABEL: Final = "leaderworkerset.sigs.k8s.io/group-index"
LEADER_NAME_ANNOTATION: Final = "leaderworkerset.sigs.k8s.io/leader-name"


def reconcile_workloads(
    job: LeaderWorkerSet, workloads: Iterable[Workload], view: View, now_ns: int
) -> list[GroupAction]:
    """What makes the Workloads those of the groups: missing ones are created, known ones follow, others go.

    `workloads` are those that the object owns. Raises InputError when a priority class does not exist, or no pod sets
    can be made. Source: JS-417..420.
    """
    settings = view.settings
    rest = {workload.metadata.name: workload for workload in workloads}
    remote = names.MULTIKUEUE_ORIGIN_LABEL in (job.metadata.labels or {})
    actions: list[GroupAction] = []
    kept: list[Workload] = []
    for index in range(wanted_replicas(job)):
        workload = rest.pop(KIND.workload_name(job, index, settings), None)
        if workload is not None:
            kept.append(workload)
        elif not remote:
            actions.append(_created(job, index, view, now_ns))
    for workload in kept:
        actions += _updated(job, workload, view, now_ns)
    actions += [DeleteWorkload(workload, None) for workload in rest.values()]
    return actions


def reconcile_pod(
    job: LeaderWorkerSet | None, stateful_set: StatefulSet | None, pod: Pod, settings: JobSettings
) -> Pod:
    """The pod as it should be: let go, or a member of its group. The same object comes back if it is.

    `job` is None when the LeaderWorkerSet is gone, `stateful_set` is the pod's controller. Source: JS-421.
    """
    if job is None or finished_with(stateful_set, pod):
        return released(stateful_set, pod, force=job is None)
    labels = pod.metadata.labels or {}
    queue = queue_name(job.metadata)
    gated_queue = {}
    # A pod that runs keeps its queue: its webhook refuses another one.
    if queue and has_gate(pod, pod_names.ADMISSION_GATE):
        gated_queue = {names.QUEUE_NAME_LABEL: queue}
    if pod_names.MANAGED in labels:
        return with_metadata(pod, labels=gated_queue)
    index = labels.get(GROUP_INDEX_LABEL)
    if index is None:
        return pod
    role = names.DEFAULT_POD_SET
    if job.spec.leader_worker_template.leader_template is not None:
        follows = LEADER_NAME_ANNOTATION in (pod.metadata.annotations or {})
        role = WORKER if follows else LEADER
    pod = with_metadata(
        pod,
        labels={pod_names.MANAGED: pod_names.TRUE, **gated_queue},
        annotations={pod_names.GROUP_TOTAL_COUNT: str(size(job)), pod_names.ROLE_HASH: role},
    )
    return in_group(pod, KIND.workload_name(job, index, settings), settings)


def is_own_pod(pod: Pod) -> bool:
    """Whether a change of this pod concerns a LeaderWorkerSet at all. Source: JS-421."""
    return annotation(pod, pod_names.SUSPENDING_PARENT) == KIND.framework


def _created(job: LeaderWorkerSet, index: int, view: View, now_ns: int) -> CreateWorkload:
    settings = view.settings
    pod_sets = KIND.pod_sets(job, settings)
    priority = priority_of(job.metadata, pod_sets, view.workload_classes, view.pod_classes)
    name = KIND.workload_name(job, index, settings)
    workload = serving_workload(new_workload(name, job.metadata, pod_sets, priority, settings), job, index)
    namespace = job.metadata.namespace or ""
    event = events.created_workload(KIND.kind, namespace, job.metadata.name, f"{namespace}/{name}", now_ns)
    return CreateWorkload(workload, event)


def _updated(job: LeaderWorkerSet, workload: Workload, view: View, now_ns: int) -> list[GroupAction]:
    """Queue and gates in one write, the priority in another; pod sets are never made anew. Source: JS-420."""
    actions: list[GroupAction] = []
    changed = workload
    queue = queue_name(job.metadata) or None
    if (workload.spec.queue_name or None) != queue:
        spec = msgspec.structs.replace(workload.spec, queue_name=queue)
        changed = msgspec.structs.replace(workload, spec=spec)
    gated = with_gates(changed, job.metadata, view.settings)
    if gated is not workload:
        event = updated_gates(KIND.kind, job.metadata, now_ns) if gated is not changed else None
        actions.append(UpdateWorkload(gated, event))
    wanted = (job.metadata.labels or {}).get(names.PRIORITY_CLASS_LABEL, "")
    same, different = without_class_change([gated], wanted)
    if different:
        pod_sets = different[0].spec.pod_sets or []
        priority = priority_of(job.metadata, pod_sets, view.workload_classes, view.pod_classes)
        for each in with_priority([*same, *different], priority):
            key = f"{each.metadata.namespace or ''}/{each.metadata.name}"
            text = f"Updated workload priority class: {key}"
            event = job_event(KIND.kind, job.metadata, UPDATED_WORKLOAD, text, now_ns)
            actions.append(UpdateWorkload(each, event))
    return actions
