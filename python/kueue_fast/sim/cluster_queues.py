"""ClusterQueues that are deleted while workloads hold their quota: they admit nothing more, and go with the last.

Source: LC-1403, LC-1605, LC-1701, LC-1702.
"""

from __future__ import annotations

import msgspec

from kueue_fast.api.kueue import ClusterQueue, ClusterQueueSpec, Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs.names import RESOURCE_IN_USE_FINALIZER
from kueue_fast.lifecycle import admission
from kueue_fast.lifecycle.status import Reasons, with_status, writable_status
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.result import State

__all__ = ["ClusterQueueController", "as_scheduled", "with_finalizer"]


def with_finalizer(queue: ClusterQueue) -> ClusterQueue:
    """The ClusterQueue as the webhook lets it in: it stays until nobody uses it."""
    finalizers = queue.metadata.finalizers or []
    if RESOURCE_IN_USE_FINALIZER in finalizers:
        return queue
    metadata = msgspec.structs.replace(queue.metadata, finalizers=[*finalizers, RESOURCE_IN_USE_FINALIZER])
    return msgspec.structs.replace(queue, metadata=metadata)


def as_scheduled(queue: ClusterQueue) -> ClusterQueue:
    """What the engine is to see: a ClusterQueue that is being deleted admits no more than one that is held."""
    if not queue.metadata.deletion_timestamp:
        return queue
    spec = msgspec.structs.replace(queue.spec or ClusterQueueSpec(), stop_policy="Hold")
    return msgspec.structs.replace(queue, spec=spec)


class ClusterQueueController:
    """Lets ClusterQueues go. Hears of Workloads after the recorder does: what that holds decides."""

    def __init__(
        self, cluster: MemoryCluster, clock: VirtualClock, recorder: Recorder, reasons: Reasons
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._recorder = recorder
        self._reasons = reasons
        self._terminating: dict[str, None] = {}
        cluster.watch(ClusterQueue.KIND, self.on_cluster_queue)
        cluster.watch(Workload.KIND, self.on_workload)

    def on_cluster_queue(self, event: WatchEvent) -> None:
        """One that is being deleted takes back what is reserved, and goes once nothing is admitted."""
        queue: ClusterQueue = event.object
        name = queue.metadata.name
        if event.change is Change.DELETED:
            self._terminating.pop(name, None)
        elif queue.metadata.deletion_timestamp and name not in self._terminating:
            self._terminating[name] = None
            for key in self._holders(name):
                if self._recorder.rows[key].state is State.RESERVED:
                    self._take_back(key, name)
            self._let_go(name)

    def on_workload(self, event: WatchEvent) -> None:
        """A Workload changed: it may have been the last one."""
        del event
        for name in list(self._terminating):
            self._let_go(name)

    def _holders(self, name: str) -> list[str]:
        rows = self._recorder.rows
        return [key for key in self._recorder.holding if rows[key].cluster_queue == name]

    def _let_go(self, name: str) -> None:
        queue: ClusterQueue | None = self._cluster.get(ClusterQueue.KIND, None, name)
        if queue is None or not queue.metadata.deletion_timestamp or self._holders(name):
            return
        finalizers = [each for each in queue.metadata.finalizers or () if each != RESOURCE_IN_USE_FINALIZER]
        metadata = msgspec.structs.replace(queue.metadata, finalizers=finalizers or None)
        self._cluster.update(msgspec.structs.replace(queue, metadata=metadata))

    def _take_back(self, key: str, name: str) -> None:
        """What is reserved and not admitted waits again."""
        namespace, _, workload_name = key.partition("/")
        workload: Workload | None = self._cluster.get(Workload.KIND, namespace, workload_name)
        if workload is None:
            return
        status = writable_status(workload)
        reason = self._reasons.pick("Misconfigured", "Inadmissible")
        message = f"ClusterQueue {name} is terminating or missing"
        admission.unset_reservation(workload, status, reason, message, self._clock.now, self._reasons)
        self._cluster.update_status(with_status(workload, status))
