"""Runs the Workload controller on the cluster: writes what its function says, and comes back when it says.

Source: LC-1404, LC-1501.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from kueue_fast.api.kueue import (
    AdmissionCheck,
    ClusterQueue,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kueue_fast.app.events import WORKLOADS, Events
from kueue_fast.app.looks import Looks
from kueue_fast.cluster.changes import Change, Key, WatchEvent, describe, key_of
from kueue_fast.cluster.kube import patches, workload_status
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Write, Writer
from kueue_fast.engine.activity import activity, flavors_of, missing_topologies, rules_of
from kueue_fast.errors import InputError
from kueue_fast.lifecycle import workload_controller
from kueue_fast.lifecycle.queue_stops import concerns_workloads
from kueue_fast.lifecycle.settings import LifecycleSettings
from kueue_fast.lifecycle.steps import DeleteWorkload, Step, UpdateWorkload, UpdateWorkloadStatus

__all__ = ["WorkloadController"]

log = logging.getLogger("workload")


class WorkloadController:
    """Brings each Workload a step further; what it writes comes back through the watch for the next."""

    def __init__(
        self,
        cluster: KubeCluster,
        writer: Writer,
        recorder: Events,
        settings: LifecycleSettings,
        now: Callable[[], int],
        *,
        topology_aware: bool = True,
    ) -> None:
        self.lifecycle = settings
        self._cluster = cluster
        self._writer = writer
        self._events = recorder
        self._now = now
        self._topology_aware = topology_aware
        self._looks = Looks(self._look, now)

    def start(self) -> None:
        """Look at every Workload there is, and from now on at those that change and those of changed queues."""
        self._cluster.watch(Workload.KIND, self._on_workload)
        self._cluster.watch(ClusterQueue.KIND, self._on_cluster_queue)
        self._cluster.watch(LocalQueue.KIND, self._on_local_queue)
        for workload in list(self._cluster.list(Workload.KIND)):
            self._looks.ask(key_of(workload))

    def stop(self) -> None:
        """Take no more steps."""
        self._looks.stop()

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None:
        """A LocalQueue of the cluster."""
        found: LocalQueue | None = self._cluster.get(LocalQueue.KIND, namespace, name)
        return found

    def cluster_queue(self, name: str) -> ClusterQueue | None:
        """A ClusterQueue of the cluster."""
        found: ClusterQueue | None = self._cluster.get(ClusterQueue.KIND, None, name)
        return found

    def is_active(self, cluster_queue: str) -> bool:
        """Whether a ClusterQueue admits, as the engine judges it, which may hear of changes later than we do."""
        queue = self.cluster_queue(cluster_queue)
        if queue is None or queue.spec is None or queue.metadata.deletion_timestamp:
            return False
        get = self._cluster.get
        flavors: dict[str, ResourceFlavor] = {}
        for name in flavors_of(queue.spec):
            if (flavor := get(ResourceFlavor.KIND, None, name)) is not None:
                flavors[name] = flavor
        checks: dict[str, AdmissionCheck] = {}
        for rule in rules_of(queue.spec):
            if (check := get(AdmissionCheck.KIND, None, rule.name)) is not None:
                checks[rule.name] = check
        missing: dict[str, str] = {}
        if self._topology_aware:
            missing = missing_topologies(
                queue.spec, flavors, lambda _, topology: get(Topology.KIND, None, topology) is not None
            )
        return activity(queue.spec, flavors, checks, missing).active

    def _on_workload(self, event: WatchEvent) -> None:
        key = key_of(event.object)
        if event.change is Change.DELETED:
            self._looks.forget(key)
        else:
            self._looks.ask(key)

    def _on_cluster_queue(self, event: WatchEvent) -> None:
        queue: ClusterQueue = event.object
        if concerns_workloads(event.old, queue if event.change is Change.MODIFIED else None):
            self._look_at_those_of(queue.metadata.name)

    def _on_local_queue(self, event: WatchEvent) -> None:
        queue: LocalQueue = event.object
        if concerns_workloads(event.old, queue if event.change is Change.MODIFIED else None):
            self._look_at({(queue.metadata.namespace or "", queue.metadata.name)})

    def _look_at_those_of(self, cluster_queue: str) -> None:
        self._look_at(
            {
                (each.metadata.namespace or "", each.metadata.name)
                for each in self._cluster.list(LocalQueue.KIND)
                if each.spec is not None and each.spec.cluster_queue == cluster_queue
            }
        )

    def _look_at(self, queues: set[tuple[str, str]]) -> None:
        """Those of LocalQueues, by their namespaces and names."""
        for workload in list(self._cluster.list(Workload.KIND)):
            if (workload.metadata.namespace or "", workload.spec.queue_name or "") in queues:
                self._looks.ask(key_of(workload))

    def _look(self, key: Key) -> None:
        workload: Workload | None = self._cluster.get(*key)
        if workload is None:
            return
        try:
            step = workload_controller.reconcile(workload, self, self._now(), random.random())
        except InputError as error:
            # Only another object makes this another answer.
            log.warning("%s: %s", describe(key), error)
            return
        if step.again_ns is not None:
            self._looks.at(key, step.again_ns)
        writes = [write for each in step.writes if (write := _write(workload, each)) is not None]
        if writes:
            self._looks.write(key, self._writer, writes, lambda: self._tell(step))

    def _tell(self, step: Step) -> None:
        for event in step.events:
            self._events.record(WORKLOADS, event)


def _write(workload: Workload, asked: UpdateWorkload | UpdateWorkloadStatus | DeleteWorkload) -> Write | None:
    match asked:
        case UpdateWorkloadStatus(changed, whole):
            return patches.update_status(workload, changed) if whole else workload_status.admission(changed)
        case UpdateWorkload(changed):
            return patches.update(workload, changed)
        case DeleteWorkload(gone):
            return patches.delete(gone)
