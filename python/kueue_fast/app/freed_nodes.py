"""Room that pods leave which Kueue did not place: every ten seconds one looks again at what waits. Source: TP-1904."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import ResourceFlavor, ResourceFlavorSpec, Topology, TopologySpec
from kueue_fast.cluster.changes import Change, WatchEvent, describe, key_of
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.errors import InputError
from kueue_fast.lifecycle.topology_triggers import FREED_NODES_NS, flavors_of, freed_node
from kueue_fast.model import times

__all__ = ["FreedNodes"]

log = logging.getLogger("tas-non-tas-usage-controller")


class FreedNodes:
    """Calls `retry` in the next round with the flavors of nodes that are still there and have more room, if any."""

    def __init__(self, cluster: KubeCluster, retry: Callable[[Sequence[str]], None]) -> None:
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
        names, self._nodes = self._nodes, set()
        nodes: list[Node | None] = [self._cluster.get(Node.KIND, None, name) for name in names]
        found = flavors_of([node for node in nodes if node is not None], self._flavors())
        if found:
            self._retry(found)

    def _flavors(self) -> dict[str, tuple[Mapping[str, str], Sequence[str]]]:
        """Node labels and level keys of the flavors that have a Topology."""
        found: dict[str, tuple[Mapping[str, str], Sequence[str]]] = {}
        for flavor in self._cluster.list(ResourceFlavor.KIND):
            spec: ResourceFlavorSpec = flavor.spec or ResourceFlavorSpec()
            topology = (
                self._cluster.get(Topology.KIND, None, spec.topology_name) if spec.topology_name else None
            )
            if topology is not None:
                levels = [level.node_label for level in (topology.spec or TopologySpec()).levels or ()]
                found[flavor.metadata.name] = spec.node_labels or {}, levels
        return found
