"""What the kernel knows of a ClusterQueue and topologies. Source: TP-602, TP-604, TP-608."""

from __future__ import annotations

from kueue_fast.engine.activity import MULTIKUEUE, PROVISIONING, flavors_of
from kueue_fast.engine.state import ClusterQueueEntry, State

NO_DELAY, DELAYED_ONCE, DELAYED_ALWAYS = range(3)
"""Values of kueuecore's TopologyDelay."""


def write_topology(state: State, entry: ClusterQueueEntry) -> None:
    """Write which flavors of a ClusterQueue have topologies, and whether their places come later (TP-602, TP-608)."""
    tables, kernel = state.tables, state.tables.scheduler.pod_topology
    names = list(flavors_of(entry.spec))
    # upstream counts a ClusterQueue without flavors as one whose flavors all have topologies (QP-917)
    enabled = state.gates.enabled("TopologyAwareScheduling")
    tables.flavors.topology_only[entry.row] = enabled and all(map(state.names_topology, names))
    if not state.pod_topology.used and not kernel.has_topology.shape[0]:
        return
    kernel.reserve(nodes=entry.row + 1, flavors=len(tables.flavor_names))
    kernel.has_topology[entry.row] = any(map(state.topology.exists, names))
    for name in names:
        kernel.delay[entry.row, tables.flavor(name)] = _delay(state, entry, name)


def _delay(state: State, entry: ClusterQueueEntry, flavor: str) -> int:
    delay = NO_DELAY
    for rule in entry.rules:
        check = state.checks.get(rule.name)
        if check is None:
            continue
        if check.spec.controller_name == MULTIKUEUE:
            return DELAYED_ALWAYS
        if check.spec.controller_name == PROVISIONING and (not rule.on_flavors or flavor in rule.on_flavors):
            delay = DELAYED_ONCE
    return delay
