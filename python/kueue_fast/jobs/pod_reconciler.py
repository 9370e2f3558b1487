"""The reconciler of pods, alone or in groups: the facts of the pods and their Workload in, what to do out.

Unlike that of other jobs it may ask for several things at once: a group is many objects. What it asks for is done in
order; the watch brings the group back.

Source: JS-060..079, JS-160, JS-164, JS-346, JS-352..356.
"""

from __future__ import annotations

from typing import Final

from kueue_fast.api.kueue import Workload
from kueue_fast.jobs import names, pod_names, pod_set_info
from kueue_fast.jobs.actions import GroupAction, ReleaseWorkload
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.one_workload import Ensured, in_sync, take_over
from kueue_fast.jobs.pod import Pods
from kueue_fast.jobs.pod_group import (
    NO_MATCHING_WORKLOAD,
    NOT_ADMITTED,
    WORKLOAD_DELETED,
    WORKLOAD_EVICTED,
    PodGroup,
    stop_reason,
)
from kueue_fast.jobs.pod_group_conditions import waiting_for_replacement
from kueue_fast.jobs.pod_group_workload import compose, match
from kueue_fast.jobs.pod_set_info import StartError
from kueue_fast.jobs.reconciler import (
    CreateWorkload,
    UpdateWorkload,
    UpdateWorkloadStatus,
    View,
    finalize,
    follow_queue,
    with_reclaimable_pods,
)
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.jobs.workload import is_managed, label_of_uid, new_workload, owned_by_job, priority_of
from kueue_fast.lifecycle import events, eviction, finish, pods_ready
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.retention import without_finalizer
from kueue_fast.model import conditions

__all__ = ["reconcile", "reconcile_empty_group"]

KIND: Final = Pods()


def reconcile_empty_group(workload: Workload, settings: JobSettings, now_ns: int) -> list[GroupAction]:
    """What to do with the Workload that has the name of a group without pods: they are gone, or did not come yet.

    It may be deleted from now on, so that those of serving kinds, which are made before their pods, may always be. One
    that belongs to somebody else only has the name of a group. Source: JS-061, JS-353.
    """
    marked = (workload.metadata.annotations or {}).get(pod_names.IS_GROUP_WORKLOAD) == pod_names.TRUE
    if controller_of(workload.metadata) is not None:
        action = finalize(workload, settings, now_ns) if marked else None
        return [] if action is None else [action]
    return [ReleaseWorkload(workload)] if without_finalizer(workload) is not None else []


def reconcile(
    group: PodGroup,
    workload: Workload | None,
    view: View,
    now_ns: int,
    *,
    observed: bool = True,
    implicit: bool = False,
) -> list[GroupAction]:
    """What to do next for pods, nothing when they are where they should be.

    `workload` is the pods' Workload, None when there is none; `observed` says whether the deletions that were asked for
    have been seen; `implicit`, whether `pod` is on only since other frameworks need it.

    Raises InputError when a priority class does not exist, or no pod sets can be made, LookupError when a flavor does
    not exist: all are retried live.
    """
    settings = view.settings
    if group.skip(implicit=implicit):
        return []
    if not group.is_group and group.first.metadata.deletion_timestamp:
        return _go(group, workload, settings, now_ns)
    if not is_managed(group.first.metadata, settings):
        return []
    if workload is not None and group.is_group:
        matched = match(group, workload, settings, observed=observed, now_ns=now_ns)
        if matched.actions or matched.group is None:
            return matched.actions
        group = matched.group
        # Who made the Workload beforehand replaces its pods, too: upstream does not count those that are absent.
        absent = 0 if prebuilt_name(group.first.metadata, settings) else matched.absent
        changed = waiting_for_replacement(workload, absent, now_ns)
        if changed is not None:
            return [UpdateWorkloadStatus(changed, None)]
    if not group.is_group and prebuilt_name(group.first.metadata, settings):
        adopted = _adopted(group, workload, view, now_ns)
        if adopted.actions:
            return list(adopted.actions)
        workload = adopted.workload
    if workload is not None and finish.is_finished(workload):
        released = without_finalizer(workload)
        # Pods that have ended got their event when the Workload was finished for them.
        event = None if group.finished() is not None else _finished(group, workload, now_ns)
        return group.finalize() + ([] if released is None else [UpdateWorkload(released, event)])
    if workload is not None and workload.metadata.deletion_timestamp:
        released = without_finalizer(workload)
        stopped = group.stop(WORKLOAD_DELETED, "Workload is deleted", now_ns)
        return stopped + ([] if released is None else [UpdateWorkload(released, None)])
    ended = group.finished()
    if ended is not None:
        if workload is None:
            return group.finalize()
        reason = finish.SUCCEEDED if ended.success else finish.FAILED
        done = finish.finished(workload, reason, ended.message, now_ns)
        event = _finished(group, workload, now_ns)
        return ([] if done is None else [UpdateWorkloadStatus(done, event)]) + group.finalize()
    if workload is None:
        return _hold_or_create(group, view, now_ns)
    if settings.reclaimable_pods:
        changed = with_reclaimable_pods(workload, group.reclaimable_pods())
        if changed is not None:
            return [UpdateWorkloadStatus(changed, None)]
    if settings.wait_for_pods_ready:
        changed = pods_ready.ready_condition(workload, group.ready(), now_ns)
        if changed is not None:
            return [UpdateWorkloadStatus(changed, None)]
    return _follow(group, workload, view, now_ns)


def _go(group: PodGroup, workload: Workload | None, settings: JobSettings, now_ns: int) -> list[GroupAction]:
    """A pod alone that is being deleted: its Workload ends, and the pod is let go, whether it runs or waits.

    That of a group goes on, with the other pods. Source: JS-060, JS-061.
    """
    owner = None if workload is None else controller_of(workload.metadata)
    if workload is None or owner is None or owner.uid != group.first.metadata.uid:
        return group.finalize()
    ended = finalize(workload, settings, now_ns)
    return ([] if ended is None else [ended]) + group.finalize()


def _adopted(group: PodGroup, named: Workload | None, view: View, now_ns: int) -> Ensured:
    """The Workload that was made beforehand for a pod alone. Source: JS-142."""
    metadata = group.first.metadata
    taken = take_over(metadata, KIND, named)
    if taken.actions or taken.workload is None:
        return taken
    pod_sets = group.pod_sets(view.settings)
    return in_sync(metadata, taken.workload, view, pod_sets, now_ns, held=group.suspended())


def _hold_or_create(group: PodGroup, view: View, now_ns: int) -> list[GroupAction]:
    """Pods without Workload: those that run are stopped, and those that wait get one, or wait for one that was named.

    Source: JS-135, JS-140, JS-141.
    """
    settings = view.settings
    if not group.suspended():
        return group.stop(NO_MATCHING_WORKLOAD, "missing workload", now_ns)
    if group.active(settings, now_ns):
        return []
    if prebuilt_name(group.first.metadata, settings):
        return []
    if group.is_group:
        return compose(group, settings, view.workload_classes, view.pod_classes, now_ns).actions
    metadata = group.first.metadata
    pod_sets = group.pod_sets(settings)
    priority = priority_of(metadata, pod_sets, view.workload_classes, view.pod_classes)
    name = names.workload_name(
        metadata.name, metadata.uid or "", KIND.group, KIND.kind, short=settings.short_workload_names
    )
    workload = owned_by_job(
        label_of_uid(new_workload(name, metadata, pod_sets, priority, settings), metadata), metadata, KIND
    )
    namespace = metadata.namespace or ""
    event = events.created_workload(KIND.kind, namespace, metadata.name, f"{namespace}/{name}", now_ns)
    return [CreateWorkload(workload, event)]


def _follow(group: PodGroup, workload: Workload, view: View, now_ns: int) -> list[GroupAction]:
    """Pods follow what was decided about their Workload. Source: JS-074, JS-077, JS-078."""
    settings = view.settings
    told_to_stop = eviction.eviction_of(workload)
    if told_to_stop is not None:
        return _leave(group, workload, told_to_stop, settings, now_ns)
    known = workload.status.conditions if workload.status is not None else None
    admitted = conditions.is_true(known, conditions.ADMITTED)
    if not group.suspended():
        return [] if admitted else group.stop(NOT_ADMITTED, "Not admitted by cluster queue", now_ns)
    if not admitted:
        moved = None if group.serving else follow_queue(group.first, workload)
        return [] if moved is None else [moved]
    admission = workload.status.admission if workload.status is not None else None
    cluster_queue = admission.cluster_queue if admission is not None else ""
    try:
        infos = pod_set_info.from_status(workload, view.flavor, settings)
        return group.start(infos, f"Admitted by clusterQueue {cluster_queue}", now_ns)
    except StartError as error:
        done = finish.finished(workload, finish.FAILED_TO_START, str(error), now_ns)
        return [] if done is None else [UpdateWorkloadStatus(done, None)]


def _leave(
    group: PodGroup, workload: Workload, why: tuple[str, str], settings: JobSettings, now_ns: int
) -> list[GroupAction]:
    """An evicted Workload: its pods are deleted; while none runs the quota is free. Source: JS-074, JS-075."""
    reason, message = why
    actions = group.stop(stop_reason(WORKLOAD_EVICTED, reason), message, now_ns)
    known = workload.status.conditions if workload.status is not None else None
    if conditions.is_true(known, conditions.QUOTA_RESERVED) and not group.active(settings, now_ns):
        freed = eviction.stopped(
            workload, now_ns, settings.reasons, skip_pod_owned=settings.skip_reassignment_for_pod_owned
        )
        actions.append(UpdateWorkloadStatus(freed, None))
    return actions


def _finished(group: PodGroup, workload: Workload, now_ns: int) -> Event:
    metadata = group.first.metadata
    namespace = metadata.namespace or ""
    key = f"{namespace}/{workload.metadata.name}"
    return events.finished_workload(KIND.kind, namespace, metadata.name, key, now_ns)
