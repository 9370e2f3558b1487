"""Jobs of the embedded cluster that name a Workload made beforehand: they come to own it, whenever it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.one_workload import adopt
from kueue_fast.jobs.reconciler import View
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.kind_actions import Actions
from kueue_fast.sim.kind_ancestors import own_workloads

__all__ = ["Prebuilt"]

Key: TypeAlias = tuple[str, str, str]


class Prebuilt:
    """Finds the Workload of a job. `again(key)` is called for a job whose Workload came after it."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        view: View,
        actions: Actions,
        again: Callable[[Key], None],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._view = view
        self._actions = actions
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

    def find(self, job: Any, integration: Integration[Any]) -> tuple[Workload | None, bool]:
        """The job's Workload, None without one, and whether something was written first: then the job comes back."""
        name = prebuilt_name(job.metadata, self._view.settings)
        if not name:
            return next(iter(own_workloads(self._cluster, job.metadata)), None), False
        namespace = job.metadata.namespace or ""
        named: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
        if named is None:
            self._wanted.setdefault((namespace, name), {})[job.KIND, namespace, job.metadata.name] = None
        found = adopt(job, integration, named, self._view, self._clock.now)
        if found.actions:
            return None, self._actions.carry_out(found.actions)
        return found.workload, False
