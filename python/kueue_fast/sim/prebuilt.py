"""Jobs of the embedded cluster that name a Workload made beforehand: they look again when it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import prebuilt_name

__all__ = ["Prebuilt"]

Key: TypeAlias = tuple[str, str, str]


class Prebuilt:
    """`again(key)` is called for a job whose Workload came after it."""

    def __init__(self, cluster: MemoryCluster, settings: JobSettings, again: Callable[[Key], None]) -> None:
        self._cluster = cluster
        self._settings = settings
        self._again = again
        # Namespace and name of Workloads that are not there, to the jobs that want them.
        self._wanted: dict[tuple[str, str], dict[Key, None]] = {}
        cluster.watch(Workload.KIND, self.on_workload)

    def on_workload(self, event: WatchEvent) -> None:
        """A Workload came: a job may have waited for it."""
        if event.change is Change.ADDED and self._wanted:
            metadata = event.object.metadata
            for key in self._wanted.pop((metadata.namespace or "", metadata.name), ()):
                self._again(key)

    def restart(self) -> None:
        """Jobs that still want a Workload are looked at, and say so again."""
        self._wanted.clear()

    def note(self, job: KubernetesObject) -> None:
        """Remember the job if the Workload that it names is not there."""
        name = prebuilt_name(job.metadata, self._settings)
        namespace = job.metadata.namespace or ""
        if name and self._cluster.get(Workload.KIND, namespace, name) is None:
            self._wanted.setdefault((namespace, name), {})[job.KIND, namespace, job.metadata.name] = None
