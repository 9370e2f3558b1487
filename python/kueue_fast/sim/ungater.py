"""The topology ungater of the simulated cluster: lets gated pods go to the domains of their Workload.

Kueue waits a second for more pods of a Workload before it looks; nothing is gained by that on a virtual clock, so
here it looks at the end of the same instant.
"""

from __future__ import annotations

from typing import Any

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.lifecycle.pods import has_gate, is_terminal
from kueue_fast.lifecycle.ungating import reconcile_ungating, workload_to_look_at
from kueue_fast.model.placements import Placements
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.placement_index import PlacementIndex

__all__ = ["Ungater"]


class Ungater:
    """Keeps the pods of each placed Workload, and looks at those that have gated ones when something changed."""

    def __init__(self, cluster: MemoryCluster, clock: VirtualClock, placements: PlacementIndex) -> None:
        self._cluster = cluster
        self._clock = clock
        self._placements = placements
        # Pods that have not ended by `namespace/name` of their Workload, then by name.
        self._pods: dict[str, dict[str, Pod]] = {}
        self._gated: dict[str, dict[str, Pod]] = {}
        self._due: dict[str, None] = {}
        placements.follow(self.on_placement)
        cluster.watch(Workload.KIND, self.on_workload)
        cluster.watch(Pod.KIND, self.on_pod)

    def on_placement(self, workload: Workload, _placed: Placements | None) -> None:
        """Places were given, or other ones."""
        self._look(f"{workload.metadata.namespace or ''}/{workload.metadata.name}")

    def on_workload(self, event: WatchEvent) -> None:
        """Admission comes after the places, and a node that is well again sets pods free."""
        if self._pods:
            self.on_placement(event.object, None)

    def on_pod(self, event: WatchEvent) -> None:
        """Keep the pod, or forget it."""
        pod: Pod = event.object
        key = workload_to_look_at(pod)
        if key is None:
            return
        name = pod.metadata.name
        if event.change is Change.DELETED or is_terminal(pod):
            _drop(self._pods, key, name)
            _drop(self._gated, key, name)
        else:
            self._pods.setdefault(key, {})[name] = pod
            if has_gate(pod):
                self._gated.setdefault(key, {})[name] = pod
            else:
                _drop(self._gated, key, name)
        self._look(key)

    def _look(self, key: str) -> None:
        if key in self._due or key not in self._gated:
            return
        if not self._due:
            self._clock.schedule(self._clock.now, self._run)
        self._due[key] = None

    def _run(self, _: Any) -> None:
        due, self._due = self._due, {}
        for key in due:
            namespace, _, name = key.partition("/")
            workload: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
            if workload is None:
                continue
            placed = self._placements.of(workload)
            for pod in reconcile_ungating(workload, placed, self._pods.get(key, {}).values()).pods:
                self._cluster.update(pod)


def _drop(table: dict[str, dict[str, Pod]], key: str, name: str) -> None:
    """Forget a pod, and with the last one its Workload."""
    pods = table.get(key)
    if pods is not None:
        pods.pop(name, None)
        if not pods:
            del table[key]
