"""Workload events: from a created, changed or deleted Workload to its place in the queues and its quota.

Source: QC-19, QC-20, QC-27, QC-34, QC-35, QC-154, QP-211.
"""

from __future__ import annotations

from collections.abc import Iterable

from kueue_fast.api import topology_assignment
from kueue_fast.api.kueue import Admission, Workload, WorkloadStatus
from kueue_fast.api.meta import Condition
from kueue_fast.arrays.decisions import Placement, PodSetAssignment
from kueue_fast.arrays.layouts import Layout
from kueue_fast.arrays.tables import NONE
from kueue_fast.arrays.workloads import ADMITTED, ASSUMED, PENDING, RESERVED, Facts, Record
from kueue_fast.engine.local_queue_accounts import LocalQueueAccounts
from kueue_fast.engine.places import Places
from kueue_fast.engine.second_pass import SecondPassQueue, is_due
from kueue_fast.engine.slices import Slices
from kueue_fast.engine.state import State
from kueue_fast.errors import InputError
from kueue_fast.model import conditions, times
from kueue_fast.model.elastic import ELASTIC_JOB, REPLACEMENT_FOR
from kueue_fast.model.quantities import request_value

_TELLING = frozenset((REPLACEMENT_FOR, ELASTIC_JOB, conditions.ADMISSION_GATED_BY, conditions.PRIORITY_BOOST))
"""Annotations that scheduling reads."""
_QUIET = frozenset((conditions.QUOTA_RESERVED, conditions.ADMITTED))
_FAILED = ("Retry", "Rejected")


def _describe(workload: Workload) -> str:
    return f"Workload {workload.metadata.namespace}/{workload.metadata.name}"


def _says_nothing(status: WorkloadStatus) -> bool:
    """Whether a status is that of a workload which waits and never did anything else."""
    if status.admission or status.requeue_state or status.admission_checks or status.reclaimable_pods:
        return False
    for condition in status.conditions or ():
        if condition.type not in _QUIET or condition.status != "False" or condition.reason == "OnHold":
            return False
    return True


def _looks_alike(before: Facts | None, after: Facts) -> bool:
    """Whether a parked workload stays parked; admission checks and the end of a backoff do not matter (QC-27)."""
    return before is not None and (before.priority, before.timestamp, before.marks) == (
        after.priority,
        after.timestamp,
        after.marks,
    )


class Intake:
    """Keeps the rows of workloads as the objects say, except what a cycle assumed and nobody has seen yet."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.accounts = LocalQueueAccounts(state)
        self._places = Places(state)
        self._slices = Slices(state.tables, state.rows.records)
        self.second_pass = SecondPassQueue()
        gates = state.gates
        self._gated_by = gates.enabled("AdmissionGatedBy")
        self._boost = gates.enabled("PriorityBoost")
        self._sort_by_priority = gates.enabled("PrioritySortingWithinCohort")
        self._hashing = gates.enabled("SchedulingEquivalenceHashing")
        pods_ready = state.configuration.wait_for_pods_ready
        strategy = pods_ready.requeuing_strategy if pods_ready else None
        self._find_layout = state.layouts.find
        self._add_pending = state.rows.add_pending
        self._requeuing_timestamp = (strategy.timestamp if strategy else None) or "Eviction"

    def upsert(self, workload: Workload) -> None:
        """A Workload was created or changed. Raises InputError naming what cannot be read; nothing is changed then."""
        status = workload.status
        try:
            # What the second pass reads is read first: later it would be too late to refuse it.
            if status is not None and status.admission is not None:
                is_due(workload)
            self._upsert(workload)
        except InputError as error:
            raise error.located(object=_describe(workload)) from error
        except ValueError as error:
            raise InputError(str(error), object=_describe(workload)) from error
        if status is not None and status.admission is not None:
            key = f"{workload.metadata.namespace or ''}/{workload.metadata.name}"
            self.second_pass.offer(key, workload, 0, self._state.now_ns)

    def _upsert(self, workload: Workload) -> None:
        state = self._state
        namespace = workload.metadata.namespace or ""
        key = f"{namespace}/{workload.metadata.name}"
        record = state.rows.records.get(key)
        if record is not None and workload.metadata.uid not in (None, "", record.uid):
            self._drop(record)  # deleted and created again, and nobody saw it being gone
            record = None
        status = workload.status
        if (
            record is None
            and (status is None or _says_nothing(status))
            and self._take_new(workload, key, namespace)
        ):
            return
        reached = "pending" if status is None else conditions.workload_status(workload)
        if reached == "finished":
            if record is not None:
                self._drop(record)
            return
        if record is not None and workload.spec.active is False and reached == "pending":
            self.accounts.void(record)  # while it holds a reservation, it may still be admitted (QC-86)
        if (
            reached != "pending"
            and workload.spec.active is not False
            and status is not None
            and status.admission
        ):
            self._reserved(record, key, workload, status.admission, reached == "admitted")
        else:
            self._pending(record, key, namespace, workload)

    def delete(self, key: str) -> None:
        """A Workload is gone: its quota and its place are free."""
        record = self._state.rows.records.get(key)
        if record is not None:
            self._drop(record)

    def forget(self, key: str) -> None:
        """An assumed admission could not be written: the workload waits again, as it looks by now (QC-136)."""
        record = self._state.rows.records.get(key)
        if record is None or record.state != ASSUMED:
            return
        self.release(record)
        self.accounts.void(record)
        self._request_retry(record, NONE)
        record.state = PENDING
        self._place_anew(record)
        if record.late is not None:
            late, record.late = record.late, None
            self.upsert(late)

    def retry(self, key: str) -> None:
        """Look again at the ClusterQueue of this workload's LocalQueue."""
        record = self._state.rows.records.get(key)
        if record is not None:
            self._request_retry(record, NONE)

    # --- pending

    def _take_new(self, workload: Workload, key: str, namespace: str) -> bool:
        """Take in a workload without status or anything special about it, as most of a cluster's are when they come.

        Does what `_pending` does, in fewer steps: ingesting a backlog should cost less than parsing it. Returns whether
        it was so plain.
        """
        spec, metadata = workload.spec, workload.metadata
        entry = self._state.local_queues.get((namespace, spec.queue_name or ""))
        annotations = metadata.annotations
        if entry is None or spec.active is False or spec.preemption_gates:
            return False
        if annotations and not _TELLING.isdisjoint(annotations):
            return False
        layout = self._find_layout(workload, namespace)
        created = metadata.creation_timestamp
        generation = metadata.generation
        facts = Facts(spec.priority or 0, times.parse(created) if created else 0, 0, False, False, generation)
        record = Record(key, namespace, NONE, metadata.uid or "", PENDING, True, layout, facts, entry.number)
        self._add_pending(record, entry.row, entry.namespace, self._shape(layout, facts), generation)
        self._slices.came(record)
        return True

    def _pending(self, record: Record | None, key: str, namespace: str, workload: Workload) -> None:
        state = self._state
        if record is not None and record.state == ASSUMED:
            record.late = workload  # the reservation is on its way, unless it cannot be written
            return
        layout = state.layouts.find(workload, namespace)
        facts = self.facts(workload)
        name = workload.spec.queue_name or ""
        entry = state.local_queues.get((namespace, name))
        if entry is None:
            local_queue, queue = state.local_queue_number(namespace, name), NONE
        else:
            local_queue, queue = entry.number, entry.row
        if record is None:
            record = state.rows.add(key, namespace, workload.metadata.uid or "")
            changed = True
        elif record.state != PENDING:
            self._evicted(record)
            self.accounts.moved(record, local_queue)
            changed = True
            if facts.requeue_at > state.now_ns:
                state.backing_off.add(key)
        else:
            state.backing_off.discard(key)
            changed = record.layout is not layout or not _looks_alike(record.facts, facts)
            self.accounts.moved(record, local_queue)
            if record.local_queue != local_queue or state.tables.workloads.queue[record.row] != queue:
                state.tables.pending.remove(record.row)
                changed = True
        state.rows.write_pending(record, layout, queue, local_queue, facts, self._shape(layout, facts))
        self._slices.write(record, workload.metadata.annotations)
        status = workload.status
        state.tables.workloads.unhealthy[record.row] = status is not None and bool(status.unhealthy_nodes)
        if state.tables.scheduler.preemption_gates or workload.metadata.generation:
            state.tables.workloads.mark_pending(
                record.row, workload.metadata.generation or 0, conditions.has_closed_preemption_gate(workload)
            )
        record.queueable = conditions.is_admissible(workload, admission_gated_by=self._gated_by)
        if not record.queueable:
            state.tables.pending.remove(record.row)
        elif queue != NONE:
            state.tables.pending.put(record.row, state.now_ns, changed)

    def facts(self, workload: Workload) -> Facts:
        """What decides the place of a pending workload in its queue."""
        status = workload.status
        timestamp = conditions.queue_timestamp(
            workload,
            requeuing_timestamp=self._requeuing_timestamp,
            priority_sorting_within_cohort=self._sort_by_priority,
        )
        priority = conditions.effective_priority(workload, priority_boost=self._boost)
        if status is None:
            return Facts(priority, timestamp, 0, False, False, self._marks(workload, None, None))
        requeued = conditions.find(status.conditions, conditions.REQUEUED)
        requeue_at = status.requeue_state.requeue_at if status.requeue_state else None
        return Facts(
            priority,
            timestamp,
            times.parse(requeue_at) if requeue_at else 0,
            requeued is not None and requeued.status == "False",
            any(check.state in _FAILED for check in status.admission_checks or ()),
            self._marks(workload, conditions.find(status.conditions, conditions.EVICTED), requeued),
        )

    def _marks(self, workload: Workload, evicted: Condition | None, requeued: Condition | None) -> object:
        """What else makes a parked workload worth another look when it changes (QC-27)."""
        closed = bool(workload.spec.preemption_gates) and conditions.has_closed_preemption_gate(workload)
        if evicted is None and requeued is None and not closed:
            return workload.metadata.generation
        return workload.metadata.generation, closed, evicted, requeued

    def _place_anew(self, record: Record) -> None:
        """Rebuild the row of a workload whose slots held a reservation, and queue it, whatever its class (QC-136)."""
        state = self._state
        layout, facts = record.layout, record.facts
        assert layout is not None and facts is not None
        record.state = RESERVED  # so that the slots are laid out anew
        queue = state.queue_row(*self._local_queue_name(record))
        state.rows.write_pending(record, layout, queue, record.local_queue, facts, self._shape(layout, facts))
        if queue != NONE and record.queueable:
            state.tables.pending.put_back(record.row)

    def place_again(self, records: Iterable[Record]) -> None:
        """The queue that these workloads name came, was resumed, or leads elsewhere now (QC-6, QC-8, QC-29)."""
        state = self._state
        for record in records:
            if record.state != PENDING:
                continue
            state.backing_off.discard(record.key)
            queue = state.queue_row(*self._local_queue_name(record))
            state.tables.pending.remove(record.row)
            state.tables.workloads.queue[record.row] = queue
            if queue != NONE and record.queueable:
                state.tables.pending.put_back(record.row)

    def adjust_again(self, records: Iterable[Record]) -> None:
        """What is filled into pod specs changed: lay pending workloads out anew, where that changes them (QC-154)."""
        state = self._state
        for record in list(records):
            layout, facts = record.layout, record.facts
            if record.state != PENDING or layout is None or facts is None:
                continue
            new = state.layouts.renew(layout, record.namespace)
            changed = new.shape != layout.shape or new.violation != layout.violation
            queue = state.queue_row(*self._local_queue_name(record))
            state.rows.write_pending(record, new, queue, record.local_queue, facts, self._shape(new, facts))
            if queue != NONE and record.queueable:
                state.tables.pending.put(record.row, state.now_ns, changed)

    def _shape(self, layout: Layout, facts: Facts) -> int:
        """Class of scheduling equivalence; NONE without the gate, which never matches (QC-43)."""
        if not self._hashing:
            return NONE
        priority = facts.priority
        found = layout.shape_ids.get(priority)
        if found is None:
            shapes = self._state.shapes
            found = layout.shape_ids[priority] = shapes.setdefault((layout.shape, priority), len(shapes))
        return found

    def _local_queue_name(self, record: Record) -> tuple[str, str]:
        return self._state.local_queue_names[record.local_queue]

    # --- reserved

    def _reserved(
        self, record: Record | None, key: str, workload: Workload, admission: Admission, admitted: bool
    ) -> None:
        state = self._state
        reached = ADMITTED if admitted else RESERVED
        assignments = self._assignments(workload, admission)
        signature = (admission.cluster_queue, assignments)
        since = self._reserved_at(workload)
        if record is not None and record.state != PENDING and record.admission == signature:
            self._write_facts(record, workload)
            before, record.state, record.late = record.state, reached, None
            self._write_marks(record, workload, since)
            self.accounts.changed(record, before)
            if before != ADMITTED and admitted:
                self.accounts.admitted(record)
            queue = state.cluster_queues.get(admission.cluster_queue)
            if queue is not None:
                # upstream replaces the workload in its cache, which advances the generation (QP-217)
                state.tables.scheduler.touch(queue.row)
            return
        namespace = workload.metadata.namespace or ""
        layout = state.layouts.find(workload, namespace)
        facts = self.facts(workload)
        local_queue = state.local_queue_number(namespace, workload.spec.queue_name or "")
        came_to_be_admitted = admitted and record is not None and record.state != ADMITTED
        if record is None:
            record = state.rows.add(key, namespace, workload.metadata.uid or "")
        elif record.state == PENDING:
            state.backing_off.discard(key)
            state.tables.pending.remove(record.row)
            self.accounts.moved(record, local_queue)
        else:
            scaled_down = record.layout is not layout
            self.release(record)
            self.accounts.moved(record, local_queue)
            if scaled_down:
                self._request_retry(record, NONE)
        state.rows.write_reserved(record, workload, layout, local_queue, facts)
        self._slices.write(record, workload.metadata.annotations)
        record.state = reached
        record.admission = signature
        record.late = None
        record.queueable = False
        self.book(record)
        self._write_marks(record, workload, since)
        if came_to_be_admitted:
            self.accounts.admitted(record)

    def _write_facts(self, record: Record, workload: Workload) -> None:
        """Priority and queue of a workload that holds its quota may change; who waits is looked at again (QC-34)."""
        facts = self.facts(workload)
        number = self._state.local_queue_number(
            workload.metadata.namespace or "", workload.spec.queue_name or ""
        )
        if facts == record.facts and number == record.local_queue:
            return
        self.accounts.moved(record, number)
        before, record.facts, record.local_queue = record.facts, facts, number
        self._state.tables.workloads.write_held(record.row, number, facts.priority, facts.timestamp)
        if before is None or before.priority != facts.priority:
            self._request_retry(record, NONE)

    def _reserved_at(self, workload: Workload) -> int:
        """Since when a workload holds its quota; NONE where the object does not say."""
        found = workload.status.conditions if workload.status else None
        reserved = conditions.find(found, conditions.QUOTA_RESERVED)
        since = reserved.last_transition_time if reserved is not None else None
        return times.parse(since) if since else NONE

    def _write_marks(self, record: Record, workload: Workload, since: int) -> None:
        """What preemption asks of a workload that holds quota: whether it stops, and since when it holds it."""
        kernel = self._state.tables.workloads
        evicted = conditions.is_true(
            workload.status.conditions if workload.status else None, conditions.EVICTED
        )
        kernel.mark_held(
            record.row, record.state == ADMITTED, evicted, since,
            workload.metadata.generation or 0, conditions.has_closed_preemption_gate(workload),
        )  # fmt: skip

    def _assignments(self, workload: Workload, admission: Admission) -> tuple[PodSetAssignment, ...]:
        found = []
        reclaimed = workload.status.reclaimable_pods if workload.status else None
        full = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets or ()}
        for number, one in enumerate(admission.pod_set_assignments or ()):
            try:
                usage = {
                    name: request_value(name, value) for name, value in (one.resource_usage or {}).items()
                }
            except ValueError as error:
                raise InputError(
                    str(error),
                    field=f"$.status.admission.podSetAssignments[{number}].resourceUsage",
                ) from error
            count = full.get(one.name, 0) if one.count is None else one.count
            placement = None
            if one.topology_assignment:
                at = f"$.status.admission.podSetAssignments[{number}].topologyAssignment"
                levels, domains = topology_assignment.decode(one.topology_assignment, at)
                placement = Placement(levels, tuple(domains))
            found.append(
                PodSetAssignment(
                    one.name, count, one.flavors or {}, usage, placement, one.delayed_topology_request
                )
            )
        scaled = {one.name: full[one.name] for one in found if full.get(one.name, one.count) < one.count}
        if scaled:
            # fewer pods than were admitted hold less: such a change is one of the admission (QC-62)
            found.append(PodSetAssignment("", 1, {}, scaled))
        if reclaimed:
            gone = {f"-{pod.name}": pod.count for pod in reclaimed}
            found.append(PodSetAssignment("", 0, {}, gone))
        return tuple(found)

    def book(self, record: Record) -> None:
        """Book the quota of a reserved workload, if its ClusterQueue exists (QP-211, QP-216)."""
        assert record.admission is not None
        queue = self._state.cluster_queues.get(record.admission[0])
        if queue is None:
            self._state.unbooked.setdefault(record.admission[0], set()).add(record.key)
            return
        self._state.tree.refresh()
        self._places.write(record)
        self._state.tables.scheduler.book(record.row, queue.row)
        self.accounts.booked(record)

    def rebook(self, record: Record) -> None:
        """Book the places of a workload again, as its assignment says."""
        self._places.rebook(record)

    def place_bookings(self, flavors: Iterable[str]) -> None:
        """The trees of these flavors came or went: book the places of workloads anew."""
        for flavor in flavors:
            if self._state.topology.exists(flavor):
                self._places.flavor_came(flavor)
            else:
                self._places.flavor_went(flavor)

    def release(self, record: Record) -> None:
        """Give back the quota of a workload that holds some."""
        state = self._state
        queue = state.tables.workloads.reserved_in[record.row]
        if queue == NONE:
            return
        state.tree.refresh()
        self.accounts.releasing(record)
        state.unplaced.discard(record.key)
        state.tables.scheduler.release(record.row)

    # --- ends

    def _evicted(self, record: Record) -> None:
        """A reservation was taken back: the quota is free, and who waited for it is looked at again."""
        row = self._state.tables.workloads.reserved_in[record.row]
        self.release(record)
        self._request_retry(record, row)

    def _drop(self, record: Record) -> None:
        state = self._state
        row = state.tables.workloads.reserved_in[record.row]
        self.release(record)
        self.second_pass.forget(record.key)
        self.accounts.void(record)
        state.backing_off.discard(record.key)
        state.tables.pending.remove(record.row)
        self._request_retry(record, row)
        self._slices.remove(record)
        state.rows.remove(record)

    def _request_retry(self, record: Record, reserved_in: int) -> None:
        """Look again at the ClusterQueue of its LocalQueue, and at the one that held its quota (QC-34, QC-35)."""
        state = self._state
        by_name = state.local_queues.get(self._local_queue_name(record))
        queue = state.cluster_queues.get(by_name.cluster_queue) if by_name is not None else None
        rows = {reserved_in} | (
            {queue.row} if queue is not None and by_name is not None and not by_name.held else set()
        )
        for row in rows - {NONE}:
            state.retries.request(row, state.now_ns)
