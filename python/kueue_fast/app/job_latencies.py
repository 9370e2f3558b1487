"""How long jobs wait for their Workloads, and pods of admitted Workloads for their gates to go, as watches show it.

Source: OP-569, OP-570.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.app.metrics import Metrics
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.pod_facts import group_name
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle.finish import is_finished
from kueue_fast.lifecycle.pods import has_gate, workload_of_pod
from kueue_fast.lifecycle.ungating import gate_seconds
from kueue_fast.model import times
from kueue_fast.model.topology_names import TOPOLOGY_GATE

__all__ = ["JobLatencies"]

GATES: Final = (TOPOLOGY_GATE, pod_names.ADMISSION_GATE, names.ELASTIC_JOB_GATE)


class JobLatencies:
    """Tells `metrics`. `now` gives ns since 1970; `creations` is the gate MetricForWorkloadCreationLatency."""

    def __init__(
        self,
        cluster: KubeCluster,
        metrics: Metrics,
        now: Callable[[], int],
        settings: JobSettings,
        *,
        creations: bool,
    ) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._now = now
        self._settings = settings
        self._creations = creations

    def start(self) -> None:
        """What happens from now on counts."""
        self._cluster.watch(Workload.KIND, self._on_workload)
        self._cluster.watch(Pod.KIND, self._on_pod)

    def _on_workload(self, event: WatchEvent) -> None:
        workload: Workload = event.object
        owners = workload.metadata.owner_references
        if event.change is not Change.ADDED or not self._creations or not owners:
            return
        job: Any = self._cluster.by_uid(owners[0].uid)
        made, created = workload.metadata.creation_timestamp, job.metadata.creation_timestamp if job else None
        # Of one that was changed meanwhile, nobody knows which change its Workload waited for.
        if made and created and (job.metadata.generation or 0) <= 1:
            self._metrics.created(owners[0].kind, (times.parse(made) - times.parse(created)) / times.SECOND)

    def _on_pod(self, event: WatchEvent) -> None:
        if event.old is None or not event.old.spec.scheduling_gates:
            return
        pod: Pod = event.object
        gone = [gate for gate in GATES if has_gate(event.old, gate) and not has_gate(pod, gate)]
        workload = self._workload(pod) if gone else None
        if workload is None or is_finished(workload):
            return
        seconds = gate_seconds(workload, self._now())
        status = workload.status
        if seconds is None or status is None or status.admission is None:
            return
        for gate in gone:
            is_group = bool(group_name(pod.metadata, self._settings))
            self._metrics.gate_removed(gate, status.admission.cluster_queue, is_group, seconds)

    def _workload(self, pod: Pod) -> Workload | None:
        name = workload_of_pod(pod) or group_name(pod.metadata, self._settings)
        if name:
            named: Workload | None = self._cluster.get(Workload.KIND, pod.metadata.namespace, name)
            return named
        return next(self._cluster.dependents(pod.metadata.uid or "", Workload.KIND), None)
