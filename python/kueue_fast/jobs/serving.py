"""What kinds that serve and never end have in common: their webhooks' checks, and when their pods are let go.

Source: JS-191, JS-212, JS-396, JS-397, JS-411, JS-424.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.core import Pod, PodSpec, PodTemplateSpec
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.pod_facts import (
    ungated,
    without_finalizer,
)
from kueue_fast.jobs.role_hash import pod_shape
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import (
    QUEUE_PATH,
    Kind,
    immutable,
    validate_elastic_annotation,
    validate_gates,
    validate_gates_update,
    validate_priority_update,
    validate_queue_name,
)
from kueue_fast.jobs.workload import is_managed, queue_name
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.model.topology_names import TOPOLOGY_GATE
from kueue_fast.model.validation.field_error import FieldError

__all__ = [
    "finished_with",
    "is_held",
    "outdated",
    "propagated_labels",
    "released",
    "validate_serving",
    "validate_serving_update",
    "validate_shape",
]


def is_held(metadata: ObjectMeta, settings: JobSettings) -> bool:
    """Whether pods of a top-level object are to be held: it is Kueue's, and not being deleted. Source: JS-043."""
    return not metadata.deletion_timestamp and is_managed(metadata, settings)


def propagated_labels(metadata: ObjectMeta) -> dict[str, str]:
    """Queue and priority class of an object, as its pods carry them."""
    labels = {
        name: (metadata.labels or {}).get(name, "")
        for name in (names.QUEUE_NAME_LABEL, names.PRIORITY_CLASS_LABEL)
    }
    return {name: value for name, value in labels.items() if value}


def validate_serving(metadata: ObjectMeta, kind: Kind, settings: JobSettings) -> list[FieldError]:
    """What is wrong with the metadata of a new object. Source: JS-396."""
    errors = [*validate_queue_name(metadata), *validate_elastic_annotation(metadata, kind, settings)]
    if settings.admission_gated_by:
        errors += validate_gates(metadata)
    return errors


def validate_serving_update(
    old: KubernetesObject, new: KubernetesObject, ready_replicas: int, settings: JobSettings
) -> list[FieldError]:
    """What is wrong with a change of the metadata; `ready_replicas` are those of the old object. Source: JS-396."""
    suspended = ready_replicas == 0
    before, after = queue_name(old.metadata), queue_name(new.metadata)
    errors: list[FieldError] = []
    if not suspended or not after:
        errors += immutable(QUEUE_PATH, before, after)
    errors += validate_priority_update(old.metadata, new.metadata, suspended)
    if settings.admission_gated_by:
        errors += validate_gates_update(old.metadata, new.metadata)
    return errors


def validate_shape(path: str, old: PodTemplateSpec, new: PodTemplateSpec) -> list[FieldError]:
    """What scheduling depends on may not change while the pods are Kueue's; `path` is the pod spec's.

    Errors come in the order of their paths; upstream has none. Source: JS-212.
    """
    before, after = (
        pod_shape(msgspec.json.decode(each.spec, type=PodSpec) if each.spec else PodSpec())
        for each in (old, new)
    )
    return sorted(_changes(path, before, after), key=lambda error: error.path)


def outdated(stateful_set: StatefulSet | None, pod: Pod) -> bool:
    """Whether a pod need not wait for quota: its StatefulSet is gone, or an update is to replace it.

    A pod of the old revision has to start before it can be replaced. Source: JS-397.
    """
    if stateful_set is None:
        return True
    status = stateful_set.status
    current, update = (
        ((status.current_revision or "", status.update_revision or "")) if status is not None else ("", "")
    )
    return current != update and (pod.metadata.labels or {}).get(pod_names.REVISION_LABEL, "") == current


def finished_with(stateful_set: StatefulSet | None, pod: Pod) -> bool:
    """Whether Kueue need not keep the pod: it is outdated, done, or being deleted. Source: JS-397, JS-421."""
    return outdated(stateful_set, pod) or is_terminal(pod) or bool(pod.metadata.deletion_timestamp)


def released(stateful_set: StatefulSet | None, pod: Pod, *, force: bool = False) -> Pod:
    """The pod without gates and finalizer as far as it need not be held; the same object if nothing changes.

    Both gates go at once, where upstream needs two writes. Source: JS-397, JS-588.
    """
    if force or outdated(stateful_set, pod):
        pod = ungated(pod, pod_names.ADMISSION_GATE, TOPOLOGY_GATE)
    if force or finished_with(stateful_set, pod):
        pod = without_finalizer(pod)
    return pod


def _changes(path: str, old: Any, new: Any) -> list[FieldError]:
    """Where two shapes differ: mappings field by field, lists of containers one by one, the rest as a whole."""
    if isinstance(new, Mapping) and isinstance(old, Mapping) and _is_shape(path):
        return [
            error
            for field in {**old, **new}
            for error in _changes(f"{path}.{field}", old.get(field), new.get(field))
        ]
    if path.endswith("ontainers") and len(old or ()) == len(new or ()):
        pairs = zip(old or (), new or (), strict=True)
        return [error for number, pair in enumerate(pairs) for error in _changes(f"{path}[{number}]", *pair)]
    return immutable(path, old, new)


def _is_shape(path: str) -> bool:
    """Whether a mapping at this path is one of the shape's own: the spec, a container, its resources."""
    last = path.rpartition(".")[2]
    return last == "spec" or last.endswith("]") or path.endswith("].resources")
