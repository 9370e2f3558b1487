"""Managed jobs above an object of the simulated cluster: what has one gets no Workload of its own. Source: JS-041."""

from __future__ import annotations

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import ObjectMeta
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.jobs import ancestors
from kueue_fast.jobs.ancestors import AncestorError

__all__ = ["Ancestors", "owner_lives", "workloads_of"]


class Ancestors(ancestors.Ancestors):
    """Finds the topmost managed job above an object."""

    def of(self, metadata: ObjectMeta) -> ObjectMeta | None:
        """Metadata of that job, None if there is none.

        None too where the way up leads to an object that is not there: manifests of a live cluster may leave it out.
        """
        try:
            return super().of(metadata)
        except AncestorError:
            return None

    def has_one(self, metadata: ObjectMeta) -> bool:
        """Whether there is one."""
        return self.of(metadata) is not None


def workloads_of(cluster: MemoryCluster, metadata: ObjectMeta) -> list[Workload]:
    """Workloads that name the object as an owner, in the order in which they came to."""
    return list(cluster.dependents(metadata.uid or "", Workload.KIND))


def owner_lives(cluster: MemoryCluster, metadata: ObjectMeta) -> bool:
    """Whether an owner of the object is in the cluster."""
    return any(cluster.by_uid(owner.uid) is not None for owner in metadata.owner_references or ())
