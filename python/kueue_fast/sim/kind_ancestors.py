"""Managed jobs above an object of the simulated cluster: what has one gets no Workload of its own. Source: JS-041."""

from __future__ import annotations

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import ObjectMeta, OwnerReference
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.jobs.ancestors import AncestorError, managed_ancestor
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.settings import JobSettings

__all__ = ["Ancestors", "owner_lives", "workloads_of"]


class Ancestors:
    """Finds the topmost managed job above an object."""

    def __init__(self, cluster: MemoryCluster, registry: Registry, settings: JobSettings) -> None:
        self._cluster = cluster
        self._registry = registry
        self._settings = settings

    def of(self, metadata: ObjectMeta) -> ObjectMeta | None:
        """Metadata of that job, None if there is none.

        None too where the way up leads to an object that is not there: manifests of a live cluster may leave it out.
        """
        if not metadata.owner_references:
            return None
        try:
            found = managed_ancestor(metadata, self._registry, self._settings, self._read)
        except AncestorError:
            return None
        return None if found is None else found[1]

    def has_one(self, metadata: ObjectMeta) -> bool:
        """Whether there is one."""
        return self.of(metadata) is not None

    def _read(self, owner: OwnerReference, namespace: str) -> ObjectMeta | None:
        found = self._cluster.get(owner.kind, namespace, owner.name)
        if found is None:
            return None
        metadata: ObjectMeta = found.metadata
        return metadata


def workloads_of(cluster: MemoryCluster, metadata: ObjectMeta) -> list[Workload]:
    """Workloads that name the object as an owner, in the order in which they came to."""
    return [each for each in cluster.dependents(metadata.uid or "") if each.KIND == Workload.KIND]


def owner_lives(cluster: MemoryCluster, metadata: ObjectMeta) -> bool:
    """Whether an owner of the object is in the cluster."""
    return any(cluster.by_uid(owner.uid) is not None for owner in metadata.owner_references or ())
