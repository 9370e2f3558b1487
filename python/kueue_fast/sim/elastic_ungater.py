"""The ungater of elastic jobs in the simulated cluster: lets as many gated pods go as the active slice was given.

Kueue waits a second for more pods of a chain before it looks. Here it looks at the end of the same instant: which pods
go does not depend on when, as long as all of them are there.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.lifecycle.elastic_gates import next_release
from kueue_fast.lifecycle.pods import has_gate, is_terminal, slice_name, slice_of_pod
from kueue_fast.model.elastic import ELASTIC_JOB, is_elastic
from kueue_fast.sim.clock import VirtualClock

__all__ = ["ElasticUngater"]

Chain: TypeAlias = tuple[str, str]


class ElasticUngater:
    """Keeps the pods of each chain of slices; `slices` is the gate ElasticJobsViaWorkloadSlices."""

    def __init__(self, cluster: MemoryCluster, clock: VirtualClock, *, slices: bool) -> None:
        self._cluster = cluster
        self._clock = clock
        self._slices = slices
        self._pods: dict[Chain, dict[str, Pod]] = {}
        # The uid of the job that owns the slices of a chain: not always the one that owns its pods (JS-511).
        self._jobs: dict[Chain, str] = {}
        # The uid of the job that owns the pods of a chain, by chains that have gated pods.
        self._gated: dict[Chain, str] = {}
        self._due: set[Chain] = set()
        if slices:
            cluster.watch(Workload.KIND, self.on_workload)
            cluster.watch(Pod.KIND, self.on_pod)

    def restart(self) -> None:
        """Slices and pods are gathered again, and chains with gated pods looked at."""
        for table in (self._pods, self._jobs, self._gated, self._due):
            table.clear()
        if self._slices:
            self._cluster.relist(Workload.KIND, self.on_workload)
            self._cluster.relist(Pod.KIND, self.on_pod)

    def on_workload(self, event: WatchEvent) -> None:
        """A slice was admitted, or has another size, or ended."""
        workload: Workload = event.object
        if not is_elastic(workload.metadata.annotations, slices=self._slices):
            return
        chain = workload.metadata.namespace or "", slice_name(workload)
        owner = controller_of(workload.metadata)
        if owner is not None:
            self._jobs[chain] = owner.uid
        self._look(chain)

    def on_pod(self, event: WatchEvent) -> None:
        """Keep the pod, or forget it: then another one may go."""
        pod: Pod = event.object
        name = slice_of_pod(pod)
        owner = controller_of(pod.metadata)
        if name is None or owner is None:
            return
        chain = pod.metadata.namespace or "", name
        pods = self._pods.setdefault(chain, {})
        if event.change is Change.DELETED or is_terminal(pod):
            pods.pop(pod.metadata.name, None)
            if not pods:
                del self._pods[chain]
                self._gated.pop(chain, None)
        else:
            pods[pod.metadata.name] = pod
            if has_gate(pod, ELASTIC_JOB):
                self._gated[chain] = owner.uid
        self._look(chain)

    def _look(self, chain: Chain) -> None:
        if chain in self._gated and chain not in self._due:
            self._due.add(chain)
            self._clock.schedule(self._clock.now, self._run, chain)

    def _run(self, chain: Any) -> None:
        self._due.discard(chain)
        pods = self._pods.get(chain, {})
        uid = self._jobs.get(chain) or self._gated.get(chain, "")
        owned = self._cluster.dependents(uid, Workload.KIND)
        for pod in next_release(chain[1], owned, pods.values(), slices=self._slices):
            self._cluster.update(pod)
        if not any(has_gate(pod, ELASTIC_JOB) for pod in self._pods.get(chain, {}).values()):
            self._gated.pop(chain, None)
