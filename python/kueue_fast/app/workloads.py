"""The Workload controller: keeps the list of admission checks, and admits once all of them are ready.

Source: LC-1501 steps 11 and 12.
"""

from __future__ import annotations

from collections.abc import Callable

from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.app.statuses import StatusWriter
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.lifecycle import checks
from kueue_fast.lifecycle.finish import is_finished
from kueue_fast.lifecycle.status import Reasons, sync_admitted, with_status, writable_status
from kueue_fast.model import conditions

__all__ = ["WorkloadController"]


class WorkloadController:
    """Brings each Workload a step further; what it writes comes back through the watch for the next."""

    def __init__(
        self, cluster: KubeCluster, statuses: StatusWriter, reasons: Reasons, now: Callable[[], int]
    ) -> None:
        self._cluster = cluster
        self._statuses = statuses
        self._reasons = reasons
        self._now = now

    def start(self) -> None:
        """Look at every Workload there is, and from now on at those that change."""
        self._cluster.watch(Workload.KIND, self._on_workload)
        self._cluster.watch(ClusterQueue.KIND, self._on_cluster_queue)
        for workload in list(self._cluster.list(Workload.KIND)):
            self._statuses.write(workload, self._step)

    def _on_workload(self, event: WatchEvent) -> None:
        if event.change is not Change.DELETED:
            self._statuses.write(event.object, self._step)

    def _on_cluster_queue(self, event: WatchEvent) -> None:
        """Its checks may be others now."""
        if event.change is not Change.MODIFIED or event.old is None or event.old.spec == event.object.spec:
            return
        for workload in list(self._cluster.list(Workload.KIND)):
            if self._cluster_queue_of(workload) is event.object:
                self._statuses.write(workload, self._step)

    def _step(self, workload: Workload) -> Workload | None:
        if is_finished(workload):
            return None
        known = workload.status.conditions if workload.status is not None else None
        queue = self._cluster_queue_of(workload)
        if queue is not None:
            synced = checks.synced_checks(workload, checks.required_checks(queue, workload), self._now())
            if synced is not None:
                return synced
        if conditions.is_true(known, conditions.ADMITTED):
            return None
        # Without a reservation there is nothing to bring in line, but for the gate that always wants a condition.
        if self._reasons.granular or conditions.is_true(known, conditions.QUOTA_RESERVED):
            changed = writable_status(workload)
            if sync_admitted(workload, changed, self._now(), self._reasons):
                return with_status(workload, changed)
        return None

    def _cluster_queue_of(self, workload: Workload) -> ClusterQueue | None:
        local: LocalQueue | None = self._cluster.get(
            LocalQueue.KIND, workload.metadata.namespace, workload.spec.queue_name or ""
        )
        if local is None or local.spec is None:
            return None
        found: ClusterQueue | None = self._cluster.get(
            ClusterQueue.KIND, None, local.spec.cluster_queue or ""
        )
        return found
