"""Writes down who sat where, so that a picture of any moment can be drawn when the run is over.

Changes go into one log. A moment is a length of it: the picture of the highest use costs nothing until it is drawn,
however often a run climbs higher.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kueue_fast.api.core import Node, Pod, PodSpec
from kueue_fast.api.kueue import PodSet, ResourceFlavor, Topology, Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.cluster.placement_index import PlacementIndex
from kueue_fast.model import topology_nodes
from kueue_fast.model.other_pods import occupied, occupied_node
from kueue_fast.model.placements import Placements, assignments
from kueue_fast.model.topology_names import HOSTNAME
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.topology_numbers import measure
from kueue_fast.sim.topology_result import (
    Amounts,
    Gang,
    Occupant,
    TopologyLeaf,
    TopologyMoment,
    TopologyRow,
)

__all__ = ["TopologyLedger"]

PARTS: Final = 10**9


class _Placed(NamedTuple):
    """One pod set where it was put; `flavor` is that of its first resource."""

    gang: Gang
    flavor: str
    levels: tuple[str, ...]
    domains: list[tuple[tuple[str, ...], int]]


class _Other(NamedTuple):
    """A pod that Kueue did not place, on a node."""

    node: str
    amounts: Amounts


# A Workload's pod sets by its key, a Node by its name, a pod by its key; None is gone.
Change_: TypeAlias = tuple[str, str, tuple[_Placed, ...] | Node | _Other | None]


class TopologyLedger:
    """Hears of placements, nodes and pods; `settle` is called when an instant is over."""

    def __init__(self, cluster: MemoryCluster, clock: VirtualClock, placements: PlacementIndex) -> None:
        self._cluster = cluster
        self._clock = clock
        self._log: list[Change_] = []
        self._requests: dict[bytes, Amounts] = {}
        self._now: dict[str, tuple[_Placed, ...]] = {}
        self._gangs: dict[str, dict[tuple[int, bytes], Gang]] = {}
        # By flavor: what its placements take, and the highest share with its time and length of the log.
        self._used: dict[str, dict[str, int]] = {}
        self._peaks: dict[str, tuple[int, int, int]] = {}
        self._changed: set[str] = set()
        self._capacities: dict[str, dict[str, int]] = {}
        self._others: dict[str, _Other] = {}
        placements.follow(self.on_placement)
        for kind in (Node.KIND, ResourceFlavor.KIND, Topology.KIND):
            cluster.watch(kind, self.on_capacity)
        cluster.watch(Pod.KIND, self.on_pod)

    def on_placement(self, workload: Workload, placed: Placements | None) -> None:
        """Write down where a Workload's pods are now."""
        key = f"{workload.metadata.namespace or ''}/{workload.metadata.name}"
        for one in self._now.pop(key, ()):
            self._use(one, -1)
        entries = tuple(self._entries(key, workload, placed or {}))
        if entries:
            self._now[key] = entries
        for one in entries:
            self._use(one, 1)
        self._log.append(("Workload", key, entries or None))

    def on_capacity(self, event: WatchEvent) -> None:
        """Nodes count for the flavors that they belong to at the time."""
        self._capacities.clear()
        if isinstance(event.object, Node):
            gone = event.change is Change.DELETED
            self._log.append(("Node", event.object.metadata.name, None if gone else event.object))

    def on_pod(self, event: WatchEvent) -> None:
        """Pods that take room without Kueue."""
        pod: Pod = event.object
        key = f"{pod.metadata.namespace or ''}/{pod.metadata.name}"
        node = None if event.change is Change.DELETED else occupied_node(pod)
        if node is not None and key not in self._others:
            self._others[key] = _Other(node, occupied(pod.spec))
            self._log.append(("Pod", key, self._others[key]))
        elif node is None and self._others.pop(key, None) is not None:
            self._log.append(("Pod", key, None))

    def settle(self) -> None:
        """An instant is over: see whether a flavor's nodes were never used as much."""
        for flavor in self._changed:
            capacity = self._capacity(flavor)
            share = max(
                (
                    PARTS * used // capacity[name]
                    for name, used in self._used[flavor].items()
                    if capacity.get(name, 0) > 0
                ),
                default=0,
            )
            if share > self._peaks.get(flavor, (0, 0, 0))[0]:
                self._peaks[flavor] = share, self._clock.now, len(self._log)
        self._changed.clear()

    def rows(self, end_ns: int) -> list[TopologyRow]:
        """One row a ResourceFlavor with a Topology, by name; one without nodes is left out."""
        rows = []
        waiting = list(self._unplaced())
        for flavor in sorted(
            self._cluster.list(ResourceFlavor.KIND), key=lambda each: str(each.metadata.name)
        ):
            name = flavor.metadata.name
            topology, levels = self._levels(flavor)
            if not levels:
                continue
            gangs = [*self._gangs.get(name, {}).values(), *waiting]
            end = self._moment(flavor, levels, end_ns, len(self._log), gangs)
            if not end.leaves:
                continue
            peak = None
            if name in self._peaks:
                _, time_ns, length = self._peaks[name]
                peak = self._moment(flavor, levels, time_ns, length, gangs)
            rows.append(TopologyRow(name, topology, levels, end, peak))
        return rows

    def _entries(self, key: str, workload: Workload, placed: Placements) -> Iterator[_Placed]:
        pod_sets = {each.name: each for each in workload.spec.pod_sets or ()}
        for assignment in assignments(workload):
            placement, pod_set = placed.get(assignment.name), pod_sets.get(assignment.name)
            flavors = assignment.flavors or {}
            if placement is None or pod_set is None or not flavors:
                continue
            flavor = flavors[min(flavors)]
            pods = sum(count for _, count in placement.domains)
            if not pods:
                continue
            gang = Gang(key, assignment.name, pods, self._request(pod_set))
            known = self._gangs.setdefault(flavor, {})
            known.setdefault((pods, bytes(pod_set.template.spec)), gang)
            yield _Placed(gang, flavor, placement.levels, placement.domains)

    def _unplaced(self) -> Iterator[Gang]:
        """Pod sets that ask for a topology, whether they ever got a place or not."""
        for workload in self._cluster.list(Workload.KIND):
            for pod_set in workload.spec.pod_sets or ():
                if pod_set.topology_request is not None and pod_set.count > 0:
                    key = f"{workload.metadata.namespace or ''}/{workload.metadata.name}"
                    yield Gang(key, pod_set.name, pod_set.count, self._request(pod_set))

    def _request(self, pod_set: PodSet) -> Amounts:
        text = bytes(pod_set.template.spec)
        known = self._requests.get(text)
        if known is None:
            spec = msgspec.json.decode(text, type=PodSpec) if text else PodSpec()
            known = self._requests[text] = occupied(spec)
        return known

    def _use(self, one: _Placed, sign: int) -> None:
        used = self._used.setdefault(one.flavor, {})
        for name, amount in one.gang.request.items():
            used[name] = used.get(name, 0) + sign * amount * one.gang.pods
        self._changed.add(one.flavor)

    def _levels(self, flavor: ResourceFlavor) -> tuple[str, tuple[str, ...]]:
        name = (flavor.spec.topology_name if flavor.spec is not None else None) or ""
        topology: Topology | None = self._cluster.get(Topology.KIND, None, name)
        spec = topology.spec if topology is not None else None
        return name, tuple(level.node_label for level in (spec.levels if spec is not None else None) or ())

    def _capacity(self, name: str) -> dict[str, int]:
        """What the nodes of a flavor hold, ready or not: a failure alone is no higher use."""
        known = self._capacities.get(name)
        if known is None:
            known = self._capacities[name] = {}
            flavor: ResourceFlavor | None = self._cluster.get(ResourceFlavor.KIND, None, name)
            if flavor is not None:
                levels = self._levels(flavor)[1]
                for node in self._cluster.list(Node.KIND):
                    if _values(node, flavor, levels) is not None:
                        _add(known, _capacity(node))
        return known

    def _moment(
        self,
        flavor: ResourceFlavor,
        levels: tuple[str, ...],
        time_ns: int,
        length: int,
        gangs: Iterable[Gang],
    ) -> TopologyMoment:
        workloads: dict[str, tuple[_Placed, ...]] = {}
        nodes: dict[str, Node] = {}
        others: dict[str, _Other] = {}
        tables: dict[str, dict[str, Any]] = {"Workload": workloads, "Node": nodes, "Pod": others}
        for kind, key, value in self._log[:length]:
            if value is None:
                tables[kind].pop(key, None)
            else:
                tables[kind][key] = value
        leaves = _leaves(nodes.values(), flavor, levels)
        by_host = levels[-1] == HOSTNAME
        by_last = {values[-1]: leaf for values, leaf in leaves.items()} if by_host else {}
        for entries in workloads.values():
            for one in entries:
                _seat(one, flavor.metadata.name, levels, leaves, by_last)
        for other in others.values():
            node = nodes.get(other.node)
            values = _values(node, flavor, levels) if node is not None else None
            if values is not None:
                _add(leaves[values].other, other.amounts)
        return measure(time_ns, levels, [leaves[values] for values in sorted(leaves)], gangs)


def _seat(
    one: _Placed,
    flavor: str,
    levels: tuple[str, ...],
    leaves: dict[tuple[str, ...], TopologyLeaf],
    by_last: dict[str, TopologyLeaf],
) -> None:
    """Put the pods of a pod set into their leaves. Hosts may be shared by flavors, other domains are not."""
    for values, count in one.domains:
        if by_last and one.levels[-1] == HOSTNAME:
            leaf = by_last.get(values[-1])
        else:
            leaf = leaves.get(values) if one.flavor == flavor and one.levels == levels else None
        if leaf is not None:
            amounts = {name: amount * count for name, amount in one.gang.request.items()}
            leaf.occupants.append(Occupant(one.gang.workload, count, amounts))


def _leaves(
    nodes: Iterable[Node], flavor: ResourceFlavor, levels: tuple[str, ...]
) -> dict[tuple[str, ...], TopologyLeaf]:
    """The leaves that the nodes of a flavor make up. Source: TP-401, TP-402, TP-405."""
    leaves: dict[tuple[str, ...], TopologyLeaf] = {}
    for node in nodes:
        values = _values(node, flavor, levels)
        if values is None:
            continue
        leaf = leaves.get(values)
        if leaf is None:
            leaf = leaves[values] = TopologyLeaf(values)
        leaf.nodes += 1
        if topology_nodes.is_usable(node):
            leaf.ready += 1
            _add(leaf.capacity, _capacity(node))
    return leaves


def _values(node: Node, flavor: ResourceFlavor, levels: tuple[str, ...]) -> tuple[str, ...] | None:
    """The domain of a node, None if it does not belong to the flavor."""
    labels = node.metadata.labels or {}
    node_labels = (flavor.spec.node_labels if flavor.spec is not None else None) or {}
    if not topology_nodes.belongs(labels, node_labels, levels):
        return None
    return tuple(labels[level] for level in levels)


def _capacity(node: Node) -> dict[str, int]:
    return topology_nodes.capacity(node.status.allocatable if node.status is not None else None)


def _add(total: dict[str, int], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount
