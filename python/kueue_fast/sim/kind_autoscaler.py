"""Stands in for Ray's autoscaler: asks for workers when a manifest says so.

It lives in the head of a cluster: while the cluster does not run, it asks for nothing, and when one starts it asks at
once for what is wanted by then. A RayCluster that does not scale itself is resized by its user instead, run or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kueue_fast.api.meta import KubernetesObject
from kueue_fast.api.ray import RayCluster, RayClusterSpec, RayJob, RayService
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.ray_clusters import READY
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.manifest import Resize, SimulationFacts

__all__ = ["Autoscaler", "cluster_spec", "resized_cluster"]

RAY_KINDS: Final = (RayCluster.KIND, RayJob.KIND, RayService.KIND)


class _Due(NamedTuple):
    """The resize at a place of the list of an object, whose uid tells it from a later one of the same name."""

    key: tuple[str, str, str]
    uid: str
    number: int


class Autoscaler:
    """Writes the replicas of worker groups; `facts(kind, namespace, name)` tells when and how many."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        facts: Callable[[str, str, str], SimulationFacts],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._facts = facts
        self._start = clock.now
        for kind in RAY_KINDS:
            cluster.watch(kind, self.on_object)

    def on_object(self, event: WatchEvent) -> None:
        """An object came, or a cluster started."""
        obj = event.object
        if event.change is Change.DELETED:
            return
        if event.change is Change.ADDED:
            self._schedule(obj)
        if isinstance(obj, RayCluster) and _runs(obj) and (event.old is None or not _runs(event.old)):
            self._catch_up(obj)

    def _schedule(self, obj: KubernetesObject) -> None:
        key = _key(obj)
        for number, resize in enumerate(self._facts(*key).workers_at):
            due = _Due(key, obj.metadata.uid or "", number)
            self._clock.schedule(max(resize.moment.at(self._start), self._clock.now), self._resize, due)

    def _resize(self, due: Any) -> None:
        top: Any = self._cluster.get(*due.key)
        if top is None or top.metadata.uid != due.uid:
            return
        cluster = self._cluster_of(top)
        if cluster is not None and (_runs(cluster) or not cluster.spec.enable_in_tree_autoscaling):
            self._write(cluster, (self._facts(*due.key).workers_at[due.number],))

    def _catch_up(self, cluster: RayCluster) -> None:
        """The cluster starts as its manifest says: what is wanted by now is asked for."""
        owner = controller_of(cluster.metadata)
        top = cluster if owner is None else self._cluster.by_uid(owner.uid)
        if top is None or not cluster.spec.enable_in_tree_autoscaling:
            return
        past = [
            each
            for each in self._facts(*_key(top)).workers_at
            if each.moment.at(self._start) <= self._clock.now
        ]
        current: RayCluster | None = self._cluster.get(*_key(cluster))
        if past and current is not None:
            self._write(current, past)

    def _cluster_of(self, top: Any) -> RayCluster | None:
        name: str | None
        match top:
            case RayCluster():
                return top
            case RayJob():
                name = top.status.ray_cluster_name if top.status is not None else None
            case _:
                active = top.status.active_service_status if top.status is not None else None
                name = active.ray_cluster_name if active is not None else None
        found: RayCluster | None = (
            self._cluster.get(RayCluster.KIND, top.metadata.namespace, name) if name else None
        )
        return found

    def _write(self, cluster: RayCluster, resizes: Sequence[Resize]) -> None:
        spec = cluster.spec
        for resize in resizes:
            spec = resized_cluster(spec, resize)
        self._cluster.update(msgspec.structs.replace(cluster, spec=spec))


def resized_cluster(spec: RayClusterSpec, resize: Resize) -> RayClusterSpec:
    """The cluster with other replicas in one worker group, in the only one if the resize names none."""
    groups = [
        msgspec.structs.replace(group, replicas=resize.replicas)
        if resize.group in ("", group.group_name)
        else group
        for group in spec.worker_group_specs or ()
    ]
    return msgspec.structs.replace(spec, worker_group_specs=groups)


def cluster_spec(obj: Any) -> RayClusterSpec | None:
    """The spec of the cluster that an object of Ray's kinds has or makes, None if it makes none."""
    match obj:
        case RayCluster():
            return obj.spec
        case RayJob():
            return obj.spec.ray_cluster_spec
        case RayService():
            return obj.spec.ray_cluster_config
    return None


def _runs(cluster: RayCluster) -> bool:
    return not cluster.spec.suspend and cluster.status is not None and cluster.status.state == READY


def _key(obj: KubernetesObject) -> tuple[str, str, str]:
    return obj.KIND, obj.metadata.namespace or "", obj.metadata.name
