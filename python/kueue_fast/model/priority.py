"""Where a workload's priority comes from.

Resolved when a workload is made or its class changes, never in a scheduling cycle.

Source: QC-159.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kueue_fast.api.core import PodSpec, PriorityClass
from kueue_fast.api.kueue import PriorityClassRef, Workload, WorkloadPriorityClass
from kueue_fast.errors import InputError
from kueue_fast.model.conditions import effective_priority

WORKLOAD_CLASS_GROUP: Final = "kueue.x-k8s.io"
WORKLOAD_CLASS_KIND: Final = "WorkloadPriorityClass"
POD_CLASS_GROUP: Final = "scheduling.k8s.io"
POD_CLASS_KIND: Final = "PriorityClass"


class ResolvedPriority(NamedTuple):
    """A priority and the class that gave it, None if no class did."""

    class_ref: PriorityClassRef | None
    value: int


def resolve_priority(
    workload_class: str | None,
    pod_class: str | None,
    workload_classes: Mapping[str, WorkloadPriorityClass],
    pod_classes: Mapping[str, PriorityClass],
) -> ResolvedPriority:
    """The priority of a workload whose job names these classes (empty or None: names none).

    A WorkloadPriorityClass goes before a PriorityClass of the pods; without either the global
    default PriorityClass counts, the one with the lowest value if several are marked (then the
    smallest name); without that 0.

    Raises `InputError` naming the class if it does not exist.

    Source: QC-159.
    """
    if workload_class:
        chosen = workload_classes.get(workload_class)
        if chosen is None:
            raise _missing(WORKLOAD_CLASS_KIND, workload_class)
        return ResolvedPriority(_ref(WORKLOAD_CLASS_GROUP, WORKLOAD_CLASS_KIND, workload_class), chosen.value)
    if pod_class:
        pod_chosen = pod_classes.get(pod_class)
        if pod_chosen is None:
            raise _missing(POD_CLASS_KIND, pod_class)
        return ResolvedPriority(_ref(POD_CLASS_GROUP, POD_CLASS_KIND, pod_class), pod_chosen.value)
    default = min(
        (each for each in pod_classes.values() if each.global_default),
        key=lambda each: (each.value, each.metadata.name),
        default=None,
    )
    if default is None:
        return ResolvedPriority(None, 0)
    return ResolvedPriority(_ref(POD_CLASS_GROUP, POD_CLASS_KIND, default.metadata.name), default.value)


def pod_priority_class(pods: Iterable[PodSpec]) -> str | None:
    """The first PriorityClass that a job's pod specs name, or None. Source: QC-159."""
    return next((pod.priority_class_name for pod in pods if pod.priority_class_name), None)


def priority_changed(old: Workload, new: Workload, *, priority_boost: bool = False) -> bool:
    """Whether an update moves a workload in its queue by its priority.

    Priorities of PriorityClasses do not change. `priority_boost` is the gate `PriorityBoost`.

    Source: QC-159.
    """
    before, after = old.spec.priority_class_ref, new.spec.priority_class_ref
    if after is None or not _is(after, WORKLOAD_CLASS_GROUP, WORKLOAD_CLASS_KIND):
        return False
    if before is not None and _is(before, POD_CLASS_GROUP, POD_CLASS_KIND):
        return False
    if after.name and (before is None or before.name != after.name):
        return True
    return effective_priority(old, priority_boost=priority_boost) != effective_priority(
        new, priority_boost=priority_boost
    )


def _ref(group: str, kind: str, name: str) -> PriorityClassRef:
    return PriorityClassRef(group=group, kind=kind, name=name)


def _is(ref: PriorityClassRef, group: str, kind: str) -> bool:
    return ref.group == group and ref.kind == kind


def _missing(kind: str, name: str) -> InputError:
    return InputError(f"{kind} {name!r} not found", expected=f"an existing {kind}")
