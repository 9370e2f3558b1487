"""Hears what happens to Workloads, and has it written down and played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

import msgspec

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Admission, PodSet, Workload
from kueue_fast.api.meta import ObjectMeta, OwnerReference
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs import pod_names
from kueue_fast.lifecycle import events, eviction, finish
from kueue_fast.lifecycle.admission import Decision
from kueue_fast.lifecycle.pods import slice_name
from kueue_fast.lifecycle.slices import OUT_OF_SYNC, SLICE_REPLACED, replacement_for
from kueue_fast.model import conditions, times
from kueue_fast.model.elastic import is_elastic
from kueue_fast.model.quantities import request_value
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.kind_serving import owners_of
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.result import Outcome, PodSetRow, SliceRow, State, WorkloadRow
from kueue_fast.sim.runner import PodRunner

__all__ = ["NamedDecision", "WorkloadObserver", "new_row"]

HOLDING: Final = (State.RESERVED, State.RUNNING)
OUTCOMES: Final = {
    finish.SUCCEEDED: Outcome.SUCCEEDED,
    SLICE_REPLACED: Outcome.REPLACED,
    OUT_OF_SYNC: Outcome.REPLACED,
}


class NamedDecision(Decision, Protocol):
    """A decision of the engine with the `namespace/name` of its workload."""

    @property
    def workload(self) -> str:
        """`namespace/name`."""

    @property
    def considered(self) -> str:
        """Flavors that did not simply fit, in words."""


class WorkloadObserver:
    """Turns changes of Workloads into rows, meters, events and runs."""

    def __init__(
        self, cluster: MemoryCluster, clock: VirtualClock, recorder: Recorder, runner: PodRunner
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._recorder = recorder
        self._runner = runner
        # The engine's own amounts, until the Workload that carries them as quantities comes by.
        self._decisions: dict[str, NamedDecision] = {}
        self._last_words: dict[str, str] = {}
        cluster.watch(Workload.KIND, self.on_workload)

    def decided(self, decision: NamedDecision) -> None:
        """The engine admitted a workload: its status is about to be written."""
        self._decisions[decision.workload] = decision

    def said(self, workload: str, message: str) -> bool:
        """Whether these were the last words about a workload; from now on they are."""
        if self._last_words.get(workload) == message:
            return True
        self._last_words[workload] = message
        return False

    def on_workload(self, event: WatchEvent) -> None:
        """Compare the Workload with its row."""
        workload: Workload = event.object
        key = f"{workload.metadata.namespace}/{workload.metadata.name}"
        recorder, now = self._recorder, self._clock.now
        if event.change is Change.DELETED:
            self._runner.stopped(workload.metadata.uid or "")
            recorder.deleted(key, now)
            return
        if event.change is Change.ADDED:
            row = new_row(workload, now)
            row.top = self._top(workload)
            recorder.arrived(row)
        row = recorder.rows[key]
        if event.old is not None and event.old.spec is not workload.spec:
            # A job takes its Workload along to another queue or class while that waits.
            row.queue, row.priority, row.priority_class = wanted_of(workload)
        if row.owner_kind is None and workload.metadata.owner_references:
            # A job came to own a Workload that was made beforehand.
            owner = owner_shown(workload.metadata)
            if owner is not None:
                row.owner_kind, row.owner_name = owner.kind, owner.name
        if row.slice is not None and row.slice.sizes[-1][1] != pods_of(workload):
            self._resized(key, row, workload)
        state = conditions.workload_status(workload)
        if state == "finished":
            if row.state is not State.FINISHED:
                self._runner.stopped(workload.metadata.uid or "")
                recorder.finished(key, outcome_of(workload), now)
        elif state == "pending":
            if row.state in HOLDING:
                self._runner.stopped(workload.metadata.uid or "")
                recorder.returned(key, now)
        else:
            if row.state is State.PENDING:
                self._reserved(key, row, workload)
            row.evicting = eviction.eviction_of(workload) is not None
            if event.old is not None and conditions.is_active(event.old) != conditions.is_active(workload):
                # Its quota is free at once, while its pods still stop, and taken again if it is active again (LC-1505).
                recorder.resized(key, held_usage(workload), now)
            if state == "admitted" and row.state is State.RESERVED:
                self._admitted(key, row, workload)
            if event.old is not None and reclaimed_of(event.old) != reclaimed_of(workload):
                self._reclaimed(key, workload)

    def _top(self, workload: Workload) -> tuple[str, str] | None:
        """What its owner belongs to: kept while it can be known, as the objects between may be gone later."""
        owner = owner_shown(workload.metadata)
        found = None if owner is None else self._cluster.by_uid(owner.uid)
        above = [] if found is None else owners_of(self._cluster, found)
        return (above[-1].KIND, above[-1].metadata.name) if above else None

    def _resized(self, key: str, row: WorkloadRow, workload: Workload) -> None:
        """A slice asks for another number of pods: one that holds quota for fewer, and so it holds less."""
        now = self._clock.now
        if row.slice is not None:
            row.slice.sizes.append((now, pods_of(workload)))
        if row.state in HOLDING:
            self._recorder.resized(key, held_usage(workload), now)

    def _reserved(self, key: str, row: WorkloadRow, workload: Workload) -> None:
        admission = workload.status.admission if workload.status is not None else None
        if admission is None:
            return
        decision = self._decisions.pop(key, None)
        # A decision may have waited for the pods of others, and the slice that it is about have shrunk meanwhile.
        shrunk = any(pod_set.count < was for pod_set, was in admitted_counts(workload, admission))
        usage = held_usage(workload) if decision is None or shrunk else decided_usage(decision)
        now = self._clock.now
        self._recorder.reserved(key, admission.cluster_queue, pod_set_rows(admission), usage, now)
        self._last_words.pop(key, None)
        waited = now - queued_since(workload, row)
        considered = "" if decision is None else decision.considered
        self._recorder.event(
            events.quota_reserved(
                row.namespace, row.name, admission.cluster_queue, waited, now, considered=considered
            )
        )

    def _reclaimed(self, key: str, workload: Workload) -> None:
        """Pods that are done with hold nothing more."""
        self._recorder.resized(key, held_usage(workload), self._clock.now)

    def _admitted(self, key: str, row: WorkloadRow, workload: Workload) -> None:
        now = self._clock.now
        waited = now - (row.reserved_ns if row.reserved_ns is not None else now)
        self._recorder.admitted(key, now)
        self._recorder.event(events.admitted(row.namespace, row.name, row.cluster_queue or "", waited, now))
        if row.owner_kind is None:
            self._runner.workload_admitted(workload)


def reclaimed_of(workload: Workload) -> dict[str, int]:
    """Pods whose quota is free again, by the name of their pod set."""
    pods = (workload.status.reclaimable_pods if workload.status is not None else None) or ()
    return {each.name: each.count for each in pods}


def admitted_counts(workload: Workload, admission: Admission) -> Iterator[tuple[PodSet, int]]:
    """The pod sets of a Workload, each with the pods that it was admitted with."""
    counts = {each.name: each.count or 0 for each in admission.pod_set_assignments or ()}
    for pod_set in workload.spec.pod_sets or ():
        yield pod_set, counts.get(pod_set.name, 0)


def held_usage(workload: Workload) -> Mapping[tuple[str, str], int]:
    """Amounts by (flavor, resource) that a Workload with a reservation holds: nothing while it is deactivated."""
    admission = workload.status.admission if workload.status is not None else None
    if admission is None or not conditions.is_active(workload):
        return {}
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets or ()}
    return assigned_usage(admission, counts, reclaimed_of(workload))


def new_row(workload: Workload, now_ns: int) -> WorkloadRow:
    """The row of a workload that was just created."""
    metadata = workload.metadata
    queue, priority, priority_class = wanted_of(workload)
    owner = owner_shown(metadata)
    part = None
    # With the gate off a Workload has the annotation only if its manifest brought it along.
    if owner is not None and is_elastic(metadata.annotations, slices=True):
        part = SliceRow(slice_name(workload), replacement_for(workload), [(now_ns, pods_of(workload))])
    return WorkloadRow(
        namespace=metadata.namespace or "",
        name=metadata.name,
        owner_kind=None if owner is None else owner.kind,
        owner_name=None if owner is None else owner.name,
        queue=queue,
        priority=priority,
        priority_class=priority_class,
        arrived_ns=now_ns,
        slice=part,
    )


def wanted_of(workload: Workload) -> tuple[str, int, str | None]:
    """LocalQueue, priority and the name of its class."""
    spec = workload.spec
    named = spec.priority_class_ref
    return spec.queue_name or "", spec.priority or 0, None if named is None else named.name


def pods_of(workload: Workload) -> int:
    """Pods that a Workload asks for."""
    return sum(pod_set.count for pod_set in workload.spec.pod_sets or ())


def owner_shown(metadata: ObjectMeta) -> OwnerReference | None:
    """The job that a workload is shown with: its controller, or what a group of pods belongs to.

    A group of plain pods goes by the name of the group.
    """
    owners = metadata.owner_references or ()
    controller = next((each for each in owners if each.controller), None)
    if controller is not None or (metadata.annotations or {}).get(pod_names.IS_GROUP_WORKLOAD) is None:
        return controller
    above = next((each for each in owners if each.kind != Pod.KIND), None)
    if above is not None or not owners:
        return above
    return msgspec.structs.replace(owners[0], name=metadata.name)


def queued_since(workload: Workload, row: WorkloadRow) -> int:
    """Since when a workload queues, in ns since 1970: the transition of Requeued, or its arrival. Source: QC-144."""
    known = workload.status.conditions if workload.status is not None else None
    requeued = conditions.find(known, conditions.REQUEUED)
    if requeued is None or not requeued.last_transition_time:
        return row.arrived_ns
    return times.parse(requeued.last_transition_time)


def outcome_of(workload: Workload) -> Outcome:
    """How a finished Workload ended; a reason that is none of these is a failure."""
    known = workload.status.conditions if workload.status is not None else None
    finished = conditions.find(known, conditions.FINISHED)
    return OUTCOMES.get("" if finished is None else finished.reason, Outcome.FAILED)


def pod_set_rows(admission: Admission) -> tuple[PodSetRow, ...]:
    """What each pod set was given."""
    return tuple(
        PodSetRow(each.name, each.count or 0, tuple(sorted((each.flavors or {}).items())))
        for each in admission.pod_set_assignments or ()
    )


def decided_usage(decision: Decision) -> Mapping[tuple[str, str], int]:
    """Amounts by (flavor, resource) of a decision."""
    usage: dict[tuple[str, str], int] = {}
    for pod_set in decision.pod_sets:
        flavors = pod_set.flavors
        for resource, amount in pod_set.usage.items():
            # A resource that no quota covers is asked for, but given from no flavor.
            if resource in flavors:
                pair = flavors[resource], resource
                usage[pair] = usage.get(pair, 0) + amount
    return usage


def assigned_usage(
    admission: Admission, counts: Mapping[str, int], reclaimed: Mapping[str, int]
) -> Mapping[tuple[str, str], int]:
    """Amounts by (flavor, resource) of an admission as it is stored.

    `counts` are the pods by pod set that the Workload asks for now, `reclaimed` those of them that are done. Where
    fewer are left than were admitted, the amount of one pod, cut to a whole number, counts for each. Source: JS-500.
    """
    usage: dict[tuple[str, str], int] = {}
    for assignment in admission.pod_set_assignments or ():
        flavors = assignment.flavors or {}
        asked = counts.get(assignment.name, 0)
        count = asked if assignment.count is None else assignment.count
        kept = min(count, max(asked - reclaimed.get(assignment.name, 0), 0))
        for resource, quantity in (assignment.resource_usage or {}).items():
            if resource in flavors:
                pair = flavors[resource], resource
                amount = request_value(resource, quantity)
                usage[pair] = usage.get(pair, 0) + (amount // count * kept if kept < count else amount)
    return usage
