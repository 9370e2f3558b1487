"""From a job to its Workload.

Source: JS-040, JS-100, JS-106..109, JS-116.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Protocol, TypeVar

import msgspec

from kueue_fast.api.core import PriorityClass
from kueue_fast.api.kueue import PodSet, Workload, WorkloadPriorityClass, WorkloadSpec
from kueue_fast.api.meta import KubernetesObject, ObjectMeta, OwnerReference
from kueue_fast.jobs import names
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model.integers import parse_int32
from kueue_fast.model.priority import ResolvedPriority, resolve_priority

__all__ = [
    "JobKind",
    "build",
    "is_managed",
    "label_of_uid",
    "max_execution_time",
    "new_workload",
    "owned_by_job",
    "priority_of",
    "queue_name",
]

JobType = TypeVar("JobType", bound=KubernetesObject)

LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class JobKind(Protocol):
    """How a kind is called."""

    api_version: str
    kind: str


class _PriorityClassName(msgspec.Struct, rename="camel"):
    """The one field of a pod spec that is read here."""

    priority_class_name: str | None = None


def queue_name(metadata: ObjectMeta) -> str:
    """Name of the LocalQueue by label, empty without it. Source: JS-040."""
    return (metadata.labels or {}).get(names.QUEUE_NAME_LABEL, "")


def is_managed(metadata: ObjectMeta, settings: JobSettings) -> bool:
    """Whether a top-level job is Kueue's: by its queue, or since the configuration takes all. Source: JS-046."""
    return settings.manage_jobs_without_queue_name or bool(queue_name(metadata))


def max_execution_time(metadata: ObjectMeta) -> int | None:
    """Seconds by label; None when absent, not a decimal of 32 bits, or not positive. Source: JS-109."""
    text = (metadata.labels or {}).get(names.MAX_EXEC_TIME_LABEL)
    seconds = None if text is None else parse_int32(text)
    return seconds if seconds is not None and seconds > 0 else None


def priority_of(
    metadata: ObjectMeta,
    pod_sets: Iterable[PodSet],
    workload_classes: Mapping[str, WorkloadPriorityClass],
    pod_classes: Mapping[str, PriorityClass],
    own_class: str | None = None,
) -> ResolvedPriority:
    """Priority of a job's Workload: by the label, by the first pod set that names a class, by the default.

    `own_class` is what the job itself names: the pod sets are asked only where it is None, and not where it is empty.
    Raises InputError when the class does not exist. Source: JS-116, JS-117, QC-159.
    """
    return resolve_priority(
        (metadata.labels or {}).get(names.PRIORITY_CLASS_LABEL),
        first_priority_class(pod_sets) if own_class is None else own_class,
        workload_classes,
        pod_classes,
    )


def first_priority_class(pod_sets: Iterable[PodSet]) -> str | None:
    """The first `priorityClassName` of the templates."""
    for pod_set in pod_sets:
        spec = pod_set.template.spec
        # Templates are opened only where the field can be.
        if b'"priorityClassName"' in bytes(spec):
            name = msgspec.json.decode(spec, type=_PriorityClassName).priority_class_name
            if name:
                return name
    return None


def build(
    job: JobType,
    integration: Integration[JobType],
    pod_sets: list[PodSet],
    priority: ResolvedPriority,
    settings: JobSettings,
    *,
    slice_mark: str = "",
) -> Workload:
    """The Workload of a job, ready to be created; `slice_mark` tells the slices of an elastic job apart.

    Source: JS-100, JS-104, JS-106..108.
    """
    metadata = job.metadata
    uid = metadata.uid or ""
    name = names.workload_name(
        metadata.name,
        uid,
        integration.group,
        integration.kind,
        extra=slice_mark,
        short=settings.short_workload_names,
    )
    workload = label_of_uid(new_workload(name, metadata, pod_sets, priority, settings), metadata)
    return owned_by_job(workload, metadata, integration)


def label_of_uid(workload: Workload, metadata: ObjectMeta) -> Workload:
    """The Workload with the UID of its job as label, if it can be one. Source: JS-106."""
    uid = metadata.uid or ""
    if not LABEL_VALUE.fullmatch(uid):
        return workload
    labels = {**(workload.metadata.labels or {}), names.JOB_UID_LABEL: uid}
    return msgspec.structs.replace(
        workload, metadata=msgspec.structs.replace(workload.metadata, labels=labels)
    )


def owned_by_job(workload: Workload, metadata: ObjectMeta, kind: JobKind) -> Workload:
    """The Workload controlled by its job. Source: JS-107."""
    owner = OwnerReference(
        api_version=kind.api_version,
        kind=kind.kind,
        name=metadata.name,
        uid=metadata.uid or "",
        controller=True,
        block_owner_deletion=True,
    )
    return msgspec.structs.replace(
        workload, metadata=msgspec.structs.replace(workload.metadata, owner_references=[owner])
    )


def new_workload(
    name: str,
    metadata: ObjectMeta,
    pod_sets: list[PodSet],
    priority: ResolvedPriority,
    settings: JobSettings,
    label_keys: Collection[str] | None = None,
) -> Workload:
    """A Workload that belongs to nobody yet, with what the metadata of its job says.

    `label_keys` are the labels that are copied; None: those of the configuration. Source: JS-106, JS-108.
    """
    keys = settings.label_keys_to_copy if label_keys is None else label_keys
    labels = {key: value for key, value in (metadata.labels or {}).items() if key in keys}
    annotations = {
        key: value
        for key, value in (metadata.annotations or {}).items()
        if key.startswith(names.PROVISIONING_REQUEST_PREFIX)
    }
    gated_by = (metadata.annotations or {}).get(names.ADMISSION_GATED_BY_ANNOTATION)
    if settings.admission_gated_by and gated_by:
        annotations[names.ADMISSION_GATED_BY_ANNOTATION] = gated_by
    return Workload(
        metadata=ObjectMeta(
            name=name,
            namespace=metadata.namespace,
            labels=labels or None,
            annotations=annotations or None,
            finalizers=[names.RESOURCE_IN_USE_FINALIZER],
        ),
        spec=WorkloadSpec(
            pod_sets=pod_sets,
            queue_name=queue_name(metadata) or None,
            priority_class_ref=priority.class_ref,
            priority=priority.value,
            maximum_execution_time_seconds=max_execution_time(metadata),
        ),
    )
