"""The cycle as numbered steps. See the .pxd for its state, and docs/architecture.md for the picture."""

import numpy as np

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from kueuecore._amount cimport add, floored, sub
from kueuecore._assign cimport Choice, PodSetResult, Reason
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held
from kueuecore._journal cimport Journal
from kueuecore._order cimport Entry, sort_classical
from kueuecore._pending cimport Pending
from kueuecore._fairpreempt cimport FairPreemptor
from kueuecore._nominate cimport Nominator
from kueuecore._preempt cimport Target
from kueuecore._tournament cimport Tournament
from kueuecore._candidates cimport POLICY_ANY
from kueuecore._types cimport (
    ADMITTED, DEFERRED, MODE_DEFERRED_FIT, MODE_FIT, MODE_NO_FIT, MODE_PREEMPT, NAMESPACE_MATCHES,
    NAMESPACE_MISSING, NEVER_TRIED, NONE, PREEMPTING, REFUSED_CHECKS, REFUSED_GATED, REFUSED_INACTIVE,
    REFUSED_INVALID, REFUSED_NAMESPACE_MISMATCH, REFUSED_NAMESPACE_MISSING, REFUSED_NO_CANDIDATES, REFUSED_NO_FIT,
    REQUEUE_FAILED_AFTER_NOMINATION, REQUEUE_GENERIC, REQUEUE_NAMESPACE_MISMATCH, REQUEUE_NO_CANDIDATES,
    REQUEUE_NO_FIT, REQUEUE_PENDING_PREEMPTION, REQUEUE_PREEMPTION_GATED, SKIPPED_NO_LONGER_FITS, SKIPPED_OVERLAP,
    amount_t, index_t,
)
from kueuecore._usage cimport ColumnUsage, Usage
from kueuecore._victims cimport Victims
from kueuecore._workloads cimport Workloads


cdef class CycleRunner:
    """The tables of one cluster, and the cycle on them. `Scheduler` adds what is read and written between cycles."""

    def __cinit__(self):
        self.entries = NULL
        self.order = NULL
        self.scratch = NULL
        self.arena = NULL
        self.entry_count = self.entry_capacity = self.nominated_count = 0
        self.arena_length = self.arena_capacity = 0

    def __init__(self, Forest forest not None, Flavors flavors not None, Workloads workloads not None,
                 Pending pending not None):
        if pending.workloads is not workloads:
            raise ValueError("pending: expected to be made for the same workloads")
        self.forest = forest
        self.flavors = flavors
        self.workloads = workloads
        self.pending = pending
        self.journal = Journal()
        self.held = Held()
        self.usage = Usage(forest, flavors, workloads, self.journal)
        self.preemptor = FairPreemptor(forest, flavors, workloads, self.held, self.journal)
        self.assigner = Nominator(self.preemptor)
        self.victims = Victims(forest, workloads, self.usage)
        self.tournament = Tournament(forest, workloads, self.preemptor.shares, self.journal)
        self.queue_order = np.zeros(0, np.int32)
        self.preserve_scan_progress = True
        self.sort_by_priority = True
        self.preemptors_first = False
        self.recompute_on_overlap = False
        self.preemption_gates = False
        self.cycle = 0

    def __dealloc__(self):
        free(self.entries)
        free(self.order)
        free(self.scratch)
        free(self.arena)

    def run(self, int64_t now):
        """Run one cycle at `now` (ns since the epoch) with the GIL released; returns the number of heads.

        Admitted workloads are assumed: their quota is booked when this returns. Source: QC-89.
        """
        cdef Py_ssize_t i
        self.cycle += 1
        self.now = now
        self.preemptor.candidates.now = now
        with nogil:
            self.take_heads(now)                                   # 1 heads, 2 nominate
            if self.preemptor.fair_sharing:                        # 3 order, 4 process: each choice sees the last
                self.tournament.start(self.entries, self.arena, self.entry_count)
                i = self.tournament.pop(self.entries, self.arena, self.entry_count)
                while i >= 0:
                    self.order[self.nominated_count] = <index_t> i
                    self.nominated_count += 1
                    self.process(&self.entries[i])
                    i = self.tournament.pop(self.entries, self.arena, self.entry_count)
            else:
                for i in range(self.entry_count):
                    if self.entries[i].nominated:
                        self.order[self.nominated_count] = <index_t> i
                        self.nominated_count += 1
                sort_classical(                                    # 3 order
                    self.entries, self.order, self.scratch, self.nominated_count, self.workloads,
                    self.sort_by_priority, self.preemptors_first,
                )
                for i in range(self.nominated_count):              # 4 process
                    self.process(&self.entries[self.order[i]])
            self.settle_usage()                                    # 5 keep what is admitted
            self.put_back(now)                                     # 6 requeue
        return self.entry_count

    # --- 1 heads, 2 nominate

    cdef int take_heads(self, int64_t now) except -1 nogil:
        """Pop one head a ClusterQueue and nominate it against the same untouched usage (QC-48, QC-92)."""
        cdef Py_ssize_t i, count = self.queue_order.shape[0]
        cdef index_t queue, workload
        cdef Entry* entry
        cdef void* grown
        if count > self.entry_capacity:
            grown = realloc(self.entries, count * sizeof(Entry))
            if grown != NULL:
                self.entries = <Entry*> grown
                grown = realloc(self.order, count * sizeof(index_t))
            if grown != NULL:
                self.order = <index_t*> grown
                grown = realloc(self.scratch, count * sizeof(index_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("entries")
            self.scratch = <index_t*> grown
            self.entry_capacity = count
        self.entry_count = self.nominated_count = 0
        self.arena_length = 0
        self.journal.length = 0
        self.reserved = False
        self.progressed = False
        self.victims.start(self.cycle)
        for i in range(count):
            queue = self.queue_order[i]
            workload = self.pending.pop(queue)
            if workload == NONE:
                continue
            entry = &self.entries[self.entry_count]
            self.entry_count += 1
            entry.workload = workload
            entry.queue = queue
            entry.mode = MODE_NO_FIT
            entry.borrowing = 0
            entry.result_count = entry.choice_count = entry.usage_count = entry.reason_count = 0
            entry.targets = entry.target_count = 0
            entry.scan_before = self.scan_mark(workload)
            entry.is_preemptor = self.pending.is_preemptor(queue, workload)
            entry.nominated = not self.refuse(entry)
            if entry.nominated:
                self.nominate(entry)
        return 0

    cdef bint refuse(self, Entry* entry) noexcept nogil:
        """Whether a head is refused before any flavor is looked at (QC-92)."""
        cdef unsigned char match
        entry.requeue = REQUEUE_GENERIC
        if self.workloads.checks_failed[entry.workload]:
            entry.outcome = REFUSED_CHECKS
            return True
        if not self.forest.in_snapshot[entry.queue]:
            entry.outcome = REFUSED_INACTIVE
            return True
        match = self.pending.namespace_match[entry.queue, self.workloads.namespace[entry.workload]]
        if match == NAMESPACE_MISSING:
            entry.outcome = REFUSED_NAMESPACE_MISSING
            return True
        if match != NAMESPACE_MATCHES:
            entry.outcome = REFUSED_NAMESPACE_MISMATCH
            entry.requeue = REQUEUE_NAMESPACE_MISMATCH
            return True
        if self.workloads.invalid[entry.workload]:
            entry.outcome = REFUSED_INVALID
            return True
        return False

    cdef int nominate(self, Entry* entry) except -1 nogil:
        cdef index_t workload = entry.workload
        cdef index_t queue = entry.queue
        if self.workloads.tried_cycle[workload] != NONE and self.is_outdated(workload, queue):
            self.workloads.drop_progress(workload)
        self.assigner.nominate(workload, queue)
        return self.take_assignment(entry)

    cdef int take_assignment(self, Entry* entry) except -1 nogil:
        """Keep what the assigner found for an entry."""
        self.record_progress(entry.workload, entry.queue)
        entry.mode = self.assigner.mode
        entry.borrowing = self.assigner.borrowing
        entry.result_count = self.assigner.result_count
        entry.results = self.keep(self.assigner.results, self.assigner.result_count * sizeof(PodSetResult))
        entry.choice_count = self.assigner.choice_count
        entry.choices = self.keep(self.assigner.choices, self.assigner.choice_count * sizeof(Choice))
        entry.usage_count = self.assigner.usage_count
        entry.usage = self.keep(self.assigner.usage, self.assigner.usage_count * sizeof(ColumnUsage))
        entry.target_count = self.preemptor.target_count if self.assigner.has_targets else 0
        entry.targets = self.keep(self.preemptor.targets, entry.target_count * sizeof(Target))
        entry.reason_count = self.assigner.reason_count
        entry.reasons = self.keep(self.assigner.reasons, self.assigner.reason_count * sizeof(Reason))
        return 0

    cdef bint is_outdated(self, index_t workload, index_t queue) noexcept nogil:
        """Whether the recorded flavor scan no longer means anything (QC-98, QP-503)."""
        if self.preserve_scan_progress:
            if (
                self.workloads.tried_shape[workload] != NONE and self.workloads.shape[workload] != NONE
                and self.workloads.tried_shape[workload] != self.workloads.shape[workload]
            ):
                return True
            if self.cycle - self.workloads.tried_cycle[workload] <= 1:
                return False
        return self.forest.generation[queue] > self.workloads.tried_generation[workload]

    cdef int64_t scan_mark(self, index_t workload) noexcept nogil:
        """A fingerprint of the recorded flavor scan: a cycle that leaves all of them as they were is at rest."""
        cdef Py_ssize_t s
        cdef unsigned long long mark = 0
        if self.workloads.tried_cycle[workload] == NONE:
            return 0
        for s in range(self.workloads.slot_start[workload],
                       self.workloads.slot_start[workload] + self.workloads.slot_length[workload]):
            mark = (mark ^ <unsigned long long> (self.workloads.slot_tried[s] + 3)) * 0x100000001B3ULL + 1
        return <int64_t> mark

    cdef void record_progress(self, index_t workload, index_t queue) noexcept nogil:
        """Remember where the scan of each resource stopped (QP-502)."""
        cdef Py_ssize_t start = self.workloads.slot_start[workload]
        cdef Py_ssize_t length = self.workloads.slot_length[workload]
        cdef Py_ssize_t i, s
        cdef Choice* choice
        for s in range(start, start + length):
            self.workloads.slot_tried[s] = NEVER_TRIED
        for i in range(self.assigner.choice_count):
            choice = &self.assigner.choices[i]
            if choice.flavor != NONE:
                self.workloads.slot_tried[start + choice.slot] = choice.tried
        self.workloads.tried_cycle[workload] = self.cycle
        self.workloads.tried_generation[workload] = self.forest.generation[queue]
        self.workloads.tried_shape[workload] = self.workloads.shape[workload]

    cdef Py_ssize_t keep(self, const void* data, Py_ssize_t size) except -1 nogil:
        """Copy bytes to the arena; returns their offset. All sizes are multiples of 8, so all stays aligned."""
        cdef Py_ssize_t offset = self.arena_length
        cdef Py_ssize_t capacity
        cdef char* grown
        if offset + size > self.arena_capacity:
            capacity = 2 * (offset + size) + 4096
            grown = <char*> realloc(self.arena, capacity)
            if grown == NULL:
                with gil:
                    raise MemoryError("decisions")
            self.arena = grown
            self.arena_capacity = capacity
        if data != NULL and size > 0:
            memcpy(self.arena + offset, data, size)
        self.arena_length = offset + size
        return offset

    # --- 4 process

    cdef int process(self, Entry* entry) except -1 nogil:
        """Decide one entry against the usage that earlier ones left (QC-115..131)."""
        cdef bint fits
        if self.recompute_on_overlap and self.victims.has_any(
            <Target*> (self.arena + entry.targets), entry.target_count
        ):
            self.recompute(entry)
        if entry.mode == MODE_NO_FIT:
            entry.outcome = REFUSED_NO_FIT
            entry.requeue = REQUEUE_NO_FIT
            return 0
        if entry.mode == MODE_PREEMPT:
            if entry.target_count == 0:
                entry.outcome = REFUSED_NO_CANDIDATES
                entry.requeue = REQUEUE_NO_CANDIDATES
                if self.flavors.reclaim_policy[entry.queue] != POLICY_ANY or (
                    self.preemptors_first and entry.is_preemptor
                ):
                    return self.reserve_capacity(entry)
                return 0
            if self.preemption_gates and self.workloads.gate_closed[entry.workload]:
                entry.outcome = REFUSED_GATED
                entry.requeue = REQUEUE_PREEMPTION_GATED
                self.workloads.drop_progress(entry.workload)
                return 0
        if entry.mode == MODE_DEFERRED_FIT:
            entry.outcome = DEFERRED
            entry.requeue = REQUEUE_PENDING_PREEMPTION
            self.workloads.drop_progress(entry.workload)
            self.reserved = True
            return self.book_entry(entry)
        # the arena may have moved while the entry was recomputed
        if self.victims.has_any(<Target*> (self.arena + entry.targets), entry.target_count):
            entry.outcome = SKIPPED_OVERLAP
            fits = False
        else:
            fits = self.fits(entry)
            entry.outcome = SKIPPED_NO_LONGER_FITS
        if not fits:
            entry.requeue = REQUEUE_FAILED_AFTER_NOMINATION
            if not self.preserve_scan_progress:
                self.workloads.drop_progress(entry.workload)
            return 0
        self.victims.add(
            self.forest.root_of(entry.queue), <Target*> (self.arena + entry.targets), entry.target_count
        )
        self.book_entry(entry)
        if entry.mode == MODE_PREEMPT:
            self.reserved = True
            entry.outcome = PREEMPTING
            entry.requeue = REQUEUE_PENDING_PREEMPTION
            self.workloads.drop_progress(entry.workload)
            return self.victims.issue(
                entry.workload, <Target*> (self.arena + entry.targets), entry.target_count
            )
        entry.outcome = ADMITTED
        return 0

    cdef int recompute(self, Entry* entry) except -1 nogil:
        """Nominate again as if earlier victims of the cycle were gone, on the nominated flavors (QC-118..120)."""
        cdef Py_ssize_t mark = self.journal.length
        cdef index_t root = self.forest.root_of(entry.queue)
        self.victims.take_off(root)
        self.victims.exclude(root, True)
        self.workloads.drop_progress(entry.workload)
        self.assigner.pinned_choices = <Choice*> (self.arena + entry.choices)
        self.assigner.pinned_results = <PodSetResult*> (self.arena + entry.results)
        self.assigner.nominate(entry.workload, entry.queue)
        self.assigner.pinned_choices = NULL
        self.assigner.pinned_results = NULL
        self.take_assignment(entry)
        self.victims.exclude(root, False)
        self.forest.roll_back(self.journal, mark)
        if entry.mode == MODE_FIT:
            entry.mode = MODE_DEFERRED_FIT
        return 0

    cdef bint fits(self, Entry* entry) except -1 nogil:
        """Whether the entry fits once all victims of the cycle and its own are gone (QC-117)."""
        cdef Target* targets = <Target*> (self.arena + entry.targets)
        cdef Py_ssize_t mark = self.journal.length
        cdef Py_ssize_t i
        cdef bint fits
        self.victims.take_off(self.forest.root_of(entry.queue))
        for i in range(entry.target_count):
            if not self.victims.has(targets[i].workload):
                self.usage.remove(targets[i].workload, targets[i].queue)
        fits = self.has_quota(entry)
        self.forest.roll_back(self.journal, mark)
        return fits

    cdef bint has_quota(self, Entry* entry) noexcept nogil:
        cdef ColumnUsage* usage = <ColumnUsage*> (self.arena + entry.usage)
        cdef Py_ssize_t i
        for i in range(entry.usage_count):
            if floored(self.forest.available(entry.queue, usage[i].column)) < usage[i].amount:
                return False
        return True

    cdef int book_entry(self, Entry* entry) except -1 nogil:
        cdef ColumnUsage* usage = <ColumnUsage*> (self.arena + entry.usage)
        cdef Py_ssize_t i
        for i in range(entry.usage_count):
            self.forest.add_usage(entry.queue, usage[i].column, usage[i].amount, self.journal)
        return 0

    cdef int reserve_capacity(self, Entry* entry) except -1 nogil:
        """Hold quota, for this cycle, for one that cannot be sure to get it back (QC-124, QP-807)."""
        cdef ColumnUsage* usage = <ColumnUsage*> (self.arena + entry.usage)
        cdef Py_ssize_t i
        cdef index_t queue = entry.queue, column
        cdef amount_t amount, room
        for i in range(entry.usage_count):
            column = usage[i].column
            amount = usage[i].amount
            if entry.borrowing > 0:
                if self.forest.has_borrow_limit[queue, column]:
                    # may be negative, and is booked as it is, like upstream's
                    room = sub(
                        add(self.forest.nominal[queue, column], self.forest.borrow_limit[queue, column]),
                        self.forest.usage[queue, column],
                    )
                    amount = amount if amount < room else room
            else:
                room = sub(self.forest.nominal[queue, column], self.forest.usage[queue, column])
                amount = floored(amount if amount < room else room)
            self.forest.add_usage(queue, column, amount, self.journal)
            self.reserved = True
        return 0

    # --- 5 keep what is admitted

    cdef int settle_usage(self) except -1 nogil:
        """Leave exactly the admitted workloads booked, in processing order."""
        cdef Py_ssize_t i
        cdef Entry* entry
        if self.reserved:
            self.forest.roll_back(self.journal, 0)
        for i in range(self.nominated_count):
            entry = &self.entries[self.order[i]]
            if entry.outcome != ADMITTED:
                continue
            if self.reserved:
                self.book_entry(entry)
            self.assume(entry)
        self.journal.length = 0
        return 0

    cdef int assume(self, Entry* entry) except -1 nogil:
        """The workload holds its quota from now on (QC-135)."""
        cdef Choice* choices = <Choice*> (self.arena + entry.choices)
        cdef Py_ssize_t start = self.workloads.slot_start[entry.workload]
        cdef Py_ssize_t i
        self.workloads.drop_progress(entry.workload)
        for i in range(entry.choice_count):
            self.workloads.slot_flavor[start + choices[i].slot] = choices[i].flavor
            self.workloads.slot_resource[start + choices[i].slot] = choices[i].resource
            self.workloads.slot_amount[start + choices[i].slot] = choices[i].amount
        self.workloads.reserved_in[entry.workload] = entry.queue
        self.workloads.reserved_at[entry.workload] = self.now
        self.workloads.admitted[entry.workload] = False
        self.workloads.evicted[entry.workload] = False
        self.workloads.evicting[entry.workload] = False
        self.held.add(entry.queue, entry.workload)
        return self.pending.settle(entry.queue, entry.workload)

    # --- 6 requeue

    cdef int put_back(self, int64_t now) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(self.entry_count):
            if not (self.entries[i].nominated and self.entries[i].outcome == ADMITTED):
                if self.scan_mark(self.entries[i].workload) != self.entries[i].scan_before:
                    self.progressed = True
                self.pending.requeue(
                    self.entries[i].queue, self.entries[i].workload, self.entries[i].requeue, now
                )
        return 0
