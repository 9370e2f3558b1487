"""Keeps what is used from going: the finalizer of ClusterQueues, ResourceFlavors, AdmissionChecks and Topologies.

Each is asked again when something that may use it has changed or gone.

Source: LC-1605, LC-1701.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kueue_fast.api.kueue import AdmissionCheck, ClusterQueue, ResourceFlavor, Topology, Workload
from kueue_fast.app.looks import Looks
from kueue_fast.cluster.changes import Change, Key, WatchEvent, key_of
from kueue_fast.cluster.kube import patches
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.engine.activity import flavors_of, rules_of
from kueue_fast.lifecycle.admission import holds_quota
from kueue_fast.lifecycle.finish import is_finished
from kueue_fast.lifecycle.retention import kept_while_used

__all__ = ["FinalizerController"]

# What is kept, and who uses it.
USERS: Final = {
    ClusterQueue.KIND: Workload.KIND,
    ResourceFlavor.KIND: ClusterQueue.KIND,
    AdmissionCheck.KIND: ClusterQueue.KIND,
    Topology.KIND: ResourceFlavor.KIND,
}


class FinalizerController:
    """Adds the finalizer, and takes it from what is being deleted once nobody uses it."""

    def __init__(self, cluster: KubeCluster, writer: Writer, now: Callable[[], int]) -> None:
        self._cluster = cluster
        self._writer = writer
        self._looks = Looks(self._look, now)
        self._terminating: set[Key] = set()

    def start(self) -> None:
        """Look at all that there is, and from now on at what changes."""
        for kind in USERS:
            self._cluster.watch(kind, self._on_kept)
        for kind in set(USERS.values()):
            self._cluster.watch(kind, self._on_user)
        for kind in USERS:
            for obj in list(self._cluster.list(kind)):
                self._notice(obj)

    def stop(self) -> None:
        """Take no more steps."""
        self._looks.stop()

    def _on_kept(self, event: WatchEvent) -> None:
        if event.change is Change.DELETED:
            key = key_of(event.object)
            self._terminating.discard(key)
            self._looks.forget(key)
        else:
            self._notice(event.object)

    def _on_user(self, event: WatchEvent) -> None:
        kind = event.object.KIND
        for key in [key for key in self._terminating if USERS[key[0]] == kind]:
            self._looks.ask(key)

    def _notice(self, obj: Any) -> None:
        key = key_of(obj)
        if obj.metadata.deletion_timestamp:
            self._terminating.add(key)
        self._looks.ask(key)

    def _look(self, key: Key) -> None:
        obj = self._cluster.get(*key)
        if obj is None:
            return
        in_use = bool(obj.metadata.deletion_timestamp) and self._in_use(obj)
        changed = kept_while_used(obj, in_use=in_use)
        if changed is not None:
            write = patches.replace_finalizers(obj, changed.metadata.finalizers or ())
            self._looks.write(key, self._writer, [write])

    def _in_use(self, obj: Any) -> bool:
        name = obj.metadata.name
        match obj:
            case ClusterQueue():
                return any(
                    holds_quota(each, name) and not is_finished(each)
                    for each in self._cluster.list(Workload.KIND)
                )
            case Topology():
                return any(
                    each.spec is not None and each.spec.topology_name == name
                    for each in self._cluster.list(ResourceFlavor.KIND)
                )
            case ResourceFlavor():
                named = flavors_of
            case _:
                named = _checks_of
        return any(
            each.spec is not None and name in named(each.spec)
            for each in self._cluster.list(ClusterQueue.KIND)
        )


def _checks_of(spec: Any) -> list[str]:
    return [rule.name for rule in rules_of(spec)]
