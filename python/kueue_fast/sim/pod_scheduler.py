"""A small kube-scheduler: binds pods that nothing holds back to the first node, by name, that takes them.

A node takes a pod if it is ready and schedulable, its taints are tolerated, node selector and required node affinity
agree, and it has room. What finds no node waits until a node or a pod changes. Nothing is preempted here.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kueue_fast.api.core import Node, Pod, PodSpec, PodStatus
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.model import topology_nodes
from kueue_fast.model.node_filter import NO_UPDATES, node_filter
from kueue_fast.model.other_pods import occupied
from kueue_fast.sim.clock import VirtualClock

__all__ = ["PodScheduler"]

Key: TypeAlias = tuple[str, str]
Amounts: TypeAlias = Mapping[str, int]
RUNNING: Final = "Running"


class _Room(NamedTuple):
    """A node, what it holds, and what is taken of it."""

    node: Node
    capacity: Amounts
    taken: Amounts
    usable: bool

    def holds(self, amounts: Amounts) -> bool:
        """Whether there is room; what is not asked for does not matter, be it overdrawn."""
        return all(
            amount <= 0 or amount <= self.capacity.get(name, 0) - self.taken.get(name, 0)
            for name, amount in amounts.items()
        )


class PodScheduler:
    """Keeps the room of the nodes, and binds pods at the end of the instant at which they may be bound."""

    def __init__(self, cluster: MemoryCluster, clock: VirtualClock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._rooms: dict[str, _Room] = {}
        # Names of the nodes by label key and value, sorted; keys come in when a pod selects by them.
        self._by_label: dict[str, dict[str, list[str]]] = {}
        self._bound: dict[Key, tuple[str, Amounts]] = {}
        # By node, be it there or not.
        self._taken: dict[str, dict[str, int]] = {}
        self._waiting: dict[Key, Pod] = {}
        self._amounts: dict[tuple[int, ...], tuple[PodSpec, Amounts]] = {}
        self._scheduled = False
        cluster.watch(Node.KIND, self.on_node)
        cluster.watch(Pod.KIND, self.on_pod)

    def on_node(self, event: WatchEvent) -> None:
        """A node came, changed, or is gone."""
        node: Node = event.object
        name = node.metadata.name
        before = self._rooms.pop(name, None)
        gone = event.change is Change.DELETED
        if before is None or gone or before.node.metadata.labels != node.metadata.labels:
            self._by_label.clear()
        if not gone:
            capacity = topology_nodes.capacity(node.status.allocatable if node.status is not None else None)
            taken = self._taken.setdefault(name, {})
            self._rooms[name] = _Room(node, capacity, taken, topology_nodes.is_usable(node))
            self._wake()

    def on_pod(self, event: WatchEvent) -> None:
        """A pod may be bound now, was bound, or makes room."""
        pod: Pod = event.object
        key = pod.metadata.namespace or "", pod.metadata.name
        if event.change is Change.DELETED or is_terminal(pod):
            self._waiting.pop(key, None)
            self._release(key)
        elif pod.spec.node_name:
            self._waiting.pop(key, None)
            self._book(key, pod)
        elif pod.status is not None and pod.status.phase == RUNNING:
            self._waiting.pop(key, None)  # It runs on no node: nothing here says where.
        elif not pod.spec.scheduling_gates:
            self._waiting[key] = pod
            self._wake()

    def _book(self, key: Key, pod: Pod) -> None:
        if key in self._bound:
            return
        name = pod.spec.node_name or ""
        amounts = self._requests(pod.spec)
        self._bound[key] = name, amounts
        self._take(name, amounts, 1)

    def _release(self, key: Key) -> None:
        bound = self._bound.pop(key, None)
        if bound is not None:
            self._take(*bound, -1)
            self._wake()

    def _take(self, node: str, amounts: Amounts, sign: int) -> None:
        taken = self._taken.setdefault(node, {})
        for name, amount in amounts.items():
            taken[name] = taken.get(name, 0) + sign * amount

    def _wake(self) -> None:
        if self._waiting and self._rooms and not self._scheduled:
            self._scheduled = True
            self._clock.schedule(self._clock.now, self._run)

    def _run(self, _: Any) -> None:
        self._scheduled = False
        for key, pod in list(self._waiting.items()):
            node = self._node_for(pod)
            if node is None:
                continue
            # Booked at once: its event comes when others have been looked at.
            del self._waiting[key]
            spec = msgspec.structs.replace(pod.spec, node_name=node)
            bound = msgspec.structs.replace(pod, spec=spec)
            self._book(key, bound)
            stored = self._cluster.update(bound)
            status = msgspec.structs.replace(stored.status or PodStatus(), phase=RUNNING)
            current: Pod | None = self._cluster.get(Pod.KIND, *key)
            if current is not None:
                self._cluster.update_status(msgspec.structs.replace(current, status=status))

    def _node_for(self, pod: Pod) -> str | None:
        amounts = self._requests(pod.spec)
        demands = node_filter(pod.spec, None, NO_UPDATES, by_host=True)
        for name in self._candidates(demands.node_selector):
            room = self._rooms[name]
            if not room.usable or not room.holds(amounts):
                continue
            node = room.node
            taints = node.spec.taints if node.spec is not None else None
            if demands.exclusion(taints or (), node.metadata.labels or {}, name) is None:
                return name
        return None

    def _candidates(self, selector: Mapping[str, str]) -> Iterable[str]:
        """Nodes in the order of names: those of the rarest label that is selected, all without a selector."""
        found: list[str] | None = None
        for key, value in selector.items():
            names = self._labelled(key).get(value, [])
            if found is None or len(names) < len(found):
                found = names
        return sorted(self._rooms) if found is None else found

    def _labelled(self, key: str) -> dict[str, list[str]]:
        known = self._by_label.get(key)
        if known is None:
            known = self._by_label[key] = {}
            for name, room in self._rooms.items():
                value = (room.node.metadata.labels or {}).get(key)
                if value is not None:
                    insort(known.setdefault(value, []), name)
        return known

    def _requests(self, spec: PodSpec) -> Amounts:
        """What a pod takes. Pods of one template share the parts that say it, though not the spec."""
        key = tuple(map(id, (spec.containers, spec.init_containers, spec.resources, spec.overhead)))
        known = self._amounts.get(key)
        if known is None:
            # The spec is kept, so that nothing else gets the identity of its parts.
            known = self._amounts[key] = spec, occupied(spec)
        return known[1]
