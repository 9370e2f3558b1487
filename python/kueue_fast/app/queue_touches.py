"""Which ClusterQueues and Cohorts are looked at after a change, as upstream's controllers are.

What a status shows may change by what happens elsewhere: the share of a ClusterQueue by the quota of a Cohort above it,
who waits by a LocalQueue that is stopped. Upstream writes that with the next event of the object itself.

Source: LC-1704, LC-1721.
"""

from __future__ import annotations

from typing import Any

from kueue_fast.api.kueue import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kueue_fast.cluster.changes import Change, Key, WatchEvent, key_of
from kueue_fast.cluster.index import ObjectIndex
from kueue_fast.engine.activity import flavors_of, rules_of
from kueue_fast.lifecycle import queue_stops
from kueue_fast.lifecycle.admission import holds_quota

__all__ = ["touched"]


def touched(event: WatchEvent, objects: ObjectIndex) -> set[Key]:
    """Keys of ClusterQueues and Cohorts to be looked at after an event."""
    obj = event.object
    if obj.KIND == ClusterQueue.KIND:
        return {key_of(obj), *_cohorts_above(obj, objects)}
    if obj.KIND == Cohort.KIND:
        return {key_of(obj)}
    if obj.KIND == Workload.KIND:
        found = {_queue_of(each, objects) for each in _concerned(event)}
        return {(ClusterQueue.KIND, "", name) for name in found if name}
    # A flavor or topology that only changes, also one that is to go, makes no ClusterQueue active or inactive.
    if obj.KIND == AdmissionCheck.KIND or event.change is not Change.MODIFIED:
        return {key_of(each) for each in objects.list(ClusterQueue.KIND) if _uses(each, obj, objects)}
    return set()


def _uses(queue: ClusterQueue, obj: Any, objects: ObjectIndex) -> bool:
    """Whether a ClusterQueue names an AdmissionCheck, a ResourceFlavor, or a flavor of a Topology."""
    if queue.spec is None:
        return False
    name = obj.metadata.name
    if obj.KIND == AdmissionCheck.KIND:
        return any(rule.name == name for rule in rules_of(queue.spec))
    if obj.KIND == ResourceFlavor.KIND:
        return name in flavors_of(queue.spec)
    if obj.KIND == Topology.KIND:
        flavors = (objects.get(ResourceFlavor.KIND, None, each) for each in flavors_of(queue.spec))
        return any(
            each is not None and each.spec is not None and each.spec.topology_name == name for each in flavors
        )
    return False


def _concerned(event: WatchEvent) -> list[Workload]:
    """The Workload as it was, and as it is where it moved to another queue."""
    new, old = event.object, event.old
    if event.change is not Change.MODIFIED or old is None:
        return [new]
    return [old] if old.spec.queue_name == new.spec.queue_name else [old, new]


def _queue_of(workload: Workload, objects: ObjectIndex) -> str:
    """The ClusterQueue that holds its quota, or that its LocalQueue leads to unless that one is stopped."""
    admission = workload.status.admission if workload.status is not None else None
    if admission is not None and holds_quota(workload, admission.cluster_queue):
        return admission.cluster_queue
    local: LocalQueue | None = objects.get(
        LocalQueue.KIND, workload.metadata.namespace, workload.spec.queue_name or ""
    )
    if local is None or local.spec is None or queue_stops.policy(local) != queue_stops.NO_STOP:
        return ""
    return local.spec.cluster_queue or ""


def _cohorts_above(queue: ClusterQueue, objects: ObjectIndex) -> set[Key]:
    """Cohorts above a ClusterQueue but the topmost, whose share is always 0; none where they form a cycle."""
    name = (queue.spec.cohort_name if queue.spec is not None else None) or ""
    found: list[str] = []
    while name:
        if name in found:
            return set()
        found.append(name)
        cohort: Cohort | None = objects.get(Cohort.KIND, None, name)
        spec = cohort.spec if cohort is not None else None
        name = (spec.parent_name if spec is not None else None) or ""
    return {(Cohort.KIND, "", each) for each in found[:-1]}
