"""Carries out the evictions that a cycle issued: conditions on the victims, events, and who preempted whom.

Source: QP-812..814.
"""

from __future__ import annotations

from typing import Final

from kueue_fast.api.kueue import ClusterQueue, Cohort, Workload
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.engine import Cycle, Engine, Preemption
from kueue_fast.jobs import names
from kueue_fast.lifecycle import events, eviction
from kueue_fast.lifecycle.events import Priority
from kueue_fast.model import conditions
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.result import PreemptionRow

__all__ = ["Preemptions"]

# Outcomes of a head that waits until others have stopped.
WAITING: Final = frozenset(("Preempting", "Overlap", "Deferred"))


class Preemptions:
    """Writes what preemption decided. `priority_boost`: the gate of that name."""

    def __init__(
        self, cluster: MemoryCluster, clock: VirtualClock, recorder: Recorder, *, priority_boost: bool
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._recorder = recorder
        self._boost = priority_boost

    def note_victims(self, engine: Engine, cycle: Cycle) -> None:
        """Remember for whose evictions each head of the cycle waits; to be called before anything is written."""
        awaited = self._recorder.awaited
        for decision in cycle.admitted:
            awaited.pop(decision.workload, None)
        for place, requeued in enumerate(cycle.requeued):
            if requeued.outcome in WAITING:
                awaited[requeued.workload] = engine.victims(place)
            else:
                awaited.pop(requeued.workload, None)

    def issue(self, cycle: Cycle) -> None:
        """Tell the victims of a cycle to stop, and those that lost a node for which there is no other."""
        for each in cycle.evicted:
            workload = self._workload(each.workload)
            if workload is not None:
                namespace, _, name = each.workload.partition("/")
                now = self._clock.now
                self._recorder.evicted(events.evicted(namespace, name, each.reason, each.message, now))
                self._cluster.update_status(eviction.evicted(workload, each.reason, each.message, now))
        if not cycle.preempted:
            return
        queues = {requeued.workload: requeued.cluster_queue for requeued in cycle.requeued}
        for preemption in cycle.preempted:
            self._evict(preemption, queues[preemption.preemptor])

    def _evict(self, preemption: Preemption, preemptor_queue: str) -> None:
        victim, preemptor = self._workload(preemption.workload), self._workload(preemption.preemptor)
        if victim is None or preemptor is None:
            return
        now = self._clock.now
        row = PreemptionRow(
            time_ns=now,
            workload=preemption.workload,
            path=self._path(preemption.cluster_queue),
            preemptor=preemption.preemptor,
            preemptor_path=self._path(preemptor_queue),
            reason=preemption.reason,
        )
        message = eviction.preemption_message(
            preemptor.metadata.uid or "",
            (preemptor.metadata.labels or {}).get(names.JOB_UID_LABEL, ""),
            preemption.reason,
            row.preemptor_path,
            row.path,
        )
        self._recorder.preempted(row)
        if self._recorder.keep_events:
            mine, theirs = self._priority(preemptor), self._priority(victim)
            for event in events.preempted(
                preemption.workload,
                victim.metadata.uid or "",
                preemption.cluster_queue,
                preemption.preemptor,
                message,
                (mine, theirs),
                now,
            ):
                self._recorder.event(event)
        self._cluster.update_status(eviction.preempted(victim, preemption.reason, message, now))

    def _workload(self, key: str) -> Workload | None:
        namespace, _, name = key.partition("/")
        found: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
        return found

    def _priority(self, workload: Workload) -> Priority:
        return Priority(
            effective=conditions.effective_priority(workload, priority_boost=self._boost),
            base=workload.spec.priority or 0,
        )

    def _path(self, cluster_queue: str) -> str:
        """`/root/.../parent/cluster-queue`."""
        queue: ClusterQueue | None = self._cluster.get(ClusterQueue.KIND, None, cluster_queue)
        above = queue.spec.cohort_name if queue is not None and queue.spec is not None else None
        ancestors: list[str] = []
        # No queue below a cycle of cohorts takes part in a preemption; the test only bounds the loop.
        while above and above not in ancestors:
            ancestors.append(above)
            cohort: Cohort | None = self._cluster.get(Cohort.KIND, None, above)
            above = cohort.spec.parent_name if cohort is not None and cohort.spec is not None else None
        return eviction.cohort_path(cluster_queue, ancestors)
