"""Writes admissions: quota and places of a Workload, and new places of one that holds its quota.

A decision that could not be written is taken back in the engine, which then looks at the workload again.

Source: QC-135, QC-136, QC-144, JS-496, TP-1510, TP-1604.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from kueue_fast.api.kueue import Workload
from kueue_fast.app.events import SCHEDULER, Events
from kueue_fast.app.scheduler import CycleResult, SchedulerThread
from kueue_fast.app.statuses import StatusWriter
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.engine import Admission
from kueue_fast.lifecycle import admission, events, eviction, slices
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.node_replacement import announced
from kueue_fast.lifecycle.requeue import queued_since
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.topology_names import HOSTNAME

__all__ = ["AdmissionWriter", "Admissions", "may_move", "same_request"]

log = logging.getLogger("scheduler")


class Admissions(Protocol):
    """Where the admissions of cycles go."""

    def take(self, result: CycleResult) -> None:
        """Write what a cycle admitted and moved, now or when its time has come."""


class AdmissionWriter:
    """Writes at once."""

    def __init__(
        self, statuses: StatusWriter, recorder: Events, gates: FeatureGates, scheduler: SchedulerThread
    ) -> None:
        self._statuses = statuses
        self._events = recorder
        self._scheduler = scheduler
        self._reasons = Reasons.read(gates)
        self._by_hostname_prefix = gates.enabled("TASAssignmentsEncodingByHostnamePrefix")

    def take(self, result: CycleResult) -> None:
        """Write what a cycle admitted and moved."""
        replaced = {each.replaced_by: each.workload for each in result.cycle.replaced}
        for decision in result.cycle.admitted:
            self.admit(decision, result.now_ns, replaced.get(decision.workload))
        for decision in result.cycle.moved:
            self.move(decision, result.now_ns)

    def admit(
        self,
        decision: Admission,
        now: int,
        replaced: str | None,
        done: Callable[[Workload | None], None] = lambda written: None,
    ) -> None:
        """Write an admission; once that is done, the slice `replaced` ends whose place it took (JS-496).

        `done` is called with the Workload as it was written, or None when it could not be.
        """
        workload = self._statuses.find(decision.workload)
        old = None if replaced is None else self._statuses.find(replaced)
        if workload is None:
            self.forget(decision)
            return done(None)
        topologies = admission.topologies_of(decision.pod_sets, by_hostname_prefix=self._by_hostname_prefix)

        def build(current: Workload) -> Workload | None:
            if not same_request(current, workload):
                return None
            placed = current if old is None else slices.with_cluster_of(current, old)
            return admission.admitted(placed, decision, now, self._reasons, topologies=topologies)

        def written(after: Workload) -> None:
            self._tell(workload, after, decision, now)
            done(after)
            if old is not None:
                self._replace(old, workload, now)

        def failed() -> None:
            self.forget(decision)
            done(None)

        log.info("workload %s admitted in ClusterQueue %s", decision.workload, decision.cluster_queue)
        self._statuses.write(workload, build, written, failed)

    def move(self, decision: Admission, now: int) -> None:
        """Write new places; everything else of the admission stays."""
        workload = self._statuses.find(decision.workload)
        if workload is None:
            return
        topologies = admission.topologies_of(decision.pod_sets, by_hostname_prefix=self._by_hostname_prefix)

        def build(current: Workload) -> Workload | None:
            if not may_move(current, workload, decision):
                return None
            return admission.admitted(current, decision, now, self._reasons, topologies=topologies)

        def failed() -> None:
            # The engine goes by the Workload as it is, and comes again if it has to.
            current = self._statuses.find(decision.workload)
            if current is not None:
                self._scheduler.feed(WatchEvent(Change.MODIFIED, current, None))

        log.info("workload %s has other places in ClusterQueue %s", decision.workload, decision.cluster_queue)
        self._statuses.write(
            workload, build, lambda after: self._tell(workload, after, decision, now), failed
        )

    def forget(self, decision: Admission) -> None:
        """The engine looks at the workload again."""
        self._scheduler.submit(lambda engine: engine.forget(decision.workload))

    def _tell(self, before: Workload, after: Workload, decision: Admission, now: int) -> None:
        namespace, _, name = decision.workload.partition("/")
        news = announced(before, after)
        told: list[Event] = []
        if news.quota_reserved:
            waited = now - queued_since(before, now)
            told.append(
                events.quota_reserved(
                    namespace, name, decision.cluster_queue, waited, now, considered=decision.considered
                )
            )
        if news.admitted:
            told.append(events.admitted(namespace, name, decision.cluster_queue, 0, now))
        for event in told:
            self._events.record(SCHEDULER, event)

    def _replace(self, old: Workload, new: Workload, now: int) -> None:
        told = events.slice_replaced(
            old.metadata.namespace or "", old.metadata.name, slices.replacement_message(new), now
        )
        self._statuses.write(
            old,
            lambda current: slices.replaced(current, new, now),
            lambda _: self._events.record(SCHEDULER, told),
        )


def same_request(current: Workload, decided: Workload) -> bool:
    """Whether what was decided on is still what is asked for."""
    return (
        current.metadata.generation == decided.metadata.generation
        and not current.metadata.deletion_timestamp
        and current.spec.active is not False
    )


def may_move(current: Workload, decided: Workload, decision: Admission) -> bool:
    """Whether the new places may be written: it holds its quota still, and none of them has failed since.

    All failed nodes are forgotten with that write, so that nobody would hear of another one.
    """
    places = hosts(decision)
    return (
        same_request(current, decided)
        and admission.holds_quota(current, decision.cluster_queue)
        and not eviction.is_evicted(current)
        and (not fails_on(current, places) or fails_on(decided, places))
    )


def hosts(decision: Admission) -> set[str]:
    """Nodes that a decision puts pods on."""
    found: set[str] = set()
    for one in decision.pod_sets:
        if one.placement is not None and one.placement[0][-1] == HOSTNAME:
            found.update(values[-1] for values, _ in one.placement[1])
    return found


def fails_on(workload: Workload, places: set[str]) -> bool:
    """Whether one of these nodes is one that failed for the Workload."""
    unhealthy = (workload.status.unhealthy_nodes if workload.status is not None else None) or ()
    return any(node.name in places for node in unhealthy)
