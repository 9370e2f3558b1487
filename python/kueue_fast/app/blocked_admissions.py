"""Admissions one after the other: none while a workload that holds its quota has pods that are not ready.

Upstream's scheduler stands still before such an entry, then admits it as its cycle found it. So what a cycle admitted
is written later here, and the scheduler runs no cycle until all of it is.

Source: LC-1105, QC-132.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kueue_fast.api.kueue import Workload
from kueue_fast.app.admissions import AdmissionWriter, same_request
from kueue_fast.app.scheduler import CycleResult, SchedulerThread
from kueue_fast.app.statuses import StatusWriter
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.engine import Admission, Engine
from kueue_fast.lifecycle import pods_ready
from kueue_fast.lifecycle.pods_ready import NotReady
from kueue_fast.lifecycle.settings import LifecycleSettings
from kueue_fast.model import conditions

__all__ = ["BlockedAdmissions"]

log = logging.getLogger("scheduler")


class Waiting(NamedTuple):
    """A decision that waits, about the Workload as it was then, and the slice whose place it takes."""

    decision: Admission
    workload: Workload
    replaced: str | None


class BlockedAdmissions:
    """Hands decisions to `admissions` when their time has come. `now` gives ns since 1970.

    Everything happens in the event loop's thread.
    """

    def __init__(
        self,
        cluster: KubeCluster,
        statuses: StatusWriter,
        admissions: AdmissionWriter,
        scheduler: SchedulerThread,
        now: Callable[[], int],
        settings: LifecycleSettings,
    ) -> None:
        self._statuses = statuses
        self._admissions = admissions
        self._scheduler = scheduler
        self._now = now
        self._settings = settings
        self._waiting: deque[Waiting] = deque()
        # Whether the first of them says that it waits.
        self._told = False
        self._going = False
        self._not_ready = NotReady()
        # What we admit holds its quota before a watch shows it: with the version that was written, once it is.
        self._assumed: dict[str, int | None] = {}
        scheduler.hold_after_admissions()
        for workload in cluster.list(Workload.KIND):
            self._not_ready.update(workload)
        cluster.watch(Workload.KIND, self._on_workload)

    def take(self, result: CycleResult) -> None:
        """A cycle is over, and the scheduler stands still if it admitted something."""
        replaced = {each.replaced_by: each.workload for each in result.cycle.replaced}
        for decision in result.cycle.admitted:
            workload = self._statuses.find(decision.workload)
            if workload is None:
                self._admissions.forget(decision)
            else:
                self._waiting.append(Waiting(decision, workload, replaced.get(decision.workload)))
        # These hold their quota already, and are among those that one waits for.
        for decision in result.cycle.moved:
            self._admissions.move(decision, result.now_ns)
        if result.cycle.admitted:
            self._go_on()

    def _on_workload(self, event: WatchEvent) -> None:
        workload: Workload = event.object
        key = f"{workload.metadata.namespace}/{workload.metadata.name}"
        if event.change is Change.DELETED:
            self._assumed.pop(key, None)
            self._not_ready.delete(key)
        elif key in self._assumed and not self._shows(workload, self._assumed[key]):
            return
        else:
            self._assumed.pop(key, None)
            self._not_ready.update(workload)
        if self._waiting:
            self._go_on()

    def _go_on(self) -> None:
        """Write what need not wait any more, and let the scheduler go on when nothing waits."""
        if self._going:
            return
        self._going = True
        while self._waiting and self._take_first(self._waiting[0]):
            key = self._waiting.popleft().decision.workload
            self._scheduler.submit(partial(Engine.stands_no_more, workload=key))
            self._told = False
        self._going = False
        if not self._waiting:
            self._scheduler.release()

    def _take_first(self, first: Waiting) -> bool:
        """Write the decision, or drop it; False if it has to wait."""
        key = first.decision.workload
        current = self._statuses.find(key)
        if current is None or not self._is_same(current, first.workload):
            self._admissions.forget(first.decision)
        elif self._not_ready:
            self._tell(current)
            return False
        else:
            self._not_ready.put(key)
            self._assumed[key] = None
            # Its times begin now, not when it was decided about.
            self._admissions.admit(
                first.decision, self._now(), first.replaced, lambda after: self._written(key, after)
            )
        return True

    def _tell(self, workload: Workload) -> None:
        """Say once that the Workload waits; what others say of it meanwhile stays."""
        if self._told:
            return
        self._told = True
        log.info(
            "workload %s/%s waits for the pods of others", workload.metadata.namespace, workload.metadata.name
        )

        def build(current: Workload) -> Workload | None:
            if not self._is_same(current, workload):
                return None
            return pods_ready.waiting(current, self._now(), self._settings.reasons)

        self._statuses.write(workload, build)

    def _written(self, key: str, after: Workload | None) -> None:
        """The admission of a workload was written, or could not be."""
        if after is None:
            self._assumed.pop(key, None)
            self._not_ready.delete(key)
        elif key in self._assumed:
            self._assumed[key] = version(after)
        current = self._statuses.find(key)
        if current is not None and (key not in self._assumed or self._shows(current, self._assumed[key])):
            self._assumed.pop(key, None)
            self._not_ready.update(current)
        if self._waiting:
            self._go_on()

    def _is_same(self, current: Workload, decided: Workload) -> bool:
        """Whether it is still the Workload that was decided about, and may be admitted."""
        return (
            current.metadata.uid == decided.metadata.uid
            and same_request(current, decided)
            and conditions.is_admissible(current, admission_gated_by=self._settings.admission_gated_by)
        )

    def _shows(self, workload: Workload, written: int | None) -> bool:
        """Whether a Workload is as it was written, or newer: before, it waits still."""
        known = workload.status.conditions if workload.status is not None else None
        if conditions.is_true(known, conditions.QUOTA_RESERVED):
            return True
        return written is not None and version(workload) >= written


def version(workload: Workload) -> int:
    """The version of the object; those of one kind grow."""
    return int(workload.metadata.resource_version or 0)
