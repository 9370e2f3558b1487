"""Stands in for the controllers of admission checks: they are active, and say what annotations have them say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from kueue_fast.api.kueue import (
    AdmissionCheck,
    AdmissionCheckState,
    AdmissionCheckStatus,
    PodSetUpdate,
    Workload,
)
from kueue_fast.api.meta import Condition
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.lifecycle import checks, eviction
from kueue_fast.lifecycle.status import timestamp, with_status, writable_status
from kueue_fast.model import conditions
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.lifecycle_facts import Answer
from kueue_fast.sim.manifest import SimulationFacts

__all__ = ["AdmissionCheckController", "with_activity"]

ACTIVE: Final = "Active"
WORDS: Final = {
    "Ready": "The simulated check is ready",
    "Retry": "The simulated check asks for another try",
    "Rejected": "The simulated check rejects the workload",
    "Pending": "The simulated check is not ready yet",
}


class _Said(NamedTuple):
    """For which reservation the answers of a check are under way, and their entries of the clock."""

    since: str
    entries: tuple[int, ...]


class AdmissionCheckController:
    """A check whose manifest says nothing of it becomes active. What it says of a Workload begins with a reservation:
    answers of the Workload's job, else of the Workload, else of the check; without any it says nothing.
    """

    def __init__(
        self, cluster: MemoryCluster, clock: VirtualClock, facts: Callable[[str, str, str], SimulationFacts]
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._facts = facts
        self._said: dict[tuple[str, str], _Said] = {}
        self._reservations: dict[tuple[str, str], int] = {}
        cluster.watch(AdmissionCheck.KIND, self.on_check)
        cluster.watch(Workload.KIND, self.on_workload)

    def on_check(self, event: WatchEvent) -> None:
        """Write the condition Active where there is none."""
        check: AdmissionCheck = event.object
        known = check.status.conditions if check.status is not None else None
        if event.change is Change.ADDED and conditions.find(known, ACTIVE) is None:
            self._cluster.update_status(with_activity(check, True, self._clock.now))

    def on_workload(self, event: WatchEvent) -> None:
        """A Workload got a reservation, or lost it: its checks begin to answer, or stop."""
        workload: Workload = event.object
        status = workload.status
        listed = (status.admission_checks if status is not None else None) or ()
        if not listed and not self._said:
            return
        key = f"{workload.metadata.namespace}/{workload.metadata.name}"
        since = _reserved_since(workload) if event.change is not Change.DELETED else None
        wanted = {check.name for check in listed} if since else set()
        for of, name in [each for each in self._said if each[0] == key]:
            if name not in wanted or self._said[of, name].since != since:
                for entry in self._said.pop((of, name)).entries:
                    self._clock.cancel(entry)
        for check in listed:
            if since is not None and (key, check.name) not in self._said and check.state != "Ready":
                self._begin(workload, key, check.name, since)

    def _begin(self, workload: Workload, key: str, check: str, since: str) -> None:
        answers = self._answers(workload, check)
        if not answers:
            return
        place = key, check
        number = self._reservations.get(place, 0)
        self._reservations[place] = number + 1
        now = self._clock.now
        name = workload.metadata.namespace or "", workload.metadata.name
        entries = tuple(
            self._clock.schedule(now + answer.after_ns, partial(self._answer, check, answer), name)
            for answer in answers[min(number, len(answers) - 1)]
        )
        self._said[place] = _Said(since, entries)

    def _answers(self, workload: Workload, check: str) -> tuple[tuple[Answer, ...], ...]:
        namespace = workload.metadata.namespace or ""
        owner = controller_of(workload.metadata)
        places = [(Workload.KIND, namespace, workload.metadata.name), (AdmissionCheck.KIND, "", check)]
        if owner is not None:
            places.insert(0, (owner.kind, namespace, owner.name))
        found = (self._facts(*place).lifecycle.answers for place in places)
        return next((each for each in found if each), ())

    def _answer(self, check: str, answer: Answer, name: Any) -> None:
        workload: Workload | None = self._cluster.get(Workload.KIND, *name)
        if workload is None:
            return
        updates = None
        update = self._facts(AdmissionCheck.KIND, "", check).lifecycle.pod_set_update
        if answer.state == "Ready" and update is not None:
            updates = [_of_pod_set(update, each.name) for each in workload.spec.pod_sets or ()]
        status = writable_status(workload)
        state = AdmissionCheckState(
            name=check,
            state=answer.state,
            message=WORDS[answer.state],
            requeue_after_seconds=answer.requeue_after_seconds,
            pod_set_updates=updates,
        )
        listed = checks.set_check(status.admission_checks, state, self._clock.now)
        status = msgspec.structs.replace(status, admission_checks=listed)
        self._cluster.update_status(with_status(workload, status))


def with_activity(check: AdmissionCheck, active: bool, now_ns: int) -> AdmissionCheck:
    """The check with its condition Active, as its controller writes it."""
    known = list((check.status.conditions if check.status is not None else None) or ())
    condition = Condition(
        type=ACTIVE,
        status="True" if active else "False",
        reason=ACTIVE if active else "Inactive",
        message=f"The admission check is {'active' if active else 'not active'}",
        observed_generation=check.metadata.generation,
    )
    conditions.set_condition(known, condition, timestamp(now_ns))
    status = msgspec.structs.replace(check.status or AdmissionCheckStatus(), conditions=known)
    return msgspec.structs.replace(check, status=status)


def _of_pod_set(update: PodSetUpdate, name: str) -> PodSetUpdate:
    return msgspec.structs.replace(update, name=name)


def _reserved_since(workload: Workload) -> str | None:
    """Since when a Workload holds its quota, as its status says it; None while it does not, or is told to stop."""
    known = workload.status.conditions if workload.status is not None else None
    found = conditions.find(known, conditions.QUOTA_RESERVED)
    if found is None or found.status != "True" or eviction.is_evicted(workload):
        return None
    return None if conditions.is_true(known, conditions.FINISHED) else found.last_transition_time or ""
