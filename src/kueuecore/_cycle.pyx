"""The cycle as numbered steps. See the .pxd for its state, and docs/architecture.md for the picture."""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from kueuecore._amount cimport UNLIMITED, add, add_plain, floored, sub
from kueuecore._assign cimport Assigner, Choice, ColumnUsage, PodSetResult, Reason
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._journal cimport Journal
from kueuecore._order cimport Entry, sort_classical
from kueuecore._pending cimport Pending
from kueuecore._types cimport (
    ADMITTED, MODE_FIT, MODE_NO_FIT, MODE_PREEMPT, NAMESPACE_MATCHES, NAMESPACE_MISSING, NEVER_TRIED, NONE,
    REFUSED_CHECKS, REFUSED_INACTIVE, REFUSED_INVALID, REFUSED_NAMESPACE_MISMATCH, REFUSED_NAMESPACE_MISSING, REFUSED_NO_CANDIDATES,
    REFUSED_NO_FIT, REQUEUE_FAILED_AFTER_NOMINATION, REQUEUE_GENERIC, REQUEUE_NAMESPACE_MISMATCH,
    REQUEUE_NO_CANDIDATES, REQUEUE_NO_FIT, SKIPPED_NO_LONGER_FITS, amount_t, index_t,
)
from kueuecore._workloads cimport Workloads


cdef struct DetailHead:      # in the bytes of an admission: one pod set, then `length` DetailItems
    int64_t count
    int32_t name
    int32_t length


cdef struct DetailItem:
    int32_t resource
    int32_t flavor
    int64_t amount


cdef class Scheduler:
    """The tables of one cluster, and the cycle on them."""

    def __cinit__(self):
        self.entries = NULL
        self.order = NULL
        self.scratch = NULL
        self.arena = NULL
        self.columns = NULL
        self.entry_count = self.entry_capacity = self.nominated_count = 0
        self.arena_length = self.arena_capacity = 0
        self.column_count = self.column_capacity = 0

    def __init__(self, Forest forest not None, Flavors flavors not None, Workloads workloads not None,
                 Pending pending not None):
        if pending.workloads is not workloads:
            raise ValueError("pending: expected to be made for the same workloads")
        self.forest = forest
        self.flavors = flavors
        self.workloads = workloads
        self.pending = pending
        self.assigner = Assigner(forest, flavors, workloads)
        self.journal = Journal()
        self.queue_order = np.zeros(0, np.int32)
        self.preserve_scan_progress = True
        self.sort_by_priority = True
        self.cycle = 0

    def __dealloc__(self):
        free(self.entries)
        free(self.order)
        free(self.scratch)
        free(self.arena)
        free(self.columns)

    def validate(self):
        """Check every index in the tables against its range; raises ValueError naming the array.

        The cycle trusts its tables: call this after writing rows from outside.
        """
        order = np.asarray(self.queue_order)
        if order.size and (order.min() < 0 or order.max() >= self.forest.nodes):
            raise ValueError(f"queue_order: values from {order.min()} to {order.max()}, expected forest rows")
        if len(set(order.tolist())) != order.size:
            raise ValueError("queue_order: a row stands twice")
        parent = np.asarray(self.forest.parent)[: self.forest.nodes]
        if parent.size and (parent.min() < NONE or parent.max() >= self.forest.nodes):
            raise ValueError(f"parent: values from {parent.min()} to {parent.max()}, expected rows or {NONE}")
        self.flavors.check(self.forest.nodes, self.forest.columns)
        self.workloads.check(self.forest.nodes, self.flavors.column.shape[0], self.flavors.column.shape[1])

    def run(self, int64_t now):
        """Run one cycle at `now` (ns since the epoch) with the GIL released; returns the number of heads.

        Admitted workloads are assumed: their quota is booked when this returns. Source: QC-89.
        """
        cdef Py_ssize_t i
        self.cycle += 1
        with nogil:
            self.take_heads(now)                                   # 1 heads, 2 nominate
            for i in range(self.entry_count):
                if self.entries[i].nominated:
                    self.order[self.nominated_count] = <index_t> i
                    self.nominated_count += 1
            sort_classical(                                        # 3 order
                self.entries, self.order, self.scratch, self.nominated_count, self.workloads, self.sort_by_priority
            )
            for i in range(self.nominated_count):                  # 4 process
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
        self.assigner.asked_preemption = False
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
        self.record_progress(workload, queue)
        entry.mode = self.assigner.mode
        entry.borrowing = self.assigner.borrowing
        entry.result_count = self.assigner.result_count
        entry.results = self.keep(self.assigner.results, self.assigner.result_count * sizeof(PodSetResult))
        entry.choice_count = self.assigner.choice_count
        entry.choices = self.keep(self.assigner.choices, self.assigner.choice_count * sizeof(Choice))
        entry.usage_count = self.assigner.usage_count
        entry.usage = self.keep(self.assigner.usage, self.assigner.usage_count * sizeof(ColumnUsage))
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

    cdef void record_progress(self, index_t workload, index_t queue) noexcept nogil:
        """Remember where the scan of each resource stopped (QP-502)."""
        cdef Py_ssize_t start = self.workloads.slot_start[workload]
        cdef Py_ssize_t length = self.workloads.slot_length[workload]
        cdef Py_ssize_t i, s
        cdef int32_t tried
        cdef Choice* choice
        # a slot that no choice names was not tried: mark, compare, so that a scan at rest is known to be at rest
        for s in range(start, start + length):
            self.workloads.slot_flavor[s] = NEVER_TRIED
        for i in range(self.assigner.choice_count):
            choice = &self.assigner.choices[i]
            if choice.flavor != NONE:
                self.workloads.slot_flavor[start + choice.slot] = choice.tried
        for s in range(start, start + length):
            tried = self.workloads.slot_flavor[s]
            if self.workloads.slot_tried[s] != tried:
                self.progressed = True
            self.workloads.slot_tried[s] = tried
            self.workloads.slot_flavor[s] = NONE
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
        """Decide one entry against the usage that earlier ones left (QC-115..129)."""
        cdef ColumnUsage* usage = <ColumnUsage*> (self.arena + entry.usage)
        cdef Py_ssize_t i
        if entry.mode == MODE_NO_FIT:
            entry.outcome = REFUSED_NO_FIT
            entry.requeue = REQUEUE_NO_FIT
            return 0
        if entry.mode == MODE_PREEMPT:
            entry.outcome = REFUSED_NO_CANDIDATES
            entry.requeue = REQUEUE_NO_CANDIDATES
            if not self.flavors.reclaims_any[entry.queue]:
                return self.reserve_capacity(entry)
            return 0
        if not self.fits(entry):
            entry.outcome = SKIPPED_NO_LONGER_FITS
            entry.requeue = REQUEUE_FAILED_AFTER_NOMINATION
            if not self.preserve_scan_progress:
                self.workloads.drop_progress(entry.workload)
            return 0
        for i in range(entry.usage_count):
            self.forest.add_usage(entry.queue, usage[i].column, usage[i].amount, self.journal)
        entry.outcome = ADMITTED
        return 0

    cdef bint fits(self, Entry* entry) noexcept nogil:
        cdef ColumnUsage* usage = <ColumnUsage*> (self.arena + entry.usage)
        cdef Py_ssize_t i
        for i in range(entry.usage_count):
            if floored(self.forest.available(entry.queue, usage[i].column)) < usage[i].amount:
                return False
        return True

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
        cdef Py_ssize_t i, k
        cdef Entry* entry
        cdef ColumnUsage* usage
        if self.reserved:
            self.forest.roll_back(self.journal, 0)
        for i in range(self.nominated_count):
            entry = &self.entries[self.order[i]]
            if entry.outcome != ADMITTED:
                continue
            if self.reserved:
                usage = <ColumnUsage*> (self.arena + entry.usage)
                for k in range(entry.usage_count):
                    self.forest.add_usage(entry.queue, usage[k].column, usage[k].amount, self.journal)
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
        return self.pending.settle(entry.queue, entry.workload)

    # --- 6 requeue

    cdef int put_back(self, int64_t now) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(self.entry_count):
            if not (self.entries[i].nominated and self.entries[i].outcome == ADMITTED):
                self.pending.requeue(
                    self.entries[i].queue, self.entries[i].workload, self.entries[i].requeue, now
                )
        return 0

    # --- quota of workloads that are admitted outside the cycle, or end

    cdef int check_workload(self, index_t workload) except -1:
        if not 0 <= workload < self.workloads.rows:
            raise ValueError(f"workload {workload}: expected a row from 0 to {self.workloads.rows - 1}")
        return 0

    cdef int sum_columns(self, index_t workload) except -1 nogil:
        """Usage of a reserved workload, one item a column (QP-212)."""
        cdef Py_ssize_t start = self.workloads.slot_start[workload]
        cdef Py_ssize_t length = self.workloads.slot_length[workload]
        cdef Py_ssize_t s, i
        cdef index_t column
        cdef ColumnUsage* grown
        if length > self.column_capacity:
            grown = <ColumnUsage*> realloc(self.columns, 2 * length * sizeof(ColumnUsage))
            if grown == NULL:
                with gil:
                    raise MemoryError("usage")
            self.columns = grown
            self.column_capacity = 2 * length
        self.column_count = 0
        for s in range(start, start + length):
            if self.workloads.slot_flavor[s] < 0:
                continue
            column = self.flavors.column[self.workloads.slot_flavor[s], self.workloads.slot_resource[s]]
            if column == NONE:
                continue
            for i in range(self.column_count):
                if self.columns[i].column == column:
                    self.columns[i].amount = add_plain(self.columns[i].amount, self.workloads.slot_amount[s])
                    break
            else:
                self.columns[self.column_count].column = column
                self.columns[self.column_count].amount = self.workloads.slot_amount[s]
                self.column_count += 1
        return 0

    def book(self, index_t workload, index_t queue):
        """Book the slots of a workload whose reservation came from the API, in ClusterQueue row `queue`.

        Raises ValueError if it is booked already. Source: QP-211..213.
        """
        cdef Py_ssize_t i
        self.check_workload(workload)
        if not 0 <= queue < self.forest.nodes:
            raise ValueError(f"queue {queue}: expected a forest row")
        if self.workloads.reserved_in[workload] != NONE:
            raise ValueError(f"workload {workload} is booked already")
        self.sum_columns(workload)
        for i in range(self.column_count):
            self.forest.add_usage(queue, self.columns[i].column, self.columns[i].amount, self.journal)
        self.journal.length = 0
        self.workloads.reserved_in[workload] = queue

    def release(self, index_t workload):
        """Give the quota of a workload back; it stays a row, nowhere queued. Source: QP-213, QP-217."""
        cdef Py_ssize_t i, s
        self.check_workload(workload)
        cdef index_t queue = self.workloads.reserved_in[workload]
        if queue == NONE:
            return
        self.sum_columns(workload)
        for i in range(self.column_count):
            self.forest.remove_usage(queue, self.columns[i].column, self.columns[i].amount, self.journal)
        self.journal.length = 0
        self.workloads.reserved_in[workload] = NONE
        self.workloads.admitted[workload] = False
        for s in range(self.workloads.slot_start[workload],
                       self.workloads.slot_start[workload] + self.workloads.slot_length[workload]):
            self.workloads.slot_flavor[s] = NONE
            self.workloads.slot_amount[s] = 0
        self.forest.generation[queue] += 1

    def touch(self, index_t queue):
        """A held workload of this ClusterQueue was seen again: upstream replaces it in its cache (QP-217)."""
        if not 0 <= queue < self.forest.nodes:
            raise ValueError(f"queue {queue}: expected a forest row")
        self.forest.generation[queue] += 1

    # --- decisions of the last cycle

    @property
    def asked_preemption(self):
        """Whether the last cycle needed a search for preemption victims, which this kernel does not have yet."""
        return self.assigner.asked_preemption

    @property
    def scan_progressed(self):
        """Whether some flavor scan of the last cycle stopped elsewhere than before."""
        return self.progressed

    def admissions(self):
        """Admitted workloads in processing order: (workload row, ClusterQueue row, detail).

        detail: bytes that say what was assigned; equal bytes mean equal assignments. `read_detail` decodes them.
        """
        cdef Py_ssize_t i
        cdef list found = []
        cdef Entry* entry
        for i in range(self.nominated_count):
            entry = &self.entries[self.order[i]]
            if entry.outcome == ADMITTED:
                found.append((entry.workload, entry.queue, self.detail(entry)))
        return found

    cdef bytes detail(self, Entry* entry):
        cdef PodSetResult* results = <PodSetResult*> (self.arena + entry.results)
        cdef Choice* choices = <Choice*> (self.arena + entry.choices)
        cdef Py_ssize_t start = self.workloads.pod_set_start[entry.workload]
        cdef Py_ssize_t p, i, size = 0
        cdef DetailHead* head
        cdef DetailItem* item
        cdef Py_ssize_t base = self.arena_length
        for p in range(self.workloads.pod_set_length[entry.workload]):
            size += sizeof(DetailHead)
            if p < entry.result_count:
                size += results[p].length * sizeof(DetailItem)
        # built behind the arena's end, which is scratch
        self.keep(NULL, size)
        self.arena_length = base
        results = <PodSetResult*> (self.arena + entry.results)
        choices = <Choice*> (self.arena + entry.choices)
        size = 0
        for p in range(entry.result_count):
            head = <DetailHead*> (self.arena + base + size)
            size += sizeof(DetailHead)
            head.count = results[p].count
            head.name = self.workloads.pod_set_name[start + p]
            head.length = 0
            for i in range(results[p].first, results[p].first + results[p].length):
                if choices[i].flavor == NONE:
                    continue
                item = <DetailItem*> (self.arena + base + size)
                size += sizeof(DetailItem)
                item.resource = choices[i].resource
                item.flavor = choices[i].flavor
                item.amount = choices[i].amount
                head.length += 1
        return (self.arena + base)[:size]

    def refusals(self):
        """Heads that went back: (workload row, ClusterQueue row, outcome, requeue reason, mode, borrow level, reasons).

        reasons: bytes of 40 each, native order: int32 code, pod set, flavor, resource; int64 first, second, third.
        """
        cdef Py_ssize_t i
        cdef list found = []
        cdef Entry* entry
        for i in range(self.entry_count):
            entry = &self.entries[i]
            if not (entry.nominated and entry.outcome == ADMITTED):
                found.append((
                    entry.workload, entry.queue, <int> entry.outcome, <int> entry.requeue, <int> entry.mode,
                    entry.borrowing,
                    (self.arena + entry.reasons)[: entry.reason_count * <Py_ssize_t> sizeof(Reason)]
                    if entry.reason_count else b"",
                ))
        return found

    @property
    def unlimited(self):
        """The amount that means no bound."""
        return UNLIMITED
