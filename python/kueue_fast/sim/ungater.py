"""The topology ungater of the simulated cluster: lets gated pods go to the domains of their Workload.

Kueue waits a second for more pods of a Workload before it looks. The first pods of a run all come at one instant, so
here they go at once; for pods that come later it waits, as within that second a failed node becomes known.
"""

from __future__ import annotations

from typing import Any

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.lifecycle.pods import has_gate, is_terminal
from kueue_fast.lifecycle.ungating import BATCH_NS, reconcile_ungating, workload_to_look_at
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
        # Workloads of which some pods were let go in this run.
        self._begun: set[str] = set()
        self._due: set[tuple[str, int]] = set()
        placements.follow(self.on_placement)
        cluster.watch(Workload.KIND, self.on_workload)
        cluster.watch(Pod.KIND, self.on_pod)

    def on_placement(self, workload: Workload, placed: Placements | None) -> None:
        """Places were given, or taken."""
        if placed is None:
            self._begun.discard(_key(workload))

    def on_workload(self, event: WatchEvent) -> None:
        """It was placed, or admitted, or has other places, or a node that is well again sets pods free."""
        if self._gated:
            self._look(_key(event.object), 0)

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
        self._look(key, BATCH_NS if key in self._begun else 0)

    def _look(self, key: str, delay_ns: int) -> None:
        due = key, self._clock.now + delay_ns
        if due not in self._due and key in self._gated:
            self._due.add(due)
            self._clock.schedule(due[1], self._run, due)

    def _run(self, due: Any) -> None:
        self._due.discard(due)
        key = due[0]
        namespace, _, name = key.partition("/")
        workload: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
        if workload is None:
            return
        placed = self._placements.of(workload)
        for pod in reconcile_ungating(workload, placed, self._pods.get(key, {}).values()).pods:
            self._begun.add(key)
            self._cluster.update(pod)


def _key(workload: Workload) -> str:
    return f"{workload.metadata.namespace or ''}/{workload.metadata.name}"


def _drop(table: dict[str, dict[str, Pod]], key: str, name: str) -> None:
    """Forget a pod, and with the last one its Workload."""
    pods = table.get(key)
    if pods is not None:
        pods.pop(name, None)
        if not pods:
            del table[key]
