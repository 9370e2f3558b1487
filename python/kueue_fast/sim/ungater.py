"""The topology ungater of the simulated cluster: lets gated pods go to the domains of their Workload.

Kueue waits a second for more pods of a Workload before it looks. The first pods of a run all come at one instant, so
here they go at once; for pods that come later it waits, as within that second a failed node becomes known.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.cluster.placement_index import PlacementIndex
from kueue_fast.lifecycle.pods import has_gate, is_terminal, slice_name, slice_of_pod
from kueue_fast.lifecycle.ungating import BATCH_NS, reconcile_ungating, whose_places, workload_to_look_at
from kueue_fast.model.placements import Placements
from kueue_fast.sim.clock import VirtualClock

__all__ = ["Ungater"]


class Ungater:
    """Keeps the pods of each placed Workload, and looks at those that have gated ones when something changed."""

    def __init__(self, cluster: MemoryCluster, clock: VirtualClock, placements: PlacementIndex) -> None:
        self._cluster = cluster
        self._clock = clock
        self._placements = placements
        # Pods that have not ended by `namespace/name` of their Workload, or of the first of its chain of slices, then
        # by name.
        self._pods: dict[str, dict[str, Pod]] = {}
        self._gated: dict[str, dict[str, Pod]] = {}
        # Chains of which some pods were let go in this run.
        self._begun: set[str] = set()
        # `namespace/name` of a Workload, its chain, and when to look at it.
        self._due: set[tuple[str, str, int]] = set()
        placements.follow(self.on_placement)
        cluster.watch(Workload.KIND, self.on_workload)
        cluster.watch(Pod.KIND, self.on_pod)

    def restart(self) -> None:
        """Pods are gathered again, and those that have gates looked at."""
        self._pods.clear()
        self._gated.clear()
        self._begun.clear()
        self._due.clear()
        self._cluster.relist(Pod.KIND, self.on_pod)

    def on_placement(self, workload: Workload, placed: Placements | None) -> None:
        """Places were given, or taken."""
        if placed is None:
            self._begun.discard(_chain(workload))

    def on_workload(self, event: WatchEvent) -> None:
        """It was placed, or admitted, or has other places, or a node that is well again sets pods free."""
        if self._gated:
            self._look(_key(event.object), _chain(event.object), 0)

    def on_pod(self, event: WatchEvent) -> None:
        """Keep the pod, or forget it."""
        pod: Pod = event.object
        key = workload_to_look_at(pod)
        if key is None:
            return
        name = pod.metadata.name
        chain = f"{pod.metadata.namespace or ''}/{slice_of_pod(pod)}"
        if event.change is Change.DELETED or is_terminal(pod):
            _drop(self._pods, chain, name)
            _drop(self._gated, chain, name)
        else:
            self._pods.setdefault(chain, {})[name] = pod
            if has_gate(pod):
                self._gated.setdefault(chain, {})[name] = pod
            else:
                _drop(self._gated, chain, name)
        self._look(key, chain, BATCH_NS if chain in self._begun else 0)

    def _look(self, key: str, chain: str, delay_ns: int) -> None:
        due = key, chain, self._clock.now + delay_ns
        if due not in self._due and chain in self._gated:
            self._due.add(due)
            self._clock.schedule(due[2], self._run, due)

    def _run(self, due: Any) -> None:
        self._due.discard(due)
        key, chain, _ = due
        namespace, _, name = key.partition("/")
        workload: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
        if workload is not None:
            workload = whose_places(workload, partial(self._cluster.dependents, kind=Workload.KIND))
        if workload is None:
            return
        placed = self._placements.of(workload)
        for pod in reconcile_ungating(workload, placed, self._pods.get(chain, {}).values()).pods:
            self._begun.add(chain)
            self._cluster.update(pod)


def _key(workload: Workload) -> str:
    return f"{workload.metadata.namespace or ''}/{workload.metadata.name}"


def _chain(workload: Workload) -> str:
    return f"{workload.metadata.namespace or ''}/{slice_name(workload)}"


def _drop(table: dict[str, dict[str, Pod]], key: str, name: str) -> None:
    """Forget a pod, and with the last one its Workload."""
    pods = table.get(key)
    if pods is not None:
        pods.pop(name, None)
        if not pods:
            del table[key]
