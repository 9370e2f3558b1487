"""What users change while a simulation runs: they stop queues, and switch workloads and checks off and on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kueue_fast.api.apps import Deployment, ReplicaSet
from kueue_fast.api.kueue import AdmissionCheck, Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.sim.admission_checks import with_activity
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.manifest import Manifest

__all__ = ["schedule_changes_of_users"]


def schedule_changes_of_users(
    cluster: MemoryCluster, clock: VirtualClock, manifest: Manifest, start_ns: int
) -> None:
    """Have the object of a manifest changed as its annotations say; what has gone by then stays gone."""
    obj = manifest.object
    facts = manifest.facts.lifecycle
    key = obj.KIND, obj.metadata.namespace or "", obj.metadata.name

    def stop(policy: Any) -> None:
        queue = cluster.get(*key)
        if queue is not None and queue.spec is not None:
            spec = msgspec.structs.replace(queue.spec, stop_policy=policy)
            cluster.update(msgspec.structs.replace(queue, spec=spec))

    def switch(active: Any) -> None:
        found = cluster.get(*key)
        if isinstance(found, AdmissionCheck):
            cluster.update_status(with_activity(found, active, clock.now))
        elif found is not None:
            for workload in list(_workloads(cluster, found)):
                spec = msgspec.structs.replace(workload.spec, active=active)
                cluster.update(msgspec.structs.replace(workload, spec=spec))

    for moment, policy in facts.stop_policy:
        clock.schedule(max(moment.at(start_ns), clock.now), stop, policy)
    for moment, active in facts.active:
        clock.schedule(max(moment.at(start_ns), clock.now), switch, active)


def _workloads(cluster: MemoryCluster, obj: KubernetesObject) -> Iterator[Workload]:
    """The Workload itself, those of the object, or those of the pods of a Deployment."""
    if isinstance(obj, Workload):
        yield obj
        return
    for each in cluster.dependents(obj.metadata.uid or ""):
        if isinstance(each, Workload):
            yield each
        elif isinstance(obj, Deployment | ReplicaSet):
            yield from _workloads(cluster, each)
