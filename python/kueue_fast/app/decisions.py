"""Carries out what a cycle decided: statuses first, events once they are written.

Source: QC-140, QP-812..814, TP-1509.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from kueue_fast.api.kueue import ClusterQueue, Workload
from kueue_fast.app.admissions import Admissions
from kueue_fast.app.events import SCHEDULER, Events
from kueue_fast.app.explanations import Explanations
from kueue_fast.app.queue_gauges import ancestors
from kueue_fast.app.scheduler import CycleResult, SchedulerThread
from kueue_fast.app.statuses import Build, StatusWriter
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.engine import Engine
from kueue_fast.engine.decisions import Eviction, Preemption, Requeued
from kueue_fast.jobs import names
from kueue_fast.lifecycle import events, eviction
from kueue_fast.lifecycle.events import Event, Priority
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model import conditions
from kueue_fast.model.features import FeatureGates

__all__ = ["DecisionWriter"]

log = logging.getLogger("scheduler")


class DecisionWriter:
    """Writes decisions, those for a workload by `admissions`.

    `preempted` hears of each victim whose eviction was written: the preemptor's ClusterQueue and the reason.
    """

    def __init__(
        self,
        cluster: KubeCluster,
        statuses: StatusWriter,
        recorder: Events,
        gates: FeatureGates,
        scheduler: SchedulerThread,
        admissions: Admissions,
        preempted: Callable[[str, str], None] = lambda cluster_queue, reason: None,
    ) -> None:
        self._cluster = cluster
        self._statuses = statuses
        self._events = recorder
        self._scheduler = scheduler
        self._admissions = admissions
        self._preempted = preempted
        self._explanations = Explanations(statuses, recorder, Reasons.read(gates))
        self._priority_boost = gates.enabled("PriorityBoost")

    def on_cycle(self, result: CycleResult) -> None:
        """Begin to write everything that a cycle decided."""
        cycle, now = result.cycle, result.now_ns
        for decision in cycle.admitted:
            self._explanations.forget(decision.workload)
        self._admissions.take(result)
        for lost in cycle.evicted:
            self._evict(lost, now)
        queues = {requeued.workload: requeued.cluster_queue for requeued in cycle.requeued}
        for preemption in cycle.preempted:
            self._preempt(preemption, queues[preemption.preemptor], now)
        for requeued, message in zip(cycle.requeued, result.messages, strict=True):
            self._explain(requeued, message, now)

    def _explain(self, requeued: Requeued, message: str, now: int) -> None:
        if requeued.again:
            namespace, _, name = requeued.workload.partition("/")
            if self._statuses.find(requeued.workload) is not None:
                self._events.record(SCHEDULER, events.second_pass_failed(namespace, name, message, now))
            return
        self._explanations.tell(requeued, message, now)

    def _evict(self, lost: Eviction, now: int) -> None:
        workload = self._statuses.find(lost.workload)
        if workload is None:
            return
        namespace, _, name = lost.workload.partition("/")

        def build(current: Workload) -> Workload | None:
            if eviction.is_evicted(current):
                return None
            return eviction.evicted(current, lost.reason, lost.message, now)

        def failed() -> None:
            # It waits for places again, unless another eviction was faster.
            current = self._statuses.find(lost.workload)
            if current is not None:
                self._scheduler.feed(WatchEvent(Change.MODIFIED, current, None))

        log.info("workload %s: %s", lost.workload, lost.message)
        told = [events.evicted(namespace, name, lost.reason, lost.message, now)]
        self._write(workload, build, told, failed=failed)

    def _preempt(self, preemption: Preemption, preemptor_queue: str, now: int) -> None:
        victim, preemptor = (
            self._statuses.find(preemption.workload),
            self._statuses.find(preemption.preemptor),
        )
        if victim is None or preemptor is None:
            return
        message = eviction.preemption_message(
            preemptor.metadata.uid or "",
            (preemptor.metadata.labels or {}).get(names.JOB_UID_LABEL, ""),
            preemption.reason,
            self._path(preemptor_queue),
            self._path(preemption.cluster_queue),
        )
        told = events.preempted(
            preemption.workload,
            victim.metadata.uid or "",
            preemption.cluster_queue,
            preemption.preemptor,
            message,
            (self._priority(preemptor), self._priority(victim)),
            now,
        )
        log.info("workload %s preempted for %s", preemption.workload, preemption.preemptor)

        def build(current: Workload) -> Workload | None:
            if eviction.is_evicted(current):
                return None
            return eviction.preempted(current, preemption.reason, message, now)

        # All victims of a cycle are told of the preemptor as the cycle saw it: one series, as upstream has it.
        version = preemptor.metadata.resource_version
        *of_victim, of_preemptor = told

        def written() -> None:
            self._events.record(SCHEDULER, of_preemptor, version)
            self._preempted(preemptor_queue, preemption.reason)

        def failed() -> None:
            current = self._statuses.find(preemption.workload)
            if current is not None and not eviction.is_evicted(current):
                self._scheduler.submit(
                    partial(
                        Engine.preemption_failed, victim=preemption.workload, preemptor=preemption.preemptor
                    )
                )

        self._write(victim, build, of_victim, written, failed)

    def _write(
        self,
        workload: Workload,
        build: Build,
        told: Sequence[Event],
        written: Callable[[], None] = lambda: None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        def done(_: Workload) -> None:
            for event in told:
                self._events.record(SCHEDULER, event)
            written()

        self._statuses.write(workload, build, done, failed)

    def _priority(self, workload: Workload) -> Priority:
        return Priority(
            effective=conditions.effective_priority(workload, priority_boost=self._priority_boost),
            base=workload.spec.priority or 0,
        )

    def _path(self, cluster_queue: str) -> str:
        """`/root/.../parent/cluster-queue`."""
        queue: ClusterQueue | None = self._cluster.get(ClusterQueue.KIND, None, cluster_queue)
        return eviction.cohort_path(cluster_queue, ancestors(queue, self._cluster))
