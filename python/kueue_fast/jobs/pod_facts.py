"""Facts about single pods, and the small changes that Kueue makes to them.

Changes give a new pod, or the same object where nothing changes.

Source: JS-331, JS-341, JS-351.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kueue_fast.api.core import Pod, PodSchedulingGate
from kueue_fast.api.meta import ObjectMeta
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.role_hash import role_hash
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle.pods import has_gate, is_terminal
from kueue_fast.model.integers import parse_int64
from kueue_fast.model.validation.names import LABEL_MAX

__all__ = [
    "annotation",
    "gated",
    "group_name",
    "has_finalizer",
    "in_group",
    "is_ready",
    "is_runnable",
    "is_suspended",
    "is_unretriable",
    "phase",
    "role",
    "total_count",
    "ungated",
    "with_finalizer",
    "with_metadata",
    "without_finalizer",
]


def annotation(pod: Pod, name: str) -> str:
    """An annotation of the pod, empty without it."""
    return (pod.metadata.annotations or {}).get(name, "")


def phase(pod: Pod) -> str:
    """The pod's phase, empty while nobody has said."""
    return (pod.status.phase if pod.status is not None else None) or ""


def is_suspended(pod: Pod) -> bool:
    """Whether the pod holds no quota of its own accord: it is done, or gated. Source: section 11.6."""
    return is_terminal(pod) or has_gate(pod, pod_names.ADMISSION_GATE)


def is_runnable(pod: Pod) -> bool:
    """Whether the pod may run yet, runs, or succeeded: one deleted before it had a node will not. Source: JS-351."""
    if pod.metadata.deletion_timestamp and not pod.spec.node_name:
        return False
    return phase(pod) != "Failed"


def is_unretriable(pod: Pod) -> bool:
    """Whether the pod's group ends when nothing of it runs."""
    return annotation(pod, pod_names.RETRIABLE_IN_GROUP) == "false"


def is_ready(pod: Pod) -> bool:
    """Whether the first condition `Ready` is True."""
    known = (pod.status.conditions if pod.status is not None else None) or ()
    return next((each.status == "True" for each in known if each.type == "Ready"), False)


def group_name(metadata: ObjectMeta, settings: JobSettings) -> str:
    """Name of the pod's group, empty without one. Source: JS-331."""
    label = (metadata.labels or {}).get(pod_names.GROUP_NAME, "")
    if not settings.workload_identifier_annotations:
        return label
    return (metadata.annotations or {}).get(pod_names.GROUP_NAME, "") or label


def total_count(pod: Pod) -> int | None:
    """How many pods the pod's group has; None if it does not say, or not in a positive number."""
    count = parse_int64(annotation(pod, pod_names.GROUP_TOTAL_COUNT))
    return count if count is not None and count >= 1 else None


def role(pod: Pod) -> str:
    """Name of the pod set that the pod belongs to, by annotation or by what it asks for. Source: JS-341."""
    known = (pod.metadata.annotations or {}).get(pod_names.ROLE_HASH)
    return role_hash(pod.spec) if known is None else known


def has_finalizer(pod: Pod) -> bool:
    """Whether Kueue keeps the pod from going."""
    return pod_names.MANAGED in (pod.metadata.finalizers or ())


def with_finalizer(pod: Pod) -> Pod:
    """The pod that Kueue keeps from going."""
    if has_finalizer(pod):
        return pod
    return _with(pod, finalizers=[*(pod.metadata.finalizers or ()), pod_names.MANAGED])


def without_finalizer(pod: Pod) -> Pod:
    """The pod that may go."""
    if not has_finalizer(pod):
        return pod
    return _with(
        pod, finalizers=[each for each in pod.metadata.finalizers or () if each != pod_names.MANAGED]
    )


def gated(pod: Pod, gate: str) -> Pod:
    """The pod with one more scheduling gate."""
    if has_gate(pod, gate):
        return pod
    gates = [*(pod.spec.scheduling_gates or ()), PodSchedulingGate(name=gate)]
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=gates))


def ungated(pod: Pod, *gates: str) -> Pod:
    """The pod without these scheduling gates."""
    if not any(has_gate(pod, gate) for gate in gates):
        return pod
    kept = [each for each in pod.spec.scheduling_gates or () if each.name not in gates]
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=kept or None))


def with_metadata(
    pod: Pod, *, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
) -> Pod:
    """The pod with these labels and annotations, which win over its own."""
    merged_labels = {**(pod.metadata.labels or {}), **(labels or {})}
    merged = {**(pod.metadata.annotations or {}), **(annotations or {})}
    if merged_labels == (pod.metadata.labels or {}) and merged == (pod.metadata.annotations or {}):
        return pod
    return _with(pod, labels=merged_labels or None, annotations=merged or None)


def in_group(pod: Pod, workload: str, settings: JobSettings) -> Pod:
    """The pod as a member of the group that the Workload is named after. Source: JS-141, JS-395, JS-421."""
    by_annotation = settings.workload_identifier_annotations
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    (annotations if by_annotation else labels)[pod_names.GROUP_NAME] = workload
    long = len(workload) > LABEL_MAX
    (annotations if by_annotation or long else labels)[names.PREBUILT_WORKLOAD] = workload
    return with_metadata(pod, labels=labels, annotations=annotations)


def _with(pod: Pod, **metadata: object) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **metadata))
