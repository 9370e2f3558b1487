"""Which changes of objects may help a Workload that found no place: after them one looks again.

None stands for an object that did not exist before, or is gone.

Source: TP-1902..1904.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Protocol

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import ClusterQueue, ResourceFlavor, Topology
from kueue_fast.api.meta import QuantityValue
from kueue_fast.engine.activity import flavors_of
from kueue_fast.model import times
from kueue_fast.model.other_pods import occupied_node, pod_amounts
from kueue_fast.model.quantities import as_fraction
from kueue_fast.model.topology_nodes import belongs

__all__ = [
    "FREED_NODES_NS",
    "NODE_DELAY_NS",
    "flavor_calls",
    "flavors_of_node_change",
    "freed_node",
    "node_changed",
    "queues_of_freed_nodes",
    "queues_of_nodes",
]

NODE_DELAY_NS: Final = times.SECOND
"""How long a change of a node waits for others before its flavors are looked at."""
FREED_NODES_NS: Final = 10 * times.SECOND
"""How often the nodes that pods have left are gone through."""


class ObjectView(Protocol):
    """Objects by kind, live or simulated."""

    def get(self, kind: str, namespace: str | None, name: str) -> Any | None:
        """The object, or None."""

    def list(self, kind: str) -> Iterable[Any]:
        """All objects of a kind."""


def flavor_calls(old: ResourceFlavor | None, new: ResourceFlavor | None) -> bool:
    """Whether this change of a flavor asks to try inadmissible Workloads of all active ClusterQueues again.

    The creation of a flavor with a Topology does, a change of its taints, and getting another Topology; there is
    nothing new in one that is gone. Source: TP-1902.
    """
    before = old.spec.topology_name if old is not None and old.spec is not None else None
    after = new.spec.topology_name if new is not None and new.spec is not None else None
    if after is None or new is None:
        return False
    return old is None or before != after or _taints(old) != _taints(new)


def node_changed(old: Node | None, new: Node | None) -> bool:
    """Whether a node came, went, or changed in what the scheduler may look at.

    That is: whether it takes pods, what it holds, labels, taints, annotations, and the status of any condition, not
    its times. Raises ValueError for an amount that is no quantity. Source: TP-1903.
    """
    if old is None or new is None:
        return True
    if _properties(old) != _properties(new):
        return True
    # Heartbeats come all the time and change nothing here, so amounts are read only where their texts differ.
    return _quantities(old) != _quantities(new) and _amounts(old) != _amounts(new)


def flavors_of_node_change(
    old: Node | None,
    new: Node | None,
    flavors: Mapping[str, tuple[Mapping[str, str], Sequence[str]]],
) -> list[str]:
    """Flavors to look at, `NODE_DELAY_NS` later, sorted: those that the node belonged to, or belongs to now.

    `flavors` are the node labels and level keys of each flavor that has a Topology. Whether the node is ready does
    not matter. Source: TP-1903, TP-402.
    """
    if not node_changed(old, new):
        return []
    nodes = [node.metadata.labels or {} for node in (old, new) if node is not None]
    return sorted(
        name
        for name, (node_labels, levels) in flavors.items()
        if any(belongs(labels, node_labels, levels) for labels in nodes)
    )


def freed_node(old: Pod | None, new: Pod | None) -> str | None:
    """The node on which a pod that Kueue does not place made room, None if it did not.

    It left (ended, deleted, or placed by Kueue from now on), moved, or lowered any of its requests; a request that
    it does not make any more is not lowered. Raises InputError for a request that is no quantity. Source: TP-1904.
    """
    before = None if old is None else occupied_node(old)
    if before is None or old is None:
        return None
    after = None if new is None else occupied_node(new)
    if new is None or after != before:
        return before
    if old.spec is new.spec:
        return None
    amounts = pod_amounts(new.spec)
    lowered = any(
        amount > amounts[resource]
        for resource, amount in pod_amounts(old.spec).items()
        if resource in amounts
    )
    return before if lowered else None


def queues_of_nodes(
    nodes: Iterable[Node],
    flavors: Iterable[ResourceFlavor],
    topologies: Iterable[Topology],
    queues: Iterable[ClusterQueue],
) -> set[str]:
    """ClusterQueues that offer a flavor with a topology to which one of the nodes belongs. Source: TP-1904."""
    levels = {
        each.metadata.name: [level.node_label for level in each.spec.levels or ()]
        for each in topologies
        if each.spec is not None
    }
    labels = [node.metadata.labels or {} for node in nodes]
    offered = {
        flavor.metadata.name
        for flavor in flavors
        if (spec := flavor.spec) is not None
        and spec.topology_name in levels
        and any(belongs(each, spec.node_labels or {}, levels[spec.topology_name]) for each in labels)
    }
    return {
        queue.metadata.name
        for queue in queues
        if queue.spec is not None and not offered.isdisjoint(flavors_of(queue.spec))
    }


def queues_of_freed_nodes(names: Iterable[str], view: ObjectView) -> set[str]:
    """The same of nodes by name, as far as they are still there. Source: TP-1904."""
    nodes = [node for name in names if (node := view.get(Node.KIND, None, name)) is not None]
    return queues_of_nodes(
        nodes, view.list(ResourceFlavor.KIND), view.list(Topology.KIND), view.list(ClusterQueue.KIND)
    )


def _taints(flavor: ResourceFlavor) -> list[object]:
    return list((flavor.spec.node_taints if flavor.spec is not None else None) or ())


def _quantities(node: Node) -> dict[str, QuantityValue]:
    return (node.status.allocatable if node.status is not None else None) or {}


def _amounts(node: Node) -> dict[str, Fraction]:
    return {name: as_fraction(quantity) for name, quantity in _quantities(node).items()}


def _properties(node: Node) -> tuple[object, ...]:
    spec, status = node.spec, node.status
    return (
        bool(spec is not None and spec.unschedulable),
        node.metadata.labels or {},
        list((spec.taints if spec is not None else None) or ()),
        node.metadata.annotations or {},
        {each.type: each.status for each in (status.conditions if status is not None else None) or ()},
    )
