"""Workloads that stand for a group of pods: named and owned by their group, not by one controller.

Source: JS-107, JS-118, JS-352, JS-419.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject, ObjectMeta, OwnerReference
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.job_events import UPDATED_WORKLOAD, job_event
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import group_version_kind
from kueue_fast.lifecycle.events import Event
from kueue_fast.model import conditions
from kueue_fast.model.priority import ResolvedPriority

__all__ = [
    "is_on_hold",
    "owned_by",
    "owner_uid",
    "serving_workload",
    "updated_gates",
    "with_gates",
    "with_owner",
    "with_owner_again",
    "with_priority",
    "without_class_change",
]

WORKLOAD_CLASS: Final = "WorkloadPriorityClass"


def owner_uid(metadata: ObjectMeta) -> str:
    """UID that names of Workloads are made of: on a worker of MultiKueue that of the original.

    Source: JS-393, JS-418.
    """
    annotations = metadata.annotations or {}
    if names.MULTIKUEUE_ORIGIN_LABEL in (metadata.labels or {}):
        return annotations.get(names.MULTIKUEUE_ORIGIN_UID_ANNOTATION, metadata.uid or "")
    return metadata.uid or ""


def serving_workload(workload: Workload, owner: KubernetesObject, index: int | None = None) -> Workload:
    """A new Workload as one of a serving kind: marked, and with an owner that can be found again when it is gone.

    `index` is the number of the replica that it stands for. Source: JS-419.
    """
    annotations = {
        **(workload.metadata.annotations or {}),
        pod_names.IS_GROUP_WORKLOAD: pod_names.TRUE,
        **_owner_annotations(owner),
    }
    if index is not None:
        annotations[names.COMPONENT_INDEX_ANNOTATION] = str(index)
    labels = {**(workload.metadata.labels or {}), names.JOB_UID_LABEL: owner.metadata.uid or ""}
    metadata = msgspec.structs.replace(workload.metadata, labels=labels, annotations=annotations)
    return with_owner(msgspec.structs.replace(workload, metadata=metadata), owner)


def with_owner(workload: Workload, owner: KubernetesObject) -> Workload:
    """The Workload with a plain owner reference; the same object if it has it."""
    if owned_by(workload, owner):
        return workload
    reference = OwnerReference(
        api_version=owner.API_VERSION,
        kind=owner.KIND,
        name=owner.metadata.name,
        uid=owner.metadata.uid or "",
    )
    owners = [*(workload.metadata.owner_references or ()), reference]
    return msgspec.structs.replace(
        workload, metadata=msgspec.structs.replace(workload.metadata, owner_references=owners)
    )


def with_owner_again(workload: Workload, owner: KubernetesObject) -> Workload:
    """The Workload of an owner that it had lost, with the annotations that name it."""
    annotations = {**(workload.metadata.annotations or {}), **_owner_annotations(owner)}
    metadata = msgspec.structs.replace(workload.metadata, annotations=annotations)
    return with_owner(msgspec.structs.replace(workload, metadata=metadata), owner)


def owned_by(workload: Workload, owner: KubernetesObject) -> bool:
    """Whether the owner stands in the Workload's references."""
    return any(
        (each.api_version, each.kind, each.name, each.uid)
        == (owner.API_VERSION, owner.KIND, owner.metadata.name, owner.metadata.uid or "")
        for each in workload.metadata.owner_references or ()
    )


def with_gates(workload: Workload, metadata: ObjectMeta, settings: JobSettings) -> Workload:
    """The Workload with the admission gates of its job; the same object if it has them. Source: JS-108."""
    wanted = (metadata.annotations or {}).get(names.ADMISSION_GATED_BY_ANNOTATION, "")
    annotations = dict(workload.metadata.annotations or {})
    if not settings.admission_gated_by or annotations.get(names.ADMISSION_GATED_BY_ANNOTATION, "") == wanted:
        return workload
    if wanted:
        annotations[names.ADMISSION_GATED_BY_ANNOTATION] = wanted
    else:
        annotations.pop(names.ADMISSION_GATED_BY_ANNOTATION, None)
    return msgspec.structs.replace(
        workload, metadata=msgspec.structs.replace(workload.metadata, annotations=annotations or None)
    )


def updated_gates(kind: str, metadata: ObjectMeta, now_ns: int) -> Event:
    """Event on a job whose gates its Workload followed. Source: JS-137."""
    gates = (metadata.annotations or {}).get(names.ADMISSION_GATED_BY_ANNOTATION, "")
    text = f'Updated workload AdmissionGatedBy to "{gates}"'
    return job_event(kind, metadata, UPDATED_WORKLOAD, text, now_ns)


def is_on_hold(workload: Workload) -> bool:
    """Whether the Workload is kept without quota on purpose, and not to be queued."""
    known = workload.status.conditions if workload.status is not None else None
    reserved = conditions.find(known, conditions.QUOTA_RESERVED)
    return reserved is not None and reserved.status == "False" and reserved.reason == "OnHold"


def without_class_change(workloads: Iterable[Workload], wanted: str) -> tuple[list[Workload], list[Workload]]:
    """Workloads that follow the label of their job: those that name the class `wanted` already, and the others.

    Left out are those with a class of their pods, and those that hold quota without any class: it can no longer be
    added. Source: JS-118.
    """
    same: list[Workload] = []
    different: list[Workload] = []
    for workload in workloads:
        ref = workload.spec.priority_class_ref
        known = workload.status.conditions if workload.status is not None else None
        if ref is None and conditions.is_true(known, conditions.QUOTA_RESERVED):
            continue
        if ref is not None and ref.kind != WORKLOAD_CLASS:
            continue
        (same if (ref.name if ref is not None else "") == wanted else different).append(workload)
    return same, different


def with_priority(workloads: Sequence[Workload], priority: ResolvedPriority) -> list[Workload]:
    """Those Workloads whose priority changes, with the new one. Source: JS-118."""
    return [
        msgspec.structs.replace(
            workload,
            spec=msgspec.structs.replace(
                workload.spec, priority_class_ref=priority.class_ref, priority=priority.value
            ),
        )
        for workload in workloads
        if (workload.spec.priority_class_ref, workload.spec.priority) != (priority.class_ref, priority.value)
    ]


def _owner_annotations(owner: KubernetesObject) -> dict[str, str]:
    return {
        names.JOB_OWNER_GVK_ANNOTATION: group_version_kind(owner.API_VERSION, owner.KIND),
        names.JOB_OWNER_NAME_ANNOTATION: owner.metadata.name,
    }
