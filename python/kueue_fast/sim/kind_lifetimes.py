"""What users do to kinds that serve: scale them at given times, and delete them when they have served long enough.

Also lets Workloads go whose owners are gone, as Kueue's controllers do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.lifecycle.retention import without_finalizer
from kueue_fast.model import conditions
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.kind_ancestors import owner_lives
from kueue_fast.sim.kind_serving import root_of
from kueue_fast.sim.kinds import SERVING
from kueue_fast.sim.manifest import SimulationFacts

__all__ = ["Lifetimes", "Orphans", "schedule_scaling"]

Key: TypeAlias = tuple[str, str, str]


class Lifetimes:
    """Deletes an object that serves so long after a Workload of it was admitted first, evictions or not."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        facts: Callable[[str, str, str], SimulationFacts],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._facts = facts
        self._begun: set[Key] = set()
        cluster.watch(Workload.KIND, self.on_workload)

    def on_workload(self, event: WatchEvent) -> None:
        """A Workload was admitted: whoever it is for serves from now on."""
        workload: Workload = event.object
        known = workload.status.conditions if workload.status is not None else None
        if event.change is Change.DELETED or not conditions.is_true(known, conditions.ADMITTED):
            return
        for owner in workload.metadata.owner_references or ():
            found = self._cluster.by_uid(owner.uid)
            top = None if found is None else root_of(self._cluster, found)
            if top is None or top.KIND not in SERVING:
                continue
            key = top.KIND, top.metadata.namespace or "", top.metadata.name
            run_time = self._facts(*key).run_time_ns
            if key not in self._begun and run_time is not None:
                self._begun.add(key)
                self._clock.schedule(self._clock.now + run_time, self._end, key)

    def _end(self, key: Any) -> None:
        if self._cluster.get(*key) is not None:
            self._cluster.delete(*key)


class Orphans:
    """Takes the finalizer from Workloads that are being deleted since their owners are gone. Source: JS-061."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        cluster.watch(Workload.KIND, self.on_workload)
        cluster.watch(None, self.on_any)

    def restart(self) -> None:
        """Every Workload is looked at."""
        self._cluster.relist(Workload.KIND, self.on_workload)

    def on_any(self, event: WatchEvent) -> None:
        """An owner is gone: nothing changes in a Workload that was being deleted before, so nobody hears of it."""
        if event.change is Change.DELETED and event.object.KIND != Workload.KIND:
            for each in list(self._cluster.dependents(event.object.metadata.uid or "", Workload.KIND)):
                self.on_workload(WatchEvent(Change.MODIFIED, each, each))

    def on_workload(self, event: WatchEvent) -> None:
        """It goes once nobody owns it."""
        workload: Workload = event.object
        if (
            event.change is Change.DELETED
            or not workload.metadata.deletion_timestamp
            or not workload.metadata.owner_references
            or owner_lives(self._cluster, workload.metadata)
        ):
            return
        current: Workload | None = self._cluster.get(
            Workload.KIND, workload.metadata.namespace, workload.metadata.name
        )
        released = None if current is None else without_finalizer(current)
        if released is not None:
            self._cluster.update(released)


def schedule_scaling(
    cluster: MemoryCluster, clock: VirtualClock, key: Key, facts: SimulationFacts, start_ns: int
) -> None:
    """Have the replicas of an object changed at the times that its manifest says."""

    def scale(replicas: int) -> None:
        current: Any = cluster.get(*key)
        if current is not None:
            spec = msgspec.structs.replace(current.spec, replicas=replicas)
            cluster.update(msgspec.structs.replace(current, spec=spec))

    for moment, replicas in facts.replicas_at:
        clock.schedule(moment.at(start_ns), scale, replicas)
