"""Room that pods leave which Kueue did not place: every ten seconds one looks again at what waits. Source: TP-1904."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kueue_fast.api.core import Pod
from kueue_fast.cluster.changes import Change, WatchEvent, describe, key_of
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.errors import InputError
from kueue_fast.lifecycle.topology_triggers import FREED_NODES_NS, freed_node, queues_of_freed_nodes
from kueue_fast.model import times

__all__ = ["FreedNodes"]

log = logging.getLogger("tas-non-tas-usage-controller")


class FreedNodes:
    """Calls `retry` in the next round with the ClusterQueues whose flavors have a node with more room.

    Only flavors with a topology count, and only nodes that are still there.
    """

    def __init__(self, cluster: KubeCluster, retry: Callable[[set[str]], None]) -> None:
        self._cluster = cluster
        self._retry = retry
        self._nodes: set[str] = set()
        self._round: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """From now on note the nodes that pods leave."""
        self._cluster.watch(Pod.KIND, self._on_pod)

    def stop(self) -> None:
        """Ask for nothing more."""
        if self._round is not None:
            self._round.cancel()

    def _on_pod(self, event: WatchEvent) -> None:
        gone = event.change is Change.DELETED
        try:
            node = freed_node(event.object, None) if gone else freed_node(event.old, event.object)
        except InputError as error:
            log.warning("%s: %s", describe(key_of(event.object)), error)
            return
        if node is None:
            return
        if not self._nodes:
            self._round = asyncio.get_running_loop().call_later(FREED_NODES_NS / times.SECOND, self._drain)
        self._nodes.add(node)

    def _drain(self) -> None:
        nodes, self._nodes = self._nodes, set()
        queues = queues_of_freed_nodes(nodes, self._cluster)
        if queues:
            self._retry(queues)
