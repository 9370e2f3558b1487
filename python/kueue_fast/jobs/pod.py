"""Pods as jobs: what their webhook writes and refuses. Source: JS-335, JS-336."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_fast.api.core import Pod
from kueue_fast.api.meta import ObjectMeta
from kueue_fast.jobs import names, pod_names, validation
from kueue_fast.jobs.pod_facts import (
    annotation,
    gated,
    group_name,
    is_suspended,
    is_unretriable,
    role,
    total_count,
    with_finalizer,
    with_metadata,
)
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import pod_group_index
from kueue_fast.jobs.topology_validation import validate_topology_annotations
from kueue_fast.jobs.workload import is_managed, queue_name
from kueue_fast.model.topology_names import POD_GROUP_POD_INDEX, TOPOLOGY_GATE
from kueue_fast.model.validation.field_error import FieldError, forbidden, invalid, required
from kueue_fast.model.validation.names import subdomain

__all__ = ["Pods"]

TOTAL_COUNT_PATH: Final = f"metadata.annotations[{pod_names.GROUP_TOTAL_COUNT}]"


class Pods:
    """v1 Pod, alone or in a group."""

    framework = "pod"
    api_version = "v1"
    group = ""
    kind = "Pod"
    prebuilt = True
    elastic = False

    def default(
        self, pod: Pod, settings: JobSettings, *, default_queue_exists: bool, foreign: bool = False
    ) -> Pod:
        """A new pod as it is stored: held, if it is Kueue's or its parent said so.

        `foreign`: the pod's namespace is not selected, or a job above it is Kueue's already. A pod held by its parent
        is held whatever else is true. Source: JS-335.
        """
        by_parent = pod_names.SUSPENDING_PARENT in (pod.metadata.annotations or {})
        if not by_parent:
            if foreign:
                return pod
            if not queue_name(pod.metadata) and default_queue_exists:
                pod = with_metadata(pod, labels={names.QUEUE_NAME_LABEL: names.DEFAULT_LOCAL_QUEUE})
            if not is_managed(pod.metadata, settings):
                return pod
            pod = with_finalizer(with_metadata(pod, labels={pod_names.MANAGED: pod_names.TRUE}))
        pod = gated(pod, pod_names.ADMISSION_GATE)
        if settings.topology_aware_scheduling:
            index = pod_group_index(pod.metadata.annotations or {}, pod.metadata.labels or {})
            if index is not None:
                pod = with_metadata(pod, labels={POD_GROUP_POD_INDEX: index})
            pod = gated(pod, TOPOLOGY_GATE)
        return with_metadata(pod, annotations={pod_names.ROLE_HASH: role(pod)})

    def validate(self, pod: Pod, settings: JobSettings) -> list[FieldError]:
        """What is wrong with a new pod, whether it is Kueue's or not. Source: JS-336."""
        return [*validation.validate_create(pod.metadata, self, settings), *validate_pod(pod, settings)]

    def validate_update(
        self, old: Pod, new: Pod, settings: JobSettings, default_queue_exists: bool
    ) -> list[FieldError]:
        """What is wrong with a change: a pod stays in its group, and cannot be made retriable. Source: JS-336."""
        held = (is_suspended(old), is_suspended(new))
        errors = validation.validate_update(old, new, held, self, settings, default_queue_exists)
        errors += validate_pod(new, settings)
        if group_name(new.metadata, settings) and is_unretriable(old) and not is_unretriable(new):
            path = f"metadata.annotations[{pod_names.RETRIABLE_IN_GROUP}]"
            errors.append(forbidden(path, "a pod of a group that is not retriable cannot become so"))
        before = group_name(old.metadata, settings)
        if before:
            path = group_path(new.metadata, settings)
            errors += validation.immutable(path, before, group_name(new.metadata, settings))
        return errors

    def warnings(self, pod: Pod, *, owner_managed: bool, update: bool = False) -> list[str]:
        """What the user is told, though it is accepted; `owner_managed`: the pod's direct owner is Kueue's.

        Source: JS-336.
        """
        held_by_parent = pod_names.SUSPENDING_PARENT in (pod.metadata.annotations or {})
        label = (pod.metadata.labels or {}).get(pod_names.MANAGED)
        if not owner_managed or label != pod_names.TRUE or (update and held_by_parent):
            return []
        return [f"the owner of the pod is managed by Kueue: the label {pod_names.MANAGED}=true may surprise"]


def group_path(metadata: ObjectMeta, settings: JobSettings) -> str:
    """Where the name of the pod's group stands, or would."""
    by_annotation = (metadata.annotations or {}).get(pod_names.GROUP_NAME)
    part = "annotations" if settings.workload_identifier_annotations and by_annotation else "labels"
    return f"metadata.{part}[{pod_names.GROUP_NAME}]"


def validate_pod(pod: Pod, settings: JobSettings) -> Iterator[FieldError]:
    """Checks of a pod, new or changed. Source: JS-336."""
    label = (pod.metadata.labels or {}).get(pod_names.MANAGED, pod_names.TRUE)
    if label != pod_names.TRUE:
        yield forbidden(f"metadata.labels[{pod_names.MANAGED}]", "must be 'true' where it is set")
    yield from _group(pod, settings)
    yield from validate_topology_annotations(
        "metadata", pod.metadata.annotations or {}, multi_layer=settings.multi_layer_topology
    )
    group = group_name(pod.metadata, settings)
    prebuilt = validation.prebuilt_name(pod.metadata, settings)
    if group and prebuilt and group != prebuilt:
        path = validation.prebuilt_path(pod.metadata, settings)
        yield invalid(path, prebuilt, "must be the name of the pod's group")


def _group(pod: Pod, settings: JobSettings) -> Iterator[FieldError]:
    counted = pod_names.GROUP_TOTAL_COUNT in (pod.metadata.annotations or {})
    group = group_name(pod.metadata, settings)
    path = group_path(pod.metadata, settings)
    both = f"the name and the total count ({pod_names.GROUP_TOTAL_COUNT}) of a group must be set together"
    if not group:
        if counted:
            yield required(path, both)
        return
    source = pod.metadata.annotations if path.startswith("metadata.annotations") else pod.metadata.labels
    name = (source or {}).get(pod_names.GROUP_NAME, "")
    problems = subdomain(name)
    if problems:
        yield invalid(path, name, ", ".join(problems))
    if not counted:
        yield required(TOTAL_COUNT_PATH, both)
    elif total_count(pod) is None:
        text = annotation(pod, pod_names.GROUP_TOTAL_COUNT)
        yield invalid(TOTAL_COUNT_PATH, text, "must be an integer of at least 1")
