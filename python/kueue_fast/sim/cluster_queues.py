"""ClusterQueues that are deleted while workloads hold their quota: they admit nothing more, and go with the last.

Source: LC-1605, LC-1701, LC-1702.
"""

from __future__ import annotations

import msgspec

from kueue_fast.api.kueue import ClusterQueue, ClusterQueueSpec, Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.lifecycle.retention import kept_while_used
from kueue_fast.sim.recorder import Recorder

__all__ = ["ClusterQueueController", "as_scheduled", "with_finalizer"]


def with_finalizer(queue: ClusterQueue) -> ClusterQueue:
    """The ClusterQueue as the webhook lets it in: it stays until nobody uses it."""
    return kept_while_used(queue, in_use=True) or queue


def as_scheduled(queue: ClusterQueue) -> ClusterQueue:
    """What the engine is to see: a ClusterQueue that is being deleted admits no more than one that is held."""
    if not queue.metadata.deletion_timestamp:
        return queue
    spec = msgspec.structs.replace(queue.spec or ClusterQueueSpec(), stop_policy="Hold")
    return msgspec.structs.replace(queue, spec=spec)


class ClusterQueueController:
    """Lets ClusterQueues go. Hears of Workloads after the recorder does: what that holds decides."""

    def __init__(self, cluster: MemoryCluster, recorder: Recorder) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._terminating: dict[str, None] = {}
        cluster.watch(ClusterQueue.KIND, self.on_cluster_queue)
        cluster.watch(Workload.KIND, self.on_workload)

    def on_cluster_queue(self, event: WatchEvent) -> None:
        """One that is being deleted goes once nothing is admitted; what is reserved is taken back by then."""
        queue: ClusterQueue = event.object
        name = queue.metadata.name
        if event.change is Change.DELETED:
            self._terminating.pop(name, None)
        elif queue.metadata.deletion_timestamp and name not in self._terminating:
            self._terminating[name] = None
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
        released = kept_while_used(queue, in_use=False)
        if released is not None:
            self._cluster.update(released)
