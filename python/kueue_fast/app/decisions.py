"""Carries out what a cycle decided: statuses first, events once they are written.

A decision that could not be written is taken back in the engine, which then looks at the workload again.

Source: QC-135, QC-136, QC-140, QC-144, QP-812..814, TP-1509.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kueue_fast.api.kueue import ClusterQueue, Workload
from kueue_fast.app.events import SCHEDULER, Events
from kueue_fast.app.queue_gauges import ancestors
from kueue_fast.app.scheduler import CycleResult
from kueue_fast.app.statuses import Build, StatusWriter
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.engine import Admission, Engine
from kueue_fast.engine.decisions import Eviction, Preemption, Requeued
from kueue_fast.jobs import names
from kueue_fast.lifecycle import admission, events, eviction, slices
from kueue_fast.lifecycle.events import Event, Priority
from kueue_fast.lifecycle.requeue import queued_since
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model import conditions
from kueue_fast.model.features import FeatureGates

__all__ = ["DecisionWriter"]

log = logging.getLogger("scheduler")


class DecisionWriter:
    """Writes decisions. `submit` runs something in the engine's thread.

    `preempted` hears of each victim whose eviction was written: the preemptor's ClusterQueue and the reason.
    """

    def __init__(
        self,
        cluster: KubeCluster,
        statuses: StatusWriter,
        recorder: Events,
        gates: FeatureGates,
        submit: Callable[[Callable[[Engine], None]], None],
        preempted: Callable[[str, str], None] = lambda cluster_queue, reason: None,
    ) -> None:
        self._cluster = cluster
        self._statuses = statuses
        self._events = recorder
        self._submit = submit
        self._preempted = preempted
        self._reasons = Reasons.read(gates)
        self._by_hostname_prefix = gates.enabled("TASAssignmentsEncodingByHostnamePrefix")
        self._priority_boost = gates.enabled("PriorityBoost")

    def on_cycle(self, result: CycleResult) -> None:
        """Begin to write everything that a cycle decided."""
        cycle, now = result.cycle, result.now_ns
        replaced = {each.replaced_by: each.workload for each in cycle.replaced}
        for decision in (*cycle.admitted, *cycle.moved):
            self._admit(decision, now, replaced.get(decision.workload))
        for lost in cycle.evicted:
            self._evict(lost, now)
        queues = {requeued.workload: requeued.cluster_queue for requeued in cycle.requeued}
        for preemption in cycle.preempted:
            self._preempt(preemption, queues[preemption.preemptor], now)
        for requeued, message in zip(cycle.requeued, result.messages, strict=True):
            self._explain(requeued, message, now)

    def _admit(self, decision: Admission, now: int, replaced: str | None) -> None:
        """Write an admission; once that is done, the slice `replaced` ends whose place it took (JS-496)."""
        key = decision.workload
        workload = self._statuses.find(key)
        old = None if replaced is None else self._statuses.find(replaced)
        if workload is None:
            return self._submit(lambda engine: engine.forget(key))
        topologies = admission.topologies_of(decision.pod_sets, by_hostname_prefix=self._by_hostname_prefix)

        def build(current: Workload) -> Workload | None:
            if not same_request(current, workload):
                return None
            placed = current if old is None else slices.with_cluster_of(current, old)
            return admission.admitted(placed, decision, now, self._reasons, topologies=topologies)

        def written() -> None:
            if old is not None:
                self._replace(old, workload, now)

        log.info("workload %s admitted in ClusterQueue %s", key, decision.cluster_queue)
        told = [] if eviction.is_evicted(workload) else self._told(workload, decision, now)
        self._write(
            workload,
            build,
            told,
            failed=lambda: self._submit(lambda engine: engine.forget(key)),
            written=written,
        )

    def _replace(self, old: Workload, new: Workload, now: int) -> None:
        told = events.slice_replaced(
            old.metadata.namespace or "", old.metadata.name, slices.replacement_message(new), now
        )
        self._write(old, lambda current: slices.replaced(current, new, now), [told])

    def _told(self, workload: Workload, decision: Admission, now: int) -> list[Event]:
        namespace, _, name = decision.workload.partition("/")
        waited = now - queued_since(workload, now)
        told = [events.quota_reserved(namespace, name, decision.cluster_queue, waited, now)]
        status = workload.status
        if not decision.checks or (status is not None and status.admission_checks):
            told.append(events.admitted(namespace, name, decision.cluster_queue, 0, now))
        return told

    def _explain(self, requeued: Requeued, message: str, now: int) -> None:
        workload = self._statuses.find(requeued.workload)
        if workload is None:
            return
        namespace, _, name = requeued.workload.partition("/")
        if requeued.again:
            self._events.record(SCHEDULER, events.second_pass_failed(namespace, name, message, now))
            return

        requests = requeued.requests()

        def build(current: Workload) -> Workload | None:
            # Whoever holds quota by now is not what the cycle looked at.
            if current.status is not None and current.status.admission is not None:
                return None
            return admission.pending(current, message, now, reasons=self._reasons, requests=requests)

        # Upstream repeats the event in every cycle; where the status stands already, it says nothing new.
        self._write(workload, build, [events.pending(namespace, name, message, now)])

    def _evict(self, lost: Eviction, now: int) -> None:
        workload = self._statuses.find(lost.workload)
        if workload is None:
            return
        namespace, _, name = lost.workload.partition("/")
        self._write(
            workload,
            lambda current: eviction.evicted(current, lost.reason, lost.message, now),
            [events.evicted(namespace, name, lost.reason, lost.message, now)],
        )

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

        self._write(victim, build, told, written=lambda: self._preempted(preemptor_queue, preemption.reason))

    def _write(
        self,
        workload: Workload,
        build: Build,
        told: list[Event] | tuple[Event, ...] = (),
        failed: Callable[[], None] = lambda: None,
        written: Callable[[], None] = lambda: None,
    ) -> None:
        future = self._statuses.write(workload, build)
        if future is None:
            return failed()

        def done(answer: asyncio.Future[bytes | None]) -> None:
            if answer.cancelled() or answer.exception() is not None or answer.result() is None:
                failed()
                return
            for event in told:
                self._events.record(SCHEDULER, event)
            written()

        future.add_done_callback(done)

    def _priority(self, workload: Workload) -> Priority:
        return Priority(
            effective=conditions.effective_priority(workload, priority_boost=self._priority_boost),
            base=workload.spec.priority or 0,
        )

    def _path(self, cluster_queue: str) -> str:
        """`/root/.../parent/cluster-queue`."""
        queue: ClusterQueue | None = self._cluster.get(ClusterQueue.KIND, None, cluster_queue)
        return eviction.cohort_path(cluster_queue, ancestors(queue, self._cluster))


def same_request(current: Workload, decided: Workload) -> bool:
    """Whether what was decided on is still what is asked for."""
    return (
        current.metadata.generation == decided.metadata.generation
        and not current.metadata.deletion_timestamp
        and current.spec.active is not False
    )
