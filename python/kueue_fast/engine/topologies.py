"""Events of topologies: Nodes, Topologies, pods of others, and flavors that name a Topology.

Source: QC-34, TP-505..508, TP-602, TP-608, TP-1901..1904.
"""

from __future__ import annotations

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import ResourceFlavorSpec, Topology, TopologySpec
from kueue_fast.engine.activity import flavors_of
from kueue_fast.engine.intake import Intake
from kueue_fast.engine.queue_topology import write_topology
from kueue_fast.engine.queues import Queues
from kueue_fast.engine.state import State
from kueue_fast.errors import InputError
from kueue_fast.model.validation.topology import LEVELS_MAX


class Topologies:
    """Keeps trees and what queues know of them, and looks again at the queues that a change concerns."""

    def __init__(self, state: State, queues: Queues, intake: Intake) -> None:
        self._state = state
        self._queues = queues
        self._intake = intake
        self._enabled = state.gates.enabled("TopologyAwareScheduling")

    def upsert_node(self, node: Node) -> None:
        """A Node was created or changed: parked workloads of all queues may fit now (TP-1903, TP-2014)."""
        if self._enabled and self._state.topology.set_node(node):
            self._wake()

    def delete_node(self, name: str) -> None:
        """A Node is gone."""
        if self._enabled and self._state.topology.delete_node(name):
            self._wake()

    def upsert_pod(self, pod: Pod) -> None:
        """A pod was created or changed."""
        if self._enabled:
            self._state.topology.set_pod(pod)

    def delete_pod(self, namespace: str, name: str) -> None:
        """A pod is gone."""
        if self._enabled:
            self._state.topology.delete_pod(namespace, name)

    def upsert_topology(self, topology: Topology) -> None:
        """A Topology was created; its levels never change (TP-505).

        Raises InputError if it has more levels than a Topology may have (TP-201).
        """
        spec = topology.spec or TopologySpec()
        if len(spec.levels or ()) > LEVELS_MAX:
            raise InputError(
                f"has {len(spec.levels or ())} items",
                object=f"Topology {topology.metadata.name}",
                field="$.spec.levels",
                expected=f"at most {LEVELS_MAX}",
            )
        self._set_topology(topology.metadata.name, spec)

    def delete_topology(self, name: str) -> None:
        """A Topology is gone, and with it the trees of its flavors."""
        self._set_topology(name, None)

    def _set_topology(self, name: str, spec: TopologySpec | None) -> None:
        state = self._state
        if not self._enabled:
            return
        changed = state.topology.set_topology(name, spec)
        for flavor, known in state.classes.flavors.items():
            if known.spec is not None and known.spec.topology_name == name:
                self._settle(flavor, True)
        self._intake.place_bookings(changed)
        for entry in self._queues.refresh_activity(state.cluster_queues.values()):
            state.retries.request(entry.row, state.now_ns)

    def set_flavor(self, name: str, spec: ResourceFlavorSpec | None) -> None:
        """A ResourceFlavor came, changed or went (None); the caller judges queues again."""
        if not self._enabled:
            return
        names_topology = spec is not None and bool(spec.topology_name)
        if not names_topology and not self._state.pod_topology.knows(name):
            return
        changed = self._state.topology.set_flavor(name, spec)
        self._settle(name, names_topology)
        self._intake.place_bookings(changed)

    def _settle(self, flavor: str, names_topology: bool) -> None:
        state = self._state
        used = state.pod_topology.used
        state.pod_topology.set_flavor(flavor, names_topology)
        if state.pod_topology.used and not used:
            state.layouts.write_topologies()
        for entry in state.cluster_queues.values():
            if flavor in flavors_of(entry.spec):
                write_topology(state, entry)

    def _wake(self) -> None:
        self._state.retry_all()
