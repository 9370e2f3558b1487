"""The Workload of a pod group: how it is made, and how a group that changes is held against it.

Source: JS-352..358.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kueue_fast.api.core import Pod, PriorityClass
from kueue_fast.api.kueue import PodSet, Workload, WorkloadPriorityClass
from kueue_fast.errors import InputError
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.actions import DeletePod, DeleteWorkload, GroupAction, RecordEvent, UpdatePod
from kueue_fast.jobs.group_workload import with_owner
from kueue_fast.jobs.job_events import (
    COMPOSE_ERROR,
    EXCESS_POD_DELETED,
    NAME_CONFLICT,
    OWNERS_ADDED,
    job_event,
)
from kueue_fast.jobs.pod_facts import annotation, group_name, is_runnable, phase, role, total_count
from kueue_fast.jobs.pod_facts import without_finalizer as let_go
from kueue_fast.jobs.pod_group import PodGroup, group_pod_sets
from kueue_fast.jobs.pod_group_order import keep_first_active, keep_first_inactive
from kueue_fast.jobs.reconciler import CreateWorkload, UpdateWorkload
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.jobs.workload import max_execution_time, new_workload, priority_of, queue_name
from kueue_fast.lifecycle import events, finish
from kueue_fast.lifecycle.events import WARNING
from kueue_fast.model.integers import parse_int64, parse_uint64
from kueue_fast.model.topology_names import POD_GROUP_POD_INDEX

__all__ = [
    "Composed",
    "Matched",
    "Problem",
    "compose",
    "equivalent",
    "is_foreign",
    "is_of_another_controller",
    "match",
    "workload_name",
]

TOO_MANY_ROLES: Final = f"pod group can't include more than {names.MAX_POD_SETS} roles"


class Problem(NamedTuple):
    """Why there is no Workload (yet): in words, and whether it is worth trying again without any change.

    `told`: whether the first pod gets a warning.
    """

    message: str
    retry: bool
    told: bool = False


class Composed(NamedTuple):
    """What to do for a group without Workload, and what stands in the way."""

    actions: list[GroupAction]
    problem: Problem | None


class Matched(NamedTuple):
    """A group held against its Workload.

    `group` is what of it counts, None when the Workload does not fit and goes. `absent` pods are missing.
    """

    actions: list[GroupAction]
    group: PodGroup | None
    absent: int
    problem: Problem | None


def workload_name(group: PodGroup, settings: JobSettings) -> str:
    """Name of the Workload: one made beforehand, or the group's. Source: JS-352."""
    metadata = group.first.metadata
    return prebuilt_name(metadata, settings) or group_name(metadata, settings)


def is_foreign(workload: Workload, settings: JobSettings) -> bool:
    """Whether a Workload only happens to be called like the group: nothing of the group may touch it.

    Source: JS-353.
    """
    marked = (workload.metadata.annotations or {}).get(pod_names.IS_GROUP_WORKLOAD) == pod_names.TRUE
    return settings.validate_group_owner and not marked


def is_of_another_controller(workload: Workload, settings: JobSettings) -> bool:
    """Whether a Workload called like a group that is gone is someone's still: it is not finished for the group.

    Source: JS-358.
    """
    controlled = any(owner.controller for owner in workload.metadata.owner_references or ())
    return is_foreign(workload, settings) and controlled


def compose(
    group: PodGroup,
    settings: JobSettings,
    workload_classes: Mapping[str, WorkloadPriorityClass],
    pod_classes: Mapping[str, PriorityClass],
    now_ns: int,
) -> Composed:
    """The Workload of a group that has none; pods that will not run, and those that are too many, are let go.

    Raises InputError when a priority class does not exist. Source: JS-352.
    """
    metadata = group.first.metadata
    active = [pod for pod in group.pods if is_runnable(pod)]
    actions = _finalized(pod for pod in group.pods if not is_runnable(pod))
    problem = _metadata_problem(group, len(active), group_name(metadata, settings))
    count = total_count(group.first)
    if problem is not None or count is None:
        if problem is not None and problem.told:
            actions.append(RecordEvent(_warning(group.first, COMPOSE_ERROR, problem.message, now_ns)))
        return Composed(actions, problem)
    if len(active) > count:
        active, excess = keep_first_active(active, count)
        actions += _deleted(excess, now_ns)
        group = PodGroup(active)
    try:
        pod_sets = group.pod_sets(settings)
    except InputError as error:
        return Composed(actions, Problem(str(error), retry=True))
    if len(pod_sets) > names.MAX_POD_SETS:
        return Composed(actions, Problem(TOO_MANY_ROLES, retry=False))
    labels = _agreed_labels(group.pods, settings.label_keys_to_copy)
    if labels is None:
        return Composed(
            actions, Problem("constructing workload: pods have different label values", retry=True)
        )
    priority = priority_of(metadata, pod_sets, workload_classes, pod_classes)
    name = workload_name(group, settings)
    workload = new_workload(name, metadata, pod_sets, priority, settings, label_keys=())
    annotations = {
        **(workload.metadata.annotations or {}),
        pod_names.IS_GROUP_WORKLOAD: pod_names.TRUE,
    }
    workload.metadata.annotations = annotations
    workload.metadata.labels = labels or None
    for pod in group.pods:
        workload = with_owner(workload, pod)
    namespace = metadata.namespace or ""
    event = events.created_workload("Pod", namespace, metadata.name, f"{namespace}/{name}", now_ns)
    return Composed([*actions, CreateWorkload(workload, event)], None)


def match(
    group: PodGroup, workload: Workload, settings: JobSettings, *, observed: bool, now_ns: int
) -> Matched:
    """A group held against its Workload: the pods that count, those that are too many, and how many are missing.

    `observed`: whether the deletions asked for before have been seen; until then nothing more is deleted.
    Source: JS-353, JS-354.
    """
    if is_foreign(workload, settings):
        name = workload.metadata.name
        text = (
            f'A Workload named "{name}" already exists but is not a pod group workload; '
            "this pod group cannot be admitted"
        )
        actions: list[GroupAction] = [RecordEvent(_warning(group.first, NAME_CONFLICT, text, now_ns))]
        actions += _finalized(pod for pod in group.pods if not is_runnable(pod))
        return Matched(actions, None, 0, Problem(text, retry=False))
    if workload.spec.maximum_execution_time_seconds != max_execution_time(group.first.metadata):
        return Matched([DeleteWorkload(workload, None)], None, 0, None)
    kept: list[Pod] = []
    excess: list[Pod] = []
    replaced: list[Pod] = []
    absent = 0
    roles = [(role(pod), pod) for pod in group.pods]
    for pod_set in workload.spec.pod_sets or ():
        members = [pod for name, pod in roles if name == pod_set.name]
        active = [pod for pod in members if is_runnable(pod)]
        inactive = [pod for pod in members if not is_runnable(pod)]
        absent += _absent(pod_set, len(active), group.fast)
        first, last = keep_first_active(active, pod_set.count)
        kept += first
        excess += last
        done_with = min(len(inactive), len(inactive) + len(active) - pod_set.count)
        first, last = keep_first_inactive(inactive, len(inactive) - max(done_with, 0), now_ns)
        kept += first
        replaced += last
    if not kept or not equivalent(workload, group, group_pod_sets(kept, settings), settings):
        return Matched([DeleteWorkload(workload, None)], None, 0, None)
    if not observed:
        return Matched([], None, 0, Problem("waiting to observe previous operations on pods", retry=False))
    actions = []
    owned = workload
    for pod in kept:
        owned = with_owner(owned, pod)
    if owned is not workload:
        before = len(workload.metadata.owner_references or ())
        added = len(owned.metadata.owner_references or ()) - before
        text = f"Added {added} owner reference(s)"
        event = job_event("Workload", workload.metadata, OWNERS_ADDED, text, now_ns)
        actions.append(UpdateWorkload(owned, event))
    actions += _deleted(excess, now_ns)
    actions += _finalized(replaced)
    return Matched(actions, PodGroup(kept), absent, None)


def equivalent(
    workload: Workload, group: PodGroup, pod_sets: Sequence[PodSet], settings: JobSettings
) -> bool:
    """Whether these roles are some of the Workload's, in its order, with no more pods than it has. Source: JS-354."""
    if workload.metadata.name != workload_name(group, settings):
        return False
    ended = finish.is_finished(workload)
    known = workload.spec.pod_sets or []
    if not ended and len(known) < len(pod_sets):
        return False
    rest = iter(known)
    for pod_set in pod_sets:
        of_workload = next((each for each in rest if each.name == pod_set.name), None)
        if of_workload is None or (not ended and of_workload.count < pod_set.count):
            return False
    return True


def _absent(pod_set: PodSet, active: int, fast: bool) -> int:
    """Pods that are missing: with fast admission one that stands for all, if none is there."""
    if fast:
        return int(pod_set.count > 0 and active == 0)
    return max(0, pod_set.count - active)


def _metadata_problem(group: PodGroup, active: int, name: str) -> Problem | None:
    """What the members of a group must agree on before it gets a Workload."""
    first = group.first
    count = total_count(first)
    if count is None:
        text = annotation(first, pod_names.GROUP_TOTAL_COUNT)
        return Problem(f"{pod_names.GROUP_TOTAL_COUNT}={text!r} is not an integer of at least 1", retry=True)
    index = (first.metadata.labels or {}).get(POD_GROUP_POD_INDEX)
    number = None if index is None else parse_uint64(index)
    if index is not None and (number is None or number >= count):
        return Problem(f"{POD_GROUP_POD_INDEX}={index!r} is not a number below {count}", retry=True)
    if not group.fast and active < count:
        return Problem(f"'{name}' group has fewer runnable pods than expected", retry=False, told=True)
    for pod in group.pods:
        if phase(pod) == "Failed":
            continue
        one, other = queue_name(first.metadata), queue_name(pod.metadata)
        pair = f"pods '{first.metadata.name}' and '{pod.metadata.name}'"
        if one != other:
            return Problem(f"{pair} has different queue names: {one}!={other}", retry=False)
        own = parse_int64(annotation(pod, pod_names.GROUP_TOTAL_COUNT))
        if own is None:
            what = f"pod '{pod.metadata.name}' has no number as {pod_names.GROUP_TOTAL_COUNT}"
            return Problem(what, retry=True)
        if own != count:
            what = f"'{pod_names.GROUP_TOTAL_COUNT}' values: {count}!={own}"
            return Problem(f"{pair} has different {what}", retry=False)
    return None


def _agreed_labels(pods: Iterable[Pod], keys: Sequence[str]) -> dict[str, str] | None:
    """Labels of all members for these keys, None where two of them differ."""
    labels: dict[str, str] = {}
    for pod in pods:
        for key, value in (pod.metadata.labels or {}).items():
            if key in keys and labels.setdefault(key, value) != value:
                return None
    return labels


def _finalized(pods: Iterable[Pod]) -> list[GroupAction]:
    return [UpdatePod(gone, None) for pod in pods if (gone := let_go(pod)) is not pod]


def _deleted(pods: Iterable[Pod], now_ns: int) -> list[GroupAction]:
    """Pods that are too many go; one that goes already only has to be let go. Source: JS-355."""
    actions: list[GroupAction] = []
    for pod in pods:
        gone = let_go(pod)
        if not pod.metadata.deletion_timestamp:
            event = job_event("Pod", pod.metadata, EXCESS_POD_DELETED, "Excess pod deleted", now_ns)
            actions.append(DeletePod(gone, event))
        elif gone is not pod:
            actions.append(UpdatePod(gone, None))
    return actions


def _warning(pod: Pod, reason: str, message: str, now_ns: int) -> events.Event:
    return job_event("Pod", pod.metadata, reason, message, now_ns, type_=WARNING)
