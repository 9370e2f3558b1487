"""Runs the Workload controller on the embedded cluster: writes what it says, and comes back when it says.

Source: LC-1404, LC-1501.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.lifecycle import finish, workload_controller
from kueue_fast.lifecycle.pods_ready import NotReady
from kueue_fast.lifecycle.queue_stops import concerns_workloads
from kueue_fast.lifecycle.settings import LifecycleSettings
from kueue_fast.lifecycle.steps import DeleteWorkload, Step, UpdateWorkload, UpdateWorkloadStatus
from kueue_fast.model import conditions
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.housekeeping import Housekeeping
from kueue_fast.sim.kind_ancestors import owner_lives
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.runner import PodRunner

__all__ = ["WorkloadController"]

ADMITTED: Final = "Admitted"
EVICTED: Final = "EvictedDueTo"


class WorkloadController:
    """Looks at each Workload that changed, at those of a queue that was stopped or resumed, and at times of its own.

    An evicted Workload that no job of the cluster belongs to is stopped by the runner: on a real cluster whoever
    made it would do so (LC-805). `not_ready` is what `blockAdmission` waits for.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        settings: LifecycleSettings,
        runner: PodRunner,
        recorder: Recorder,
        is_active: Callable[[str], bool],
        housekeeping: Housekeeping,
    ) -> None:
        self.lifecycle = settings
        self.is_active = is_active
        self.not_ready = NotReady()
        self._cluster = cluster
        self._clock = clock
        self._runner = runner
        self._recorder = recorder
        self._housekeeping = housekeeping
        self._blocks = settings.pods_ready is not None and settings.pods_ready.block_admission
        self._timers: dict[str, int] = {}
        # When Workloads came that brought their admission along.
        self._brought: dict[str, int] = {}
        cluster.watch(Workload.KIND, self.on_workload)
        cluster.watch(ClusterQueue.KIND, self.on_cluster_queue)
        cluster.watch(LocalQueue.KIND, self.on_local_queue)

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None:
        """A LocalQueue of the cluster."""
        found: LocalQueue | None = self._cluster.get(LocalQueue.KIND, namespace, name)
        return found

    def cluster_queue(self, name: str) -> ClusterQueue | None:
        """A ClusterQueue of the cluster."""
        found: ClusterQueue | None = self._cluster.get(ClusterQueue.KIND, None, name)
        return found

    def on_workload(self, event: WatchEvent) -> None:
        """Write what is due; its own write comes back here."""
        workload: Workload = event.object
        name = workload.metadata.namespace or "", workload.metadata.name
        key = "/".join(name)
        if event.change is Change.DELETED:
            self.not_ready.delete(key)
            self._forget(key)
            return
        if self._blocks:
            self.not_ready.update(workload)
        current: Workload | None = self._cluster.get(Workload.KIND, *name)
        known = workload.status.conditions if workload.status is not None else None
        if event.change is Change.ADDED and conditions.is_true(known, conditions.ADMITTED):
            self._brought[key] = self._clock.now
        if self._brought and self._brought.get(key) == self._clock.now:
            # Admitted before the run: its job, which comes at the same time, starts its pods first.
            self._clock.schedule(self._clock.now, self._again, name)
        # Of what has changed since, one hears later.
        elif current is not None and not self._cluster.is_outdated(workload):
            self._look(key, current)

    def on_cluster_queue(self, event: WatchEvent) -> None:
        """A ClusterQueue came, went, or was stopped: its Workloads are looked at. Source: LC-1404."""
        queue: ClusterQueue = event.object
        if not concerns_workloads(event.old, queue if event.change is Change.MODIFIED else None):
            return
        name = queue.metadata.name
        locals_: set[tuple[str | None, str]] = {
            (each.metadata.namespace, each.metadata.name)
            for each in self._cluster.list(LocalQueue.KIND)
            if each.spec is not None and each.spec.cluster_queue == name
        }
        self._look_at(
            each
            for each in self._cluster.list(Workload.KIND)
            if (each.metadata.namespace, each.spec.queue_name or "") in locals_
        )

    def on_local_queue(self, event: WatchEvent) -> None:
        """A LocalQueue came, went, or was stopped: its Workloads are looked at. Source: LC-1404."""
        queue: LocalQueue = event.object
        if not concerns_workloads(event.old, queue if event.change is Change.MODIFIED else None):
            return
        self._look_at(
            each
            for each in self._cluster.list(Workload.KIND, queue.metadata.namespace)
            if each.spec.queue_name == queue.metadata.name
        )

    def _look_at(self, workloads: Iterable[Workload]) -> None:
        for workload in list(workloads):
            self._again((workload.metadata.namespace or "", workload.metadata.name))

    def _again(self, name: Any) -> None:
        workload: Workload | None = self._cluster.get(Workload.KIND, *name)
        if workload is not None:
            self._look("/".join(name), workload)

    def _look(self, key: str, workload: Workload) -> None:
        known = workload.status.conditions if workload.status is not None else None
        if (
            conditions.is_true(known, conditions.EVICTED)
            and conditions.is_true(known, conditions.QUOTA_RESERVED)
            and not conditions.is_true(known, conditions.FINISHED)
            and not owner_lives(self._cluster, workload.metadata)
        ):
            self._runner.workload_stopping(workload)
        self._forget(key)
        step = workload_controller.reconcile(workload, self, self._clock.now)
        if step.again_ns is not None:
            name = workload.metadata.namespace or "", workload.metadata.name
            if finish.is_finished(workload):
                self._housekeeping.schedule(step.again_ns, self._again, name)
            else:
                self._timers[key] = self._clock.schedule(step.again_ns, self._again, name)
        elif step.writes:
            self._carry_out(step)

    def _carry_out(self, step: Step) -> None:
        for event in step.events:
            # The observer tells of admissions, whoever admitted.
            if event.reason.startswith(EVICTED):
                self._recorder.evicted(event)
            elif event.reason != ADMITTED:
                self._recorder.event(event)
        for write in step.writes:
            match write:
                case UpdateWorkloadStatus(workload):
                    self._cluster.update_status(workload)
                case UpdateWorkload(workload):
                    self._cluster.update(workload)
                case DeleteWorkload(workload):
                    metadata = workload.metadata
                    self._cluster.delete(Workload.KIND, metadata.namespace, metadata.name)

    def _forget(self, key: str) -> None:
        entry = self._timers.pop(key, None)
        if entry is not None:
            self._clock.cancel(entry)
