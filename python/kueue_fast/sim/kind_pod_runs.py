"""Stands in for the kubelet of pods that Kueue manages: they run once nothing holds them back, and end.

A pod that was placed by topology runs when it has a node. Others run at once and on no node, as the pods of Jobs do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from kueue_fast.api.core import Pod, PodStatus
from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import Condition
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.cluster.placement_index import PlacementIndex
from kueue_fast.jobs import pod_names
from kueue_fast.jobs.pod_facts import annotation, is_ready, is_unretriable, phase
from kueue_fast.lifecycle.pods import FAILED, SUCCEEDED, is_terminal, workload_of_pod
from kueue_fast.lifecycle.status import timestamp
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.kind_serving import root_of
from kueue_fast.sim.lifecycle_facts import LifecycleFacts
from kueue_fast.sim.manifest import SimulationFacts
from kueue_fast.sim.readiness import Readiness
from kueue_fast.sim.runner import later

__all__ = ["PodRuns"]

Key: TypeAlias = tuple[str, str]
RUNNING: Final = "Running"


class PodRuns:
    """Plays such pods. A pod of a group that was evicted is made anew, as whoever made the group would do.

    `facts(kind, namespace, name)` tells of a manifest how long it runs, `fresh(namespace, name)` gives a pod of the
    input as it was created, None for a pod that another controller made.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        placements: PlacementIndex,
        facts: Callable[[str, str, str], SimulationFacts],
        fresh: Callable[[str, str], Pod | None],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._placements = placements
        self._facts = facts
        self._fresh = fresh
        self._ends: dict[Key, int | None] = {}
        self._stops: dict[Key, int] = {}
        self._readiness = Readiness(clock)
        # By the name of the first pod, which those that replace it share.
        self._readying: dict[Key, Key] = {}
        # Of pods that replace others: the name of the first, and how many there were before.
        self._originals: dict[Key, tuple[str, int]] = {}
        cluster.watch(Pod.KIND, self.on_pod)

    def on_pod(self, event: WatchEvent) -> None:
        """A pod may run, runs, was told to stop, or is over."""
        pod: Pod = event.object
        if (pod.metadata.labels or {}).get(pod_names.MANAGED) != pod_names.TRUE:
            return
        key = pod.metadata.namespace or "", pod.metadata.name
        if event.change is Change.DELETED or is_terminal(pod):
            self._forget(key)
        elif pod.metadata.deletion_timestamp:
            self._stop(key, pod)
        elif phase(pod) == RUNNING:
            self._begin(key, pod)
        elif not pod.spec.scheduling_gates and not self._is_placed(pod):
            self._set_phase(key, RUNNING)

    def _is_placed(self, pod: Pod) -> bool:
        name = workload_of_pod(pod)
        if name is None:
            return False
        workload: Workload | None = self._cluster.get(Workload.KIND, pod.metadata.namespace, name)
        return workload is not None and bool(self._placements.of(workload))

    def _begin(self, key: Key, pod: Pod) -> None:
        if key in self._ends:
            return
        first = key[0], self._originals.get(key, (key[1], 0))[0]
        self._readying[first] = key
        delay = self._readiness.begin(first, self._lifecycle_of(key, pod), self._set_ready)
        run_time = later(self._facts_of(key).run_time_ns, delay)
        self._ends[key] = (
            None if run_time is None else self._clock.schedule(self._clock.now + run_time, self._end, key)
        )
        if delay == 0:
            self._set_ready(first, True)

    def _lifecycle_of(self, key: Key, pod: Pod) -> LifecycleFacts:
        """What its manifest says, or that of the object which serves by it."""
        root = root_of(self._cluster, pod)
        if root is pod:
            return self._facts_of(key).lifecycle
        return self._facts(root.KIND, root.metadata.namespace or "", root.metadata.name).lifecycle

    def _set_ready(self, first: Key, ready: bool) -> None:
        pod: Pod | None = self._cluster.get(Pod.KIND, *self._readying[first])
        if pod is not None and not is_terminal(pod) and is_ready(pod) != ready:
            self._write(pod, RUNNING, ready)

    def _stop(self, key: Key, pod: Pod) -> None:
        if key not in self._stops:
            grace = self._facts_of(key).grace_period_ns if phase(pod) == RUNNING else 0
            self._stops[key] = self._clock.schedule(self._clock.now + grace, self._halt, key)

    def _forget(self, key: Key) -> None:
        self._readiness.end((key[0], self._originals.get(key, (key[1], 0))[0]))
        for entry in (self._ends.pop(key, None), self._stops.pop(key, None)):
            if entry is not None:
                self._clock.cancel(entry)

    def _end(self, key: Key) -> None:
        self._set_phase(key, FAILED if self._facts_of(key).fails else SUCCEEDED)

    def _halt(self, key: Key) -> None:
        pod: Pod | None = self._cluster.get(Pod.KIND, *key)
        if pod is None:
            return
        self._set_phase(key, FAILED)
        if annotation(pod, pod_names.GROUP_TOTAL_COUNT) and not is_unretriable(pod):
            self._replace(key)

    def _replace(self, key: Key) -> None:
        first, attempt = self._originals.get(key, (key[1], 0))
        fresh = self._fresh(key[0], first)
        if fresh is None:
            return
        name = f"{first}-r{attempt + 1}"
        self._originals[key[0], name] = first, attempt + 1
        self._cluster.create(
            msgspec.structs.replace(fresh, metadata=msgspec.structs.replace(fresh.metadata, name=name))
        )

    def _facts_of(self, key: Key) -> SimulationFacts:
        return self._facts(Pod.KIND, key[0], self._originals.get(key, (key[1], 0))[0])

    def _set_phase(self, key: Any, value: str) -> None:
        pod: Pod | None = self._cluster.get(Pod.KIND, *key)
        if pod is not None and not is_terminal(pod):
            self._write(pod, value, False)

    def _write(self, pod: Pod, value: str, ready: bool) -> None:
        condition = Condition(
            type="Ready",
            status="True" if ready else "False",
            last_transition_time=timestamp(self._clock.now),
        )
        status = pod.status or PodStatus()
        kept = [each for each in status.conditions or () if each.type != condition.type]
        status = msgspec.structs.replace(status, phase=value, conditions=[*kept, condition])
        self._cluster.update_status(msgspec.structs.replace(pod, status=status))
