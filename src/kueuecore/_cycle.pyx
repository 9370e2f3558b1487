"""The cycle as numbered steps. See the .pxd, and docs/architecture.md for the picture."""

from libc.stdint cimport int64_t
from libc.stdlib cimport realloc

from kueuecore._order cimport Entry, sort_classical
from kueuecore._settle cimport Settler
from kueuecore._types cimport (
    ADMITTED, DISPLACED, MODE_NO_FIT, NAMESPACE_MATCHES, NAMESPACE_MISSING, NONE, REFUSED_CHECKS,
    REFUSED_INACTIVE, REFUSED_INVALID, REFUSED_NAMESPACE_MISMATCH, REFUSED_NAMESPACE_MISSING, REQUEUE_GENERIC,
    REQUEUE_NAMESPACE_MISMATCH, index_t,
)


cdef class CycleRunner(Settler):
    """Runs cycles. `Scheduler` adds what is read and written between them."""

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
        if self.second_pass.count > 0:
            self.second_pass.set([])
        return self.entry_count

    # --- 1 heads, 2 nominate

    cdef int take_heads(self, int64_t now) except -1 nogil:
        """Pop one head a ClusterQueue and nominate it against the same untouched usage (QC-48, QC-92)."""
        cdef Py_ssize_t i, count = self.queue_order.shape[0] + self.second_pass.count
        cdef index_t workload
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
        self.take_second_pass()
        for i in range(self.queue_order.shape[0]):
            workload = self.pending.pop(self.queue_order[i])
            if workload == NONE:
                continue
            entry = self.new_entry(workload, self.queue_order[i])
            entry.scan_before = self.scan_mark(workload)
            entry.is_preemptor = self.pending.is_preemptor(entry.queue, workload)
            entry.nominated = not self.refuse(entry)
            if entry.nominated:
                self.nominate(entry)
        if self.preemptor.fair_sharing and self.second_pass.count > 0:
            self.yield_to_heads()
        return 0

    cdef Entry* new_entry(self, index_t workload, index_t queue) noexcept nogil:
        cdef Entry* entry = &self.entries[self.entry_count]
        self.entry_count += 1
        entry.workload = workload
        entry.queue = queue
        entry.mode = MODE_NO_FIT
        entry.borrowing = 0
        entry.result_count = entry.choice_count = entry.usage_count = entry.reason_count = entry.domain_count = 0
        entry.targets = entry.target_count = 0
        entry.attempt_count = entry.attempt_reason_count = 0
        entry.scan_before = 0
        entry.is_preemptor = False
        entry.again = entry.fails_fast = False
        entry.replaced = NONE
        return entry

    cdef int take_second_pass(self) except -1 nogil:
        """Those that hold their quota come first (TP-1602)."""
        cdef Py_ssize_t i
        cdef Entry* entry
        for i in range(self.second_pass.count):
            entry = self.new_entry(
                self.second_pass.workload[i], self.workloads.reserved_in[self.second_pass.workload[i]]
            )
            entry.again = True
            entry.again_number = i
            entry.fails_fast = self.second_pass.fails_fast[i]
            entry.nominated = not self.refuse(entry)
            if entry.nominated:
                self.assigner.nominate_again(i, entry.workload, entry.queue)
                self.take_assignment(entry)
        return 0

    cdef int yield_to_heads(self) except -1 nogil:
        """The fair tournament keeps one entry a ClusterQueue, the last that came (TP-1109)."""
        cdef Py_ssize_t i, k
        for i in range(self.second_pass.count):
            for k in range(i + 1, self.entry_count):
                if self.entries[i].nominated and self.entries[k].nominated and (
                    self.entries[k].queue == self.entries[i].queue
                ):
                    self.entries[i].nominated = False
                    self.entries[i].outcome = DISPLACED
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

    # --- 6 requeue

    cdef int put_back(self, int64_t now) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(self.entry_count):
            if self.entries[i].again:
                continue
            if not (self.entries[i].nominated and self.entries[i].outcome == ADMITTED):
                if self.scan_mark(self.entries[i].workload) != self.entries[i].scan_before:
                    self.progressed = True
                self.pending.requeue(
                    self.entries[i].queue, self.entries[i].workload, self.entries[i].requeue, now
                )
        return 0
