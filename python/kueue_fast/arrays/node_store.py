"""Nodes that count, what they hold, and what pods of others take from them. Source: TP-401, TP-405, TP-408, TP-508."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kueue_fast.api.core import Node, Pod, PodSpec, Taint
from kueue_fast.errors import InputError
from kueue_fast.model.other_pods import occupied, occupied_node
from kueue_fast.model.quantities import saturate
from kueue_fast.model.topology_nodes import blocking_taints, capacity, is_usable

_encode = msgspec.json.Encoder(order="deterministic").encode
_NOTHING: dict[str, int] = {}


class NodeFacts(NamedTuple):
    """What topologies know of a node; taints and capacity are numbers of interned ones."""

    labels: dict[str, str]
    taints: int
    capacity: int


class Change(NamedTuple):
    """A node that is another one than before; None where it does not count."""

    name: str
    before: NodeFacts | None
    after: NodeFacts | None


class NodeStore:
    """Facts of all usable nodes, and the changes that trees have not seen yet."""

    def __init__(self) -> None:
        self.facts: dict[str, NodeFacts] = {}
        """By node name, as of the last `take`."""
        self.taint_lists: list[tuple[Taint, ...]] = [()]
        self.offered: set[str] = set()
        """Resources that some node holds or some pod takes."""
        self._taints: dict[tuple[tuple[str, str, str], ...], int] = {(): 0}
        self._capacities: list[dict[str, int]] = []
        self._capacity_of_text: dict[tuple[tuple[str, object], ...], int] = {}
        self._capacity_of_amounts: dict[frozenset[tuple[str, int]], int] = {}
        self._arrived: dict[str, NodeFacts | None] = {}
        self._used: dict[str, dict[str, int]] = {}  # node name -> what other pods take
        self._pods: dict[tuple[str, str], tuple[str, dict[str, int]]] = {}
        self._pod_amounts: dict[bytes, dict[str, int]] = {}
        self._touched: set[str] = set()  # nodes of which only the use changed

    def set_node(self, node: Node) -> bool:
        """A Node was created or changed; returns whether anything that counts is other.

        Raises InputError naming the Node and the quantity, or the label, that cannot be read.
        """
        name = node.metadata.name
        facts = None
        if is_usable(node):
            labels = node.metadata.labels or {}
            values = "".join(labels.values())
            if "," in values or "\0" in values:
                raise _unreadable_label(name, labels)
            spec = node.spec
            taints = self._taint_list(spec.taints) if spec is not None and spec.taints else 0
            allocatable = node.status.allocatable if node.status is not None else None
            facts = NodeFacts(labels, taints, self._capacity(name, allocatable))
        return self._arrive(name, facts)

    def delete_node(self, name: str) -> bool:
        """A Node is gone; returns whether it counted."""
        return self._arrive(name, None)

    def set_pod(self, pod: Pod) -> str | None:
        """A pod was created or changed; the node on which it may have freed room (TP-1904).

        Raises InputError naming the Pod and the quantity that cannot be read.
        """
        node = occupied_node(pod)
        key = (pod.metadata.namespace or "", pod.metadata.name)
        return self._set_use(key, None if node is None else (node, self._amounts(pod)))

    def delete_pod(self, namespace: str, name: str) -> str | None:
        """A pod is gone; the node on which it freed room."""
        return self._set_use((namespace, name), None)

    def take(self) -> list[Change]:
        """What changed since the last call; `facts` are the new ones afterwards."""
        arrived, facts = self._arrived, self.facts
        changes = [Change(name, facts.get(name), after) for name, after in arrived.items()]
        changes += [
            Change(name, facts[name], facts[name])
            for name in self._touched
            if name not in arrived and name in facts
        ]
        self.settle()
        return changes

    def settle(self) -> list[Change]:
        """As `take`, where nobody asks what changed; always empty."""
        arrived = self._arrived
        self._arrived, self._touched = {}, set()
        if self.facts:
            for name, after in arrived.items():
                if after is None:
                    self.facts.pop(name, None)
                else:
                    self.facts[name] = after
        else:
            # The first nodes of all: none of them can be a deletion.
            self.facts.update(arrived)  # type: ignore[arg-type]
        return []

    def room(self, names: Iterable[str], columns: Mapping[str, int], width: int) -> NDArray[np.int64]:
        """int64 [width]: what these nodes hold together, less what pods of others take. Source: TP-405, TP-509."""
        total: dict[str, int] = {}
        used: dict[str, int] = {}
        for name in names:
            for resource, amount in self._capacities[self.facts[name].capacity].items():
                total[resource] = saturate(total.get(resource, 0) + amount)
            for resource, amount in self._used.get(name, _NOTHING).items():
                used[resource] = used.get(resource, 0) + amount
        row = np.zeros(width, np.int64)
        for resource in total.keys() | used.keys():
            column = columns.get(resource)
            if column is not None:
                row[column] = saturate(total.get(resource, 0) - used.get(resource, 0))
        return row

    def rooms(
        self,
        names: Sequence[str],
        facts: Sequence[NodeFacts],
        starts: NDArray[np.intp],
        columns: Mapping[str, int],
        width: int,
    ) -> NDArray[np.int64]:
        """int64 [leaf, width]: `room` of many leaves at once; the nodes of a leaf, and their facts, stand together."""
        held = np.zeros((max(len(self._capacities), 1), width), np.int64)
        for row, amounts in enumerate(self._capacities):
            for resource, amount in amounts.items():
                if resource in columns:
                    held[row, columns[resource]] = amount
        kinds = np.fromiter([each.capacity for each in facts], np.intp, len(facts))
        leaves, takes, amounts_taken = self._uses(names, starts, columns)
        # Sums that could leave int64 are made one by one.
        largest = max(int(held.max(initial=0)), -int(held.min(initial=0)))
        taken = sum(map(abs, amounts_taken))
        if largest * max(len(names), 1) + taken >= 2**62:
            ends = [*starts.tolist()[1:], len(names)]
            return np.array(
                [
                    self.room(names[start:end], columns, width)
                    for start, end in zip(starts.tolist(), ends, strict=True)
                ],
                np.int64,
            ).reshape(len(starts), width)
        rows = held[kinds]
        if len(starts) < len(names):
            rows = np.add.reduceat(rows, starts, axis=0)
        if leaves:
            np.subtract.at(rows, (leaves, takes), amounts_taken)
        return rows

    def _uses(
        self, names: Sequence[str], starts: NDArray[np.intp], columns: Mapping[str, int]
    ) -> tuple[list[int], list[int], list[int]]:
        """Leaf, column and amount of each use by pods of others."""
        leaves: list[int] = []
        takes: list[int] = []
        amounts: list[int] = []
        if self._used:
            leaf_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(names))).tolist()
            for leaf, name in zip(leaf_of, names, strict=True):
                for resource, amount in self._used.get(name, _NOTHING).items():
                    column = columns.get(resource)
                    if column is not None:
                        leaves.append(leaf)
                        takes.append(column)
                        amounts.append(amount)
        return leaves, takes, amounts

    def _arrive(self, name: str, facts: NodeFacts | None) -> bool:
        before = self._arrived.get(name, self.facts.get(name))
        if facts == self.facts.get(name):
            self._arrived.pop(name, None)
        else:
            self._arrived[name] = facts
        return facts != before

    def _taint_list(self, taints: Sequence[Taint]) -> int:
        blocking = blocking_taints(taints)
        key = tuple((taint.key, taint.value or "", taint.effect) for taint in blocking)
        number = self._taints.get(key)
        if number is None:
            number = self._taints[key] = len(self.taint_lists)
            self.taint_lists.append(blocking)
        return number

    def _capacity(self, name: str, allocatable: Mapping[str, str | int | float] | None) -> int:
        key = tuple(allocatable.items()) if allocatable else ()
        number = self._capacity_of_text.get(key)
        if number is None:
            try:
                amounts = capacity(allocatable)
            except InputError as error:
                raise error.located(object=f"Node {name}") from None
            # The same amounts in other units are the same capacity.
            number = self._capacity_of_amounts.setdefault(frozenset(amounts.items()), len(self._capacities))
            if number == len(self._capacities):
                self._capacities.append(amounts)
                self.offered.update(amounts)
            self._capacity_of_text[key] = number
        return number

    def _amounts(self, pod: Pod) -> dict[str, int]:
        spec = pod.spec
        key = _encode((spec.containers, spec.init_containers, spec.resources, spec.overhead))
        amounts = self._pod_amounts.get(key)
        if amounts is None:
            try:
                amounts = occupied(
                    PodSpec(
                        containers=spec.containers,
                        init_containers=spec.init_containers,
                        resources=spec.resources,
                        overhead=spec.overhead,
                    )
                )
            except InputError as error:
                error.field = f"$.spec.{error.field}"
                raise error.located(object=f"Pod {pod.metadata.namespace}/{pod.metadata.name}") from None
            self._pod_amounts[key] = amounts
            self.offered.update(amounts)
        return amounts

    def _set_use(self, key: tuple[str, str], use: tuple[str, dict[str, int]] | None) -> str | None:
        old = self._pods.get(key)
        if old == use:
            return None
        if old is not None:
            del self._pods[key]
            self._change_use(*old, sign=-1)
        if use is not None:
            self._pods[key] = use
            self._change_use(*use, sign=1)
        if old is None:
            return None
        node, before = old
        # A resource that is not asked for any more frees nothing in upstream's eyes.
        less = (
            use is None
            or use[0] != node
            or any(before.get(name, 0) > amount for name, amount in use[1].items())
        )
        return node if less else None

    def _change_use(self, node: str, amounts: Mapping[str, int], sign: int) -> None:
        used = self._used.setdefault(node, {})
        for resource, amount in amounts.items():
            left = used.get(resource, 0) + sign * amount
            if left:
                used[resource] = left
            else:
                used.pop(resource, None)
        if not used:
            del self._used[node]
        self._touched.add(node)


def _unreadable_label(node: str, labels: Mapping[str, str]) -> InputError:
    # These stand between the values of a domain, in its identity and where domains are sorted.
    key = next(key for key, value in labels.items() if "," in value or "\0" in value)
    return InputError(
        f"{labels[key]!r} has a comma or a null character",
        object=f"Node {node}",
        field=f"$.metadata.labels[{key}]",
        expected="the value of a label",
    )
