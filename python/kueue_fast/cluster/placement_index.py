"""Topology assignments of a cluster's Workloads, read once, and found by the nodes that they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.changes import Change, Listener, WatchEvent
from kueue_fast.errors import InputError
from kueue_fast.lifecycle import finish
from kueue_fast.model import placements
from kueue_fast.model.placements import Placements

__all__ = ["PlacementIndex"]

Text: TypeAlias = tuple[str, msgspec.Raw]
Key: TypeAlias = tuple[str, str]


class Watched(Protocol):
    """A cluster that tells of changes, embedded or live."""

    def watch(self, kind: str | None, listener: Listener) -> None:
        """Call `listener` for every later change of a kind."""

    def list(self, kind: str, namespace: str | None = None) -> Iterator[Any]:
        """Objects of a kind."""


class PlacementIndex:
    """Placements by Workload. What has none costs a look at its admission and no more.

    Must be registered before whoever asks it about a Workload that just changed. `unreadable` is told of a Workload
    whose assignment cannot be read, which then counts as having none; without it that is raised.
    """

    def __init__(
        self, cluster: Watched, unreadable: Callable[[Workload, InputError], None] | None = None
    ) -> None:
        self._cluster = cluster
        self._unreadable = unreadable
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
        self.read_all()
        self._listeners = listeners

    def read_all(self) -> None:
        """Read the assignments of all Workloads that are there already."""
        for workload in list(self._cluster.list(Workload.KIND)):
            self.on_workload(WatchEvent(Change.ADDED, workload, None))

    def on_workload(self, event: WatchEvent) -> None:
        """Read what is new, and forget what is gone. Raises InputError for what cannot be read, see above."""
        try:
            self._take(event.object, () if event.change is Change.DELETED else _texts(event.object))
        except InputError as error:
            if self._unreadable is None:
                raise
            self._take(event.object, ())
            self._unreadable(event.object, error)

    def _take(self, workload: Workload, texts: tuple[Text, ...]) -> None:
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
            workloads = self._by_node[name]
            del workloads[key]
            # Nodes come and go under ever new names.
            if not workloads:
                del self._by_node[name]
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
