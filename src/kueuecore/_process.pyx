"""One entry of a cycle: decided against what earlier entries left. See the .pxd."""

import numpy as np

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from kueuecore._amount cimport add, floored, sub
from kueuecore._assign cimport Choice, PodSetResult, Reason
from kueuecore._draft cimport Attempt
from kueuecore._candidates cimport POLICY_ANY
from kueuecore._fairpreempt cimport FairPreemptor
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held
from kueuecore._journal cimport Journal
from kueuecore._nominate cimport Nominator
from kueuecore._order cimport Entry
from kueuecore._pending cimport Pending
from kueuecore._placement cimport PlacedDomain, Placer
from kueuecore._podtopology cimport PodTopology
from kueuecore._preempt cimport Target
from kueuecore._topology cimport AS_USED, BookingList
from kueuecore._tournament cimport Tournament
from kueuecore._trees cimport Tree
from kueuecore._types cimport (
    ADMITTED, DEFERRED, EVICTED_NODE_FAILURE, MODE_DEFERRED_FIT, MODE_FIT, MODE_NO_FIT, MODE_PREEMPT,
    NEVER_TRIED, NONE, PREEMPTING, REFUSED_GATED, REFUSED_NO_CANDIDATES, REFUSED_NO_FIT,
    REQUEUE_FAILED_AFTER_NOMINATION, REQUEUE_NO_CANDIDATES, REQUEUE_NO_FIT, REQUEUE_PENDING_PREEMPTION,
    REQUEUE_PREEMPTION_GATED, SKIPPED_NO_LONGER_FITS, SKIPPED_OVERLAP, amount_t, index_t,
)
from kueuecore._usage cimport ColumnUsage, Usage
from kueuecore._victims cimport Victims
from kueuecore._workloads cimport Workloads


# What check_fit found.
cdef enum Check:
    UNCHECKED = 0
    FITS = 1
    NO_QUOTA = 2
    NO_PLACES = 3


cdef class Processor:
    """The tables of one cluster, and how one nominated workload is decided on them."""

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
        self.topologies = forest.topologies
        self.pod_topology = PodTopology()
        self.placer = Placer(self.topologies, self.journal)
        self.usage = Usage(forest, flavors, workloads, self.journal, self.topologies)
        self.preemptor = FairPreemptor(forest, flavors, workloads, self.held, self.journal, self.topologies)
        self.preemptor.placer = self.placer
        self.assigner = Nominator(self.preemptor, self.placer, self.pod_topology)
        self.second_pass = self.assigner.again
        self.victims = Victims(forest, workloads, self.usage)
        self.tournament = Tournament(forest, workloads, self.preemptor.shares, self.journal)
        self.queue_order = np.zeros(0, np.int32)
        self.preserve_scan_progress = True
        self.sort_by_priority = True
        self.preemptors_first = False
        self.recompute_on_overlap = False
        self.recompute_for_topology = True
        self.preemption_gates = False
        self.cycle = 0

    def __dealloc__(self):
        free(self.entries)
        free(self.order)
        free(self.scratch)
        free(self.arena)

    # --- what is kept of an assignment

    cdef int take_assignment(self, Entry* entry) except -1 nogil:
        """Keep what the assigner found for an entry."""
        if not entry.again:
            self.record_progress(entry.workload, entry.queue)
        entry.replaced = self.assigner.replaced
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
        entry.domain_count = self.assigner.domain_count
        entry.domains = self.keep(self.assigner.domains, self.assigner.domain_count * sizeof(PlacedDomain))
        entry.reason_count = self.assigner.reason_count
        entry.reasons = self.keep(self.assigner.reasons, self.assigner.reason_count * sizeof(Reason))
        entry.attempt_count = self.assigner.attempt_count
        entry.attempts = self.keep(self.assigner.attempts, self.assigner.attempt_count * sizeof(Attempt))
        entry.attempt_reason_count = self.assigner.attempt_reason_count
        entry.attempt_reasons = self.keep(
            self.assigner.attempt_reasons, self.assigner.attempt_reason_count * sizeof(Reason)
        )
        return 0

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

    # --- decide

    cdef int process(self, Entry* entry) except -1 nogil:
        """Decide one entry against the usage that earlier ones left (QC-115..131, TP-1108..1111)."""
        cdef int check = UNCHECKED
        cdef Py_ssize_t i
        if self.recompute_on_overlap and self.victims.has_any(
            <Target*> (self.arena + entry.targets), entry.target_count
        ):
            self.recompute(entry, True)
        elif entry.domain_count > 0:
            check = self.check_fit(entry)
            if check == NO_PLACES and self.recompute_for_topology:
                self.recompute(entry, False)
                check = UNCHECKED
        if entry.fails_fast and entry.mode != MODE_FIT:
            entry.outcome = EVICTED_NODE_FAILURE
            return 0
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
            self.book_entry(entry)
            return self.book_places(entry)
        # the arena may have moved while the entry was recomputed
        if self.victims.has_any(<Target*> (self.arena + entry.targets), entry.target_count):
            entry.outcome = SKIPPED_OVERLAP
            check = NO_QUOTA
        else:
            if check == UNCHECKED:
                check = self.check_fit(entry)
            entry.outcome = SKIPPED_NO_LONGER_FITS
        if check != FITS:
            entry.requeue = REQUEUE_FAILED_AFTER_NOMINATION
            if not self.preserve_scan_progress:
                self.workloads.drop_progress(entry.workload)
            return 0
        self.victims.add(
            self.forest.root_of(entry.queue), <Target*> (self.arena + entry.targets), entry.target_count
        )
        self.book_entry(entry)
        self.book_places(entry)
        if entry.mode == MODE_PREEMPT:
            self.reserved = True
            entry.outcome = PREEMPTING
            entry.requeue = REQUEUE_PENDING_PREEMPTION
            self.workloads.drop_progress(entry.workload)
            i = 0 if entry.replaced == NONE else 1  # a slice that is replaced ends by that
            return self.victims.issue(
                entry.workload, <Target*> (self.arena + entry.targets) + i, entry.target_count - i
            )
        entry.outcome = ADMITTED
        if entry.replaced != NONE:
            self.reserved = True  # it takes the difference in the cycle, and all when the cycle ends
        return 0

    cdef int recompute(self, Entry* entry, bint without_victims) except -1 nogil:
        """Nominate again, on the nominated flavors (QC-118..120, TP-1110).

        `without_victims`: as if earlier victims of the cycle were gone; else as usage is by now.
        """
        cdef Py_ssize_t mark = self.journal.length
        cdef index_t root = self.forest.root_of(entry.queue)
        if without_victims:
            self.victims.take_off(root)
            self.victims.exclude(root, True)
        if entry.again:
            self.assigner.nominate_again(entry.again_number, entry.workload, entry.queue)
        else:
            self.workloads.drop_progress(entry.workload)
            self.assigner.pinned_choices = <Choice*> (self.arena + entry.choices)
            self.assigner.pinned_results = <PodSetResult*> (self.arena + entry.results)
            self.assigner.nominate(entry.workload, entry.queue)
            self.assigner.pinned_choices = NULL
            self.assigner.pinned_results = NULL
        self.take_assignment(entry)
        if without_victims:
            self.victims.exclude(root, False)
            self.forest.roll_back(self.journal, mark)
            if entry.mode == MODE_FIT:
                entry.mode = MODE_DEFERRED_FIT
        return 0

    cdef int check_fit(self, Entry* entry) except -1 nogil:
        """Whether the entry fits once all victims of the cycle and its own are gone: quota, then places (QC-117)."""
        cdef Target* targets = <Target*> (self.arena + entry.targets)
        cdef Py_ssize_t mark = self.journal.length
        cdef Py_ssize_t i
        cdef int check = FITS
        self.victims.take_off(self.forest.root_of(entry.queue))
        for i in range(entry.target_count):
            if not self.victims.has(targets[i].workload):
                self.usage.remove(targets[i].workload, targets[i].queue)
        if not self.has_quota(entry):
            check = NO_QUOTA
        elif entry.domain_count > 0 and not self.has_places(entry):
            check = NO_PLACES
        self.forest.roll_back(self.journal, mark)
        return check

    # --- quota and places

    cdef bint has_quota(self, Entry* entry) noexcept nogil:
        cdef ColumnUsage* usage = <ColumnUsage*> (self.arena + entry.usage)
        cdef Py_ssize_t i
        for i in range(entry.usage_count):
            if floored(self.forest.available(entry.queue, usage[i].column)) < usage[i].amount:
                return False
        return True

    cdef int64_t new_pods(self, Entry* entry, Py_ssize_t pod_set, index_t place, int64_t count) noexcept nogil:
        """Pods that the pod set does not have in this place already (TP-1105)."""
        cdef BookingList* held
        cdef Py_ssize_t i
        if entry.again:
            held = self.topologies.bookings_of(entry.workload)
            if held != NULL:
                for i in range(held.length):
                    if held.items[i].pod_set == pod_set and held.items[i].place == place:
                        count -= held.items[i].count
        return count if count > 0 else 0

    cdef bint has_places(self, Entry* entry) noexcept nogil:
        """Whether each place has room for its pods, every one looked at alone and without `pods` (TP-1107)."""
        cdef PodSetResult* results = <PodSetResult*> (self.arena + entry.results)
        cdef PlacedDomain* domains = <PlacedDomain*> (self.arena + entry.domains)
        cdef Py_ssize_t first = self.workloads.pod_set_start[entry.workload]
        cdef Py_ssize_t p, i
        cdef int64_t count
        cdef Tree* tree
        for p in range(entry.result_count):
            if results[p].tree == NONE:
                continue
            tree = &self.topologies.trees[results[p].tree]
            for i in range(results[p].first_domain, results[p].first_domain + results[p].domains):
                count = self.new_pods(entry, p, tree.place[domains[i].leaf], domains[i].count)
                if count > 0 and self.topologies.pods_that_fit(
                    tree, AS_USED, domains[i].leaf, self.pod_topology.pods[first + p], False, NULL
                ) < count:
                    return False
        return True

    cdef int book_places(self, Entry* entry) except -1 nogil:
        """The rest of the cycle sees these places taken; it all is undone when the cycle ends (TP-1106)."""
        cdef PodSetResult* results = <PodSetResult*> (self.arena + entry.results)
        cdef PlacedDomain* domains = <PlacedDomain*> (self.arena + entry.domains)
        cdef Py_ssize_t first = self.workloads.pod_set_start[entry.workload]
        cdef Py_ssize_t p, i
        cdef int64_t count
        cdef Tree* tree
        if entry.domain_count == 0:
            return 0
        self.reserved = True
        for p in range(entry.result_count):
            if results[p].tree == NONE:
                continue
            tree = &self.topologies.trees[results[p].tree]
            for i in range(results[p].first_domain, results[p].first_domain + results[p].domains):
                count = self.new_pods(entry, p, tree.place[domains[i].leaf], domains[i].count)
                if count > 0:
                    self.topologies.change(
                        results[p].tree, AS_USED, domains[i].leaf, self.pod_topology.pods[first + p], count,
                        self.journal,
                    )
        return 0

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
        return self.book_places(entry)
