"""What the job reconcilers read besides the job and its Workload, from the caches of a live cluster."""

from __future__ import annotations

from collections.abc import Mapping

from kueue_fast.api.core import Namespace, PriorityClass
from kueue_fast.api.kueue import ResourceFlavor, WorkloadPriorityClass
from kueue_fast.api.meta import LabelSelector
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model.selectors import selects

__all__ = ["LiveView"]


class LiveView:
    """`selector` says in which namespaces jobs are managed, by their labels; None: in all."""

    def __init__(self, cluster: KubeCluster, settings: JobSettings, selector: LabelSelector | None) -> None:
        self._cluster = cluster
        self._settings = settings
        self._selector = selector

    @property
    def settings(self) -> JobSettings:
        """Configuration and gates."""
        return self._settings

    @property
    def workload_classes(self) -> Mapping[str, WorkloadPriorityClass]:
        """WorkloadPriorityClasses by name."""
        return {each.metadata.name: each for each in self._cluster.list(WorkloadPriorityClass.KIND)}

    @property
    def pod_classes(self) -> Mapping[str, PriorityClass]:
        """PriorityClasses by name."""
        return {each.metadata.name: each for each in self._cluster.list(PriorityClass.KIND)}

    def flavor(self, name: str) -> ResourceFlavor | None:
        """A ResourceFlavor by name."""
        found: ResourceFlavor | None = self._cluster.get(ResourceFlavor.KIND, None, name)
        return found

    def manages(self, namespace: str) -> bool:
        """Whether jobs of this namespace are looked at."""
        if self._selector is None:
            return True
        found: Namespace | None = self._cluster.get(Namespace.KIND, None, namespace)
        return found is not None and selects(self._selector, found.metadata.labels)
