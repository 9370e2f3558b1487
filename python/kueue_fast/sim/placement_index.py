"""Topology assignments of the simulated cluster's Workloads, read once, and found by the nodes that they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.lifecycle import finish
from kueue_fast.model import placements
from kueue_fast.model.placements import Placements

__all__ = ["PlacementIndex"]

Text: TypeAlias = tuple[str, msgspec.Raw]
Key: TypeAlias = tuple[str, str]


class PlacementIndex:
    """Placements by Workload. What has none costs a look at its admission and no more.

    Must be registered before whoever asks it about a Workload that just changed.
    """

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._known: dict[Key, tuple[tuple[Text, ...], Placements]] = {}
        self._nodes: dict[Key, set[str]] = {}
        self._by_node: dict[str, dict[Key, None]] = {}
        self._listeners: list[Callable[[Workload, Placements | None], None]] = []
        cluster.watch(Workload.KIND, self.on_workload)

    def follow(self, listener: Callable[[Workload, Placements | None], None]) -> None:
        """Call `listener` when a Workload gets other placements, or leaves them (None)."""
        self._listeners.append(listener)

    def of(self, workload: Workload) -> Placements:
        """Placements of a Workload, by the name of the pod set."""
        texts = _texts(workload)
        if not texts:
            return {}
        known = self._known.get(_key(workload))
        return known[1] if known is not None and _same(known[0], texts) else placements.placements(workload)

    def on_node(self, name: str) -> Iterator[Key]:
        """Namespace and name of the running Workloads that have pods on a node."""
        return iter(self._by_node.get(name, ()))

    def restart(self) -> None:
        """Read all assignments again; who follows has them already."""
        self._known.clear()
        self._nodes.clear()
        self._by_node.clear()
        listeners, self._listeners = self._listeners, []
        self._cluster.relist(Workload.KIND, self.on_workload)
        self._listeners = listeners

    def on_workload(self, event: WatchEvent) -> None:
        """Read what is new, and forget what is gone. Raises InputError for an assignment that cannot be read."""
        workload: Workload = event.object
        texts = () if event.change is Change.DELETED else _texts(workload)
        if texts and finish.is_finished(workload):
            texts = ()  # It keeps its assignment, and nobody is there.
        if not texts and not self._known:
            return
        key = _key(workload)
        known = self._known.get(key)
        if texts:
            if known is None or not _same(known[0], texts):
                known = self._known[key] = texts, placements.placements(workload)
                self._tell(workload, known[1])
            self._index(key, placements.nodes(workload, known[1]))
        elif known is not None:
            del self._known[key]
            self._index(key, set())
            self._tell(workload, None)

    def _tell(self, workload: Workload, placed: Placements | None) -> None:
        for listener in self._listeners:
            listener(workload, placed)

    def _index(self, key: Key, nodes: set[str]) -> None:
        before = self._nodes.get(key, set())
        if nodes == before:
            return
        for name in before - nodes:
            del self._by_node[name][key]
        for name in nodes - before:
            self._by_node.setdefault(name, {})[key] = None
        if nodes:
            self._nodes[key] = nodes
        else:
            del self._nodes[key]


def _key(workload: Workload) -> Key:
    return workload.metadata.namespace or "", workload.metadata.name


def _texts(workload: Workload) -> tuple[Text, ...]:
    status = workload.status
    if status is None or status.admission is None:
        return ()
    return tuple(
        (each.name, each.topology_assignment)
        for each in status.admission.pod_set_assignments or ()
        if each.topology_assignment
    )


def _same(one: tuple[Text, ...], other: tuple[Text, ...]) -> bool:
    """Whether texts are equal; as a rule they are the very same."""
    return len(one) == len(other) and all(
        mine == theirs and (text is its or bytes(text) == bytes(its))
        for (mine, text), (theirs, its) in zip(one, other, strict=True)
    )
