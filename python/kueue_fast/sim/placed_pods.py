"""Nodes, and the pods of what was placed by topology: the controllers that make a topology come to life."""

from __future__ import annotations

from collections.abc import Callable

from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.cluster.placement_index import PlacementIndex
from kueue_fast.lifecycle.node_gates import NodeGates
from kueue_fast.model.features import FeatureGates
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.elastic_ungater import ElasticUngater
from kueue_fast.sim.freed_nodes import FreedNodes
from kueue_fast.sim.job_pods import JobPods
from kueue_fast.sim.manifest import SimulationFacts
from kueue_fast.sim.node_watch import NodeWatch
from kueue_fast.sim.plain_pods import PlainPods
from kueue_fast.sim.pod_scheduler import PodScheduler
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.topology_ledger import TopologyLedger
from kueue_fast.sim.ungater import Ungater

__all__ = ["PlacedPods"]


class PlacedPods:
    """Registers them in the order in which they have to hear of changes: `placements` first.

    `retry` has what waits in ClusterQueues looked at again; `ledger` tells afterwards who sat where.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        gates: FeatureGates,
        facts: Callable[[str, str, str], SimulationFacts],
        recorder: Recorder,
        retry: Callable[[set[str]], None],
    ) -> None:
        self.placements = PlacementIndex(cluster)
        self.ledger = TopologyLedger(cluster, clock, self.placements)
        JobPods(cluster)
        self.ungater = Ungater(cluster, clock, self.placements)
        elastic = ElasticUngater(cluster, clock, slices=gates.enabled("ElasticJobsViaWorkloadSlices"))
        PodScheduler(cluster, clock)
        nodes = NodeWatch(cluster, clock, self.placements, NodeGates.read(gates), recorder)
        PlainPods(cluster, clock, facts)
        FreedNodes(cluster, clock, retry)
        self._restarts = [each.restart for each in (self.placements, self.ungater, elastic, nodes)]

    def restart(self) -> None:
        """Kueue's controllers forget what they heard, and look at everything; nodes and pods go on."""
        for restart in self._restarts:
            restart()
