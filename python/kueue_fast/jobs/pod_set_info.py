"""What admission injects into a pod template: node selectors, tolerations, labels, annotations and gates.

Templates are JSON text; they are opened only here, changed as plain mappings, and written back, so that fields
that this package does not know survive.

Source: JS-150..158, JS-164, JS-165, LC-1208.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from kueue_fast.api.core import PodTemplateSpec, Toleration
from kueue_fast.api.kueue import (
    PodSet,
    PodSetAssignment,
    PodSetUpdate,
    ResourceFlavor,
    Workload,
)
from kueue_fast.errors import KueueFastError
from kueue_fast.jobs import names
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle.pods import slice_name
from kueue_fast.model import topology_names
from kueue_fast.model.elastic import is_elastic

__all__ = [
    "PodSetInfo",
    "StartError",
    "annotations_of",
    "from_status",
    "from_workload",
    "merge_template",
    "restore_template",
]

MAX_LABEL_VALUE = 63


class StartError(KueueFastError):
    """A job that can never be started as it was admitted; its Workload ends as FailedToStart. Source: JS-163."""


class PodSetInfo(msgspec.Struct, kw_only=True):
    """Additions to one pod set. Tolerations and gates are JSON mappings, as they stand in a template."""

    name: str
    count: int
    annotations: dict[str, str]
    labels: dict[str, str]
    node_selector: dict[str, str]
    tolerations: list[dict[str, Any]]
    scheduling_gates: list[dict[str, Any]]

    def merge(
        self,
        *,
        annotations: Mapping[str, str],
        labels: Mapping[str, str],
        node_selector: Mapping[str, str],
        tolerations: Iterable[dict[str, Any]],
        scheduling_gates: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Add to these; what is there already is not added twice.

        Raises StartError when a key stands on both sides with different values. Source: JS-155.
        """
        # All three are checked before any is written, so that a refused merge leaves nothing behind.
        for what, mine, theirs in (
            ("annotations", self.annotations, annotations),
            ("labels", self.labels, labels),
            ("nodeSelector", self.node_selector, node_selector),
        ):
            for key, value in theirs.items():
                if mine.get(key, value) != value:
                    raise StartError(
                        f"invalid admission check PodSetUpdate: conflict for {what}: "
                        f"conflict for key={key}, value1={mine[key]}, value2={value}"
                    )
        self.annotations.update(annotations)
        self.labels.update(labels)
        self.node_selector.update(node_selector)
        known = {toleration_key(each) for each in self.tolerations}
        for toleration in tolerations:
            key_of_it = toleration_key(toleration)
            if key_of_it not in known:
                known.add(key_of_it)
                self.tolerations.append(toleration)
        for gate in scheduling_gates:
            if gate not in self.scheduling_gates:
                self.scheduling_gates.append(gate)


def toleration_key(toleration: Mapping[str, Any]) -> tuple[Any, ...]:
    """Equal for tolerations that mean the same: no operator is `Equal`. Source: JS-155."""
    return (
        toleration.get("key") or "",
        toleration.get("operator") or "Equal",
        toleration.get("value") or "",
        toleration.get("effect") or "",
        toleration.get("tolerationSeconds"),
    )


def as_json(tolerations: Iterable[Toleration] | None) -> list[dict[str, Any]]:
    """Tolerations as they stand in a template."""
    return [msgspec.to_builtins(toleration) for toleration in tolerations or ()]


def from_status(
    workload: Workload,
    flavor: Callable[[str], ResourceFlavor | None],
    settings: JobSettings,
) -> list[PodSetInfo]:
    """What the admission of a Workload and its admission checks add to each pod set.

    `flavor` gives a ResourceFlavor by name. Flavors are met in the order of resource names; where two set the
    same node label, the later one wins (the reference walks a map, so there the winner is open).

    Raises StartError on conflicting updates of admission checks, LookupError naming a flavor that does not exist.
    Source: JS-150..152, LC-1208.
    """
    status = workload.status
    if status is None or status.admission is None:
        return []
    infos = []
    pod_sets = workload.spec.pod_sets or ()
    for assignment, pod_set in zip(status.admission.pod_set_assignments or (), pod_sets, strict=False):
        info = from_assignment(assignment, pod_set, flavor, gated=settings.topology_aware_scheduling)
        if settings.topology_aware_scheduling:
            info.annotations[names.WORKLOAD_ANNOTATION] = workload.metadata.name
        if is_elastic(workload.metadata.annotations, slices=settings.elastic_jobs):
            info.annotations[names.WORKLOAD_SLICE_NAME_ANNOTATION] = slice_name(workload)
        info.labels[names.POD_SET_LABEL] = assignment.name
        if settings.assign_queue_labels:
            info.labels[names.LOCAL_QUEUE_LABEL] = workload.spec.queue_name or ""
            cluster_queue = status.admission.cluster_queue
            # Longer names, and names with dots, are legal for a ClusterQueue but not as this label.
            if len(cluster_queue) <= MAX_LABEL_VALUE and "." not in cluster_queue:
                info.labels[names.CLUSTER_QUEUE_LABEL] = cluster_queue
        for check in status.admission_checks or ():
            update = first_update(check.pod_set_updates, assignment.name)
            if update is not None:
                try:
                    info.merge(
                        annotations=update.annotations or {},
                        labels=update.labels or {},
                        node_selector=update.node_selector or {},
                        tolerations=as_json(update.tolerations),
                    )
                except StartError as error:
                    raise StartError(f'in admission check "{check.name}": {error}') from error
        infos.append(info)
    return infos


def from_assignment(
    assignment: PodSetAssignment,
    pod_set: PodSet,
    flavor: Callable[[str], ResourceFlavor | None],
    *,
    gated: bool = True,
) -> PodSetInfo:
    """Node labels and tolerations of the distinct flavors of one assignment, and what holds its pods back.

    Pods with a topology assignment get a scheduling gate, and a mark if nothing in their request says that they
    have one; `gated` is the gate TopologyAwareScheduling. Source: JS-150, TP-1801.
    """
    info = PodSetInfo(
        name=assignment.name,
        count=pod_set.count if assignment.count is None else assignment.count,
        annotations={},
        labels={},
        node_selector={},
        tolerations=[],
        scheduling_gates=[],
    )
    if gated and assignment.topology_assignment:
        info.scheduling_gates.append({"name": topology_names.TOPOLOGY_GATE})
        request = pod_set.topology_request
        if request is None or (
            request.required is None and request.preferred is None and request.unconstrained is None
        ):
            info.annotations[topology_names.UNCONSTRAINED] = "true"
    flavors = assignment.flavors or {}
    for name in dict.fromkeys(flavors[resource] for resource in sorted(flavors)):
        found = flavor(name)
        if found is None:
            raise LookupError(f"ResourceFlavor {name} does not exist")
        if found.spec is not None:
            info.node_selector.update(found.spec.node_labels or {})
            info.tolerations.extend(as_json(found.spec.tolerations))
    return info


def first_update(updates: list[PodSetUpdate] | None, name: str) -> PodSetUpdate | None:
    """The update of one pod set; further ones of the same name do not count. Source: JS-152."""
    return next((update for update in updates or () if update.name == name), None)


def from_workload(workload: Workload) -> list[PodSetInfo]:
    """What the pod sets of a Workload looked like before admission: to restore a job that stops. Source: JS-164."""
    infos = []
    for pod_set in workload.spec.pod_sets or ():
        metadata = decode(pod_set.template.metadata)
        spec = decode(pod_set.template.spec)
        infos.append(
            PodSetInfo(
                name=pod_set.name,
                count=pod_set.count,
                annotations=metadata.get("annotations") or {},
                labels=metadata.get("labels") or {},
                node_selector=spec.get("nodeSelector") or {},
                tolerations=spec.get("tolerations") or [],
                scheduling_gates=spec.get("schedulingGates") or [],
            )
        )
    return infos


def merge_template(template: PodTemplateSpec, info: PodSetInfo) -> PodTemplateSpec:
    """The template with the additions. Raises StartError on a conflict. Source: JS-158."""
    metadata = decode(template.metadata)
    spec = decode(template.spec)
    annotations = dict(metadata.get("annotations") or {})
    if names.WORKLOAD_SLICE_NAME_ANNOTATION in info.annotations:
        # A new chain of slices takes the template over from the old one.
        for key in (names.WORKLOAD_SLICE_NAME_ANNOTATION, names.WORKLOAD_ANNOTATION):
            if key in info.annotations:
                annotations.pop(key, None)
    merged = PodSetInfo(
        name=info.name,
        count=info.count,
        annotations=annotations,
        labels=dict(metadata.get("labels") or {}),
        node_selector=dict(spec.get("nodeSelector") or {}),
        tolerations=list(spec.get("tolerations") or []),
        scheduling_gates=list(spec.get("schedulingGates") or []),
    )
    merged.merge(
        annotations=info.annotations,
        labels=info.labels,
        node_selector=info.node_selector,
        tolerations=info.tolerations,
        scheduling_gates=info.scheduling_gates,
    )
    return write_template(template, metadata, spec, merged)


def restore_template(
    template: PodTemplateSpec, info: PodSetInfo, keep_labels: Iterable[str]
) -> PodTemplateSpec:
    """The template as recorded in `info`; labels in `keep_labels` stay as they are now. Source: JS-165, JS-253."""
    metadata = decode(template.metadata)
    spec = decode(template.spec)
    present = metadata.get("labels") or {}
    labels = dict(info.labels)
    labels.update({key: present[key] for key in keep_labels if key in present})
    return write_template(template, metadata, spec, msgspec.structs.replace(info, labels=labels))


def write_template(
    template: PodTemplateSpec, metadata: dict[str, Any], spec: dict[str, Any], info: PodSetInfo
) -> PodTemplateSpec:
    """Put the five injected parts into the opened template; the same object comes back if none differs."""
    changed = replace_part(metadata, "annotations", info.annotations)
    changed |= replace_part(metadata, "labels", info.labels)
    changed |= replace_part(spec, "nodeSelector", info.node_selector)
    changed |= replace_part(spec, "tolerations", info.tolerations)
    changed |= replace_part(spec, "schedulingGates", info.scheduling_gates)
    if not changed:
        return template
    if not metadata:
        # Only the default itself is left out when the template is written: another empty Raw would be no JSON.
        return PodTemplateSpec(spec=encode(spec))
    return PodTemplateSpec(metadata=encode(metadata), spec=encode(spec))


def replace_part(parent: dict[str, Any], key: str, value: Any) -> bool:
    """Set, or drop when empty; returns whether anything changed (absent and empty are the same)."""
    if (parent.get(key) or type(value)()) == value:
        return False
    if value:
        parent[key] = value
    else:
        parent.pop(key, None)
    return True


def annotations_of(template: PodTemplateSpec) -> dict[str, str]:
    """Annotations of a pod template."""
    # Templates are opened only where the field can be.
    if b'"annotations"' not in bytes(template.metadata):
        return {}
    annotations = decode(template.metadata).get("annotations") or {}
    return annotations if isinstance(annotations, dict) else {}


def decode(raw: msgspec.Raw) -> dict[str, Any]:
    """JSON text as a mapping; an absent part is empty."""
    if not raw:
        return {}
    value = msgspec.json.decode(raw)
    return value if isinstance(value, dict) else {}


def encode(value: dict[str, Any]) -> msgspec.Raw:
    """A mapping as JSON text."""
    return msgspec.Raw(msgspec.json.encode(value))
