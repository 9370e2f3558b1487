"""Room that pods leave which Kueue did not place: every ten seconds one looks again at what waits. Source: TP-1904."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kueue_fast.api.core import Pod
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.lifecycle.topology_triggers import FREED_NODES_NS, freed_node, queues_of_freed_nodes
from kueue_fast.sim.clock import VirtualClock

__all__ = ["FreedNodes"]


class FreedNodes:
    """Calls `retry` at the next multiple of ten seconds after the start, if a node that is still there has more room.

    It is given the ClusterQueues of flavors with a topology to which such a node belongs.
    """

    def __init__(
        self, cluster: MemoryCluster, clock: VirtualClock, retry: Callable[[set[str]], None]
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._retry = retry
        self._start = clock.now
        self._nodes: set[str] = set()
        cluster.watch(Pod.KIND, self.on_pod)

    def on_pod(self, event: WatchEvent) -> None:
        """Note the node that a pod left."""
        gone = event.change is Change.DELETED
        node = freed_node(event.object, None) if gone else freed_node(event.old, event.object)
        if node is None:
            return
        if not self._nodes:
            passed = self._clock.now - self._start
            self._clock.schedule(self._start + (passed // FREED_NODES_NS + 1) * FREED_NODES_NS, self._drain)
        self._nodes.add(node)

    def _drain(self, _: Any) -> None:
        nodes, self._nodes = self._nodes, set()
        queues = queues_of_freed_nodes(nodes, self._cluster)
        if queues:
            self._retry(queues)
