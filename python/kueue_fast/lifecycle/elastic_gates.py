"""Which gated pods of an elastic job may go to the scheduler: as many as its active slice was given.

Every pod of an elastic job is born with the gate. All slices of a chain share the pods, so what counts is how many
pods of each pod set have gone already, not which slice's name they carry.

Source: JS-510..516.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.errors import InputError
from kueue_fast.lifecycle import eviction, finish
from kueue_fast.lifecycle.pods import has_gate, is_terminal, slice_name, slice_of_pod
from kueue_fast.lifecycle.slices import active_slice, live_slices, pod_counts
from kueue_fast.model import conditions
from kueue_fast.model.elastic import ELASTIC_JOB, is_elastic
from kueue_fast.model.topology_names import POD_SET

__all__ = ["may_release", "next_release", "pods_to_release", "releasing_slice"]

# Annotations of a pod that name the capacity it was promised; they never change once they are there.
PROVISIONING: Final = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "autoscaling.x-k8s.io/provisioning-class-name",
)


class _Update(NamedTuple):
    """What admission checks want of the pods of one pod set."""

    annotations: dict[str, str]
    node_selector: dict[str, str]


def may_release(workload: Workload, *, slices: bool) -> bool:
    """Whether a slice lets pods go: elastic, admitted, neither ended nor evicted. Source: JS-511, JS-512."""
    known = workload.status.conditions if workload.status is not None else None
    return (
        is_elastic(workload.metadata.annotations, slices=slices)
        and conditions.is_true(known, conditions.ADMITTED)
        and not finish.is_finished(workload)
        and not eviction.is_evicted(workload)
    )


def releasing_slice(workloads: Iterable[Workload], *, slices: bool) -> Workload | None:
    """The slice, of all Workloads of a job, whose counts say how many pods may go; None if there is none.

    A slice that waits for its admission checks lets nothing go. Source: JS-511.
    """
    active = active_slice(live_slices(workloads))
    return active if active is not None and may_release(active, slices=slices) else None


def next_release(
    chain: str,
    workloads: Iterable[Workload],
    pods: Iterable[Pod],
    expected: Collection[str] = (),
    *,
    slices: bool,
) -> list[Pod]:
    """The pods of a chain of slices that may go now, as they are to be written.

    `workloads` are all Workloads of the job that owns its slices, `pods` those of the chain; `expected` are the UIDs of
    pods that were written and not yet seen again: nothing may be decided before they are. Raises what
    `pods_to_release` raises. Source: JS-512.
    """
    active = None if expected else releasing_slice(workloads, slices=slices)
    # A job whose chain began anew lets the pods of the old one wait.
    return [] if active is None or slice_name(active) != chain else pods_to_release(active, pods)


def pods_to_release(workload: Workload, pods: Iterable[Pod]) -> list[Pod]:
    """Pods that may go, as they are to be written: without the gate, with what admission checks want of them.

    `workload` comes from `releasing_slice`; `pods` are those of its namespace, or at least of its chain. Per pod set,
    in the order of names, as many as its count leaves room for beside pods that have gone. A pod that carries other
    marks of provisioned capacity than the slice has now stays gated. Raises InputError when checks contradict each
    other. Source: JS-513, JS-515.
    """
    granted = pod_counts(workload.spec.pod_sets)
    chain = slice_name(workload)
    gated: dict[str, list[Pod]] = {}
    gone: dict[str, int] = {}
    updates: dict[str, _Update] = {}
    for pod in pods:
        if (
            pod.metadata.namespace != workload.metadata.namespace
            or slice_of_pod(pod) != chain
            or is_terminal(pod)
        ):
            continue
        name = (pod.metadata.labels or {}).get(POD_SET, "")
        if not has_gate(pod, ELASTIC_JOB):
            gone[name] = gone.get(name, 0) + 1
            continue
        if name not in updates:
            updates[name] = _update(workload, name)
        if _agrees(pod, updates[name]):
            gated.setdefault(name, []).append(pod)
    released = []
    for name, waiting in gated.items():
        room = max(granted.get(name, 0) - gone.get(name, 0), 0)
        waiting.sort(key=lambda pod: pod.metadata.name.encode())
        released += [_released(pod, updates[name]) for pod in waiting[:room]]
    return released


def _update(workload: Workload, pod_set: str) -> _Update:
    update = _Update({}, {})
    for check in (workload.status.admission_checks or ()) if workload.status is not None else ():
        for each in check.pod_set_updates or ():
            if each.name == pod_set:
                annotations = {
                    key: value for key, value in (each.annotations or {}).items() if key in PROVISIONING
                }
                _merge(update.annotations, annotations, "annotation", pod_set)
                _merge(update.node_selector, each.node_selector or {}, "node selector", pod_set)
    return update


def _merge(into: dict[str, str], more: Mapping[str, str], what: str, pod_set: str) -> None:
    for key, value in more.items():
        if into.setdefault(key, value) != value:
            raise InputError(
                f'two admission checks want different values of the {what} "{key}" on pod set "{pod_set}"',
                expected="one value",
            )


def _agrees(pod: Pod, update: _Update) -> bool:
    annotations = pod.metadata.annotations or {}
    selector = pod.spec.node_selector or {}
    return all(annotations.get(key, value) == value for key, value in update.annotations.items()) and all(
        selector.get(key, value) == value for key, value in update.node_selector.items()
    )


def _released(pod: Pod, update: _Update) -> Pod:
    """The pod without the gate; others stay."""
    gates = [gate for gate in pod.spec.scheduling_gates or () if gate.name != ELASTIC_JOB]
    selector = {**(pod.spec.node_selector or {}), **update.node_selector}
    annotations = {**(pod.metadata.annotations or {}), **update.annotations}
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(pod.metadata, annotations=annotations or None),
        spec=msgspec.structs.replace(
            pod.spec, scheduling_gates=gates or None, node_selector=selector or None
        ),
    )
