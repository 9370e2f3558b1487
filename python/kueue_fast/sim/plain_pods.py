"""Pods that the input brings along: they run from when they have a node, for their time, and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from kueue_fast.api.core import Pod, PodStatus
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs import pod_names
from kueue_fast.lifecycle.pods import FAILED, SUCCEEDED, is_terminal
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.manifest import SimulationFacts

__all__ = ["PlainPods"]

Key: TypeAlias = tuple[str, str]


class PlainPods:
    """Ends pods that have a run time; pods of Jobs have none of their own."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        facts: Callable[[str, str, str], SimulationFacts],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._facts = facts
        self._ends: dict[Key, int] = {}
        cluster.watch(Pod.KIND, self.on_pod)

    def on_pod(self, event: WatchEvent) -> None:
        """A pod that got a node starts to run; one that is gone will not end."""
        pod: Pod = event.object
        key = pod.metadata.namespace or "", pod.metadata.name
        if event.change is Change.DELETED:
            entry = self._ends.pop(key, None)
            if entry is not None:
                self._clock.cancel(entry)
        elif (pod.metadata.labels or {}).get(pod_names.MANAGED) == pod_names.TRUE:
            return  # Kueue's are played by `kind_pod_runs`.
        elif pod.spec.node_name and key not in self._ends and not is_terminal(pod):
            run_time = self._facts(Pod.KIND, *key).run_time_ns
            if run_time is not None:
                self._ends[key] = self._clock.schedule(self._clock.now + run_time, self._end, key)

    def _end(self, key: Any) -> None:
        pod: Pod | None = self._cluster.get(Pod.KIND, *key)
        if pod is not None:
            phase = FAILED if self._facts(Pod.KIND, *key).fails else SUCCEEDED
            status = msgspec.structs.replace(pod.status or PodStatus(), phase=phase)
            self._cluster.update_status(msgspec.structs.replace(pod, status=status))
