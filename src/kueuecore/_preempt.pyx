"""Victims of one preemptor. See the .pxd; what the candidates are and how they are ordered stands in _candidates.

A search leaves no trace: all usage that it changes goes through the journal and is rolled back.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc

from kueuecore._amount cimport floored
from kueuecore._candidates cimport HIERARCHY, SAME_QUEUE, Candidate, Candidates
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held
from kueuecore._journal cimport Journal
from kueuecore._share cimport Shares
from kueuecore._topology cimport AS_USED, Topologies
from kueuecore._types cimport NO_CANDIDATES, NONE, PREEMPT, RECLAIM, Possibility, amount_t, index_t
from kueuecore._usage cimport Usage
from kueuecore._workloads cimport Workloads


cdef class Preemptor:
    """Searches the set of workloads to preempt for a request that `candidates` describes."""

    def __cinit__(self):
        self.targets = NULL
        self.target_count = self.target_capacity = 0
        self.asked_column = NONE
        self.placements = NULL
        self.placement_count = 0

    def __init__(self, Forest forest not None, Flavors flavors not None, Workloads workloads not None,
                 Held held not None, Journal journal not None, Topologies topologies not None):
        self.forest = forest
        self.flavors = flavors
        self.workloads = workloads
        self.journal = journal
        self.usage = Usage(forest, flavors, workloads, journal, topologies)
        self.candidates = Candidates(forest, flavors, workloads, held)
        self.shares = Shares(forest)
        self.fair_sharing = False

    def __dealloc__(self):
        free(self.targets)

    cdef int search(self) except -1 nogil:
        """Find targets for what `candidates` describes; usage is the same afterwards (QP-641)."""
        cdef Py_ssize_t mark = self.journal.length
        self.target_count = 0
        self.asked_column = NONE
        if self.candidates.needed_count == 0:
            return 0
        if self.fair_sharing:
            self.run_fair()
        else:
            self.run_classical()
        self.forest.roll_back(self.journal, mark)
        return 0

    cdef int ask(self, index_t workload, index_t queue, index_t column, amount_t value, Possibility* answer,
                 int64_t* borrow) except -1 nogil:
        """What preemption could do for one flavor-resource pair, and the borrow level after it (QP-640)."""
        cdef bint can_reclaim = False
        cdef Py_ssize_t i, mark
        self.candidates.start(workload, queue)
        self.candidates.need(column)
        self.candidates.require(column, value)
        self.search()
        self.asked_column = column
        self.asked_value = value
        if self.target_count == 0:
            answer[0] = NO_CANDIDATES
            borrow[0] = self.forest.lowest_subtree_that_fits(queue, column, value, &can_reclaim)
            return 0
        mark = self.journal.length
        answer[0] = RECLAIM
        for i in range(self.target_count):
            self.usage.remove(self.targets[i].workload, self.targets[i].queue)
            if self.targets[i].queue == queue:
                answer[0] = PREEMPT
        borrow[0] = self.forest.lowest_subtree_that_fits(queue, column, value, &can_reclaim)
        self.forest.roll_back(self.journal, mark)
        return 0

    cdef int take(self, index_t workload, index_t queue, int32_t reason) except -1 nogil:
        """Remove a victim and note it as a target."""
        self.usage.remove(workload, queue)
        return self.add_target(workload, queue, reason)

    cdef int add_target(self, index_t workload, index_t queue, int32_t reason) except -1 nogil:
        cdef Py_ssize_t size
        cdef Target* grown
        if self.target_count == self.target_capacity:
            size = 2 * self.target_capacity + 32
            grown = <Target*> realloc(self.targets, size * sizeof(Target))
            if grown == NULL:
                with gil:
                    raise MemoryError("targets")
            self.targets = grown
            self.target_capacity = size
        self.targets[self.target_count].workload = workload
        self.targets[self.target_count].queue = queue
        self.targets[self.target_count].reason = reason
        self.targets[self.target_count].padding = 0
        self.target_count += 1
        return 0

    cdef bint fits(self, bint borrow) except -1 nogil:
        """Whether the request fits now, with or without borrowing, and its pods find places (QP-633, TP-1202)."""
        cdef Py_ssize_t i
        cdef index_t column
        for i in range(self.candidates.required_count):
            column = self.candidates.required[i].column
            if not borrow and self.forest.is_borrowing_with(
                self.candidates.queue, column, self.candidates.required[i].amount
            ):
                return False
            if floored(self.forest.available(self.candidates.queue, column)) < self.candidates.required[i].amount:
                return False
        if self.placement_count == 0:
            return True
        return self.placer.can_place(self.placements, self.placement_count, AS_USED)

    cdef int fill_back(self, bint borrow) except -1 nogil:
        """Put victims back, last ones first, while the request still fits; the very last stays out (QP-642)."""
        cdef Py_ssize_t i
        for i in range(self.target_count - 2, -1, -1):
            self.usage.add(self.targets[i].workload, self.targets[i].queue)
            if self.fits(borrow):
                self.target_count -= 1
                self.targets[i] = self.targets[self.target_count]
            else:
                self.usage.remove(self.targets[i].workload, self.targets[i].queue)
        return 0

    # --- classical

    cdef int run_classical(self) except -1 nogil:
        """Attempts in upstream's order (QP-706)."""
        cdef Py_ssize_t i
        cdef index_t queue = self.candidates.queue
        cdef bint others = False, hierarchy = False, under_nominal = True
        cdef bint forbidden = not self.flavors.borrows_within_cohort[queue]
        self.candidates.collect_classical()
        if self.candidates.count == 0:
            return 0
        for i in range(self.candidates.count):
            if self.candidates.items[i].list != SAME_QUEUE:
                others = True
            if self.candidates.items[i].list == HIERARCHY:
                hierarchy = True
        for i in range(self.candidates.needed_count):
            if self.forest.usage[queue, self.candidates.needed[i]] >= self.forest.nominal[
                queue, self.candidates.needed[i]
            ]:
                under_nominal = False
        if not others or (forbidden and not under_nominal):
            self.try_classical(True)
        elif forbidden and not hierarchy:
            if not self.try_classical(False):
                self.try_classical(True)
        elif not self.try_classical(True):
            self.try_classical(False)
        return 0

    cdef bint try_classical(self, bint borrow) except -1 nogil:
        """One run over the candidates with a borrowing permission (QP-707, QP-708)."""
        cdef Py_ssize_t mark = self.journal.length
        cdef Py_ssize_t i
        cdef Candidate* candidate
        cdef int32_t reason
        cdef bint needs_no_borrowing = False
        self.target_count = 0
        for i in range(self.candidates.count):
            candidate = &self.candidates.items[i]
            reason = self.variant_reason(candidate, &needs_no_borrowing)
            if not self.is_valid(candidate, borrow, needs_no_borrowing):
                continue
            self.take(candidate.workload, candidate.queue, reason)
            if self.fits(borrow):
                self.fill_back(borrow)
                return True
        self.forest.roll_back(self.journal, mark)
        self.target_count = 0
        return False

    cdef int32_t variant_reason(self, Candidate* candidate, bint* needs_no_borrowing) noexcept nogil:
        """The reason to preempt a candidate, and whether it may be taken only without borrowing (QP-703, QP-704)."""
        cdef index_t queue = self.candidates.queue
        needs_no_borrowing[0] = False
        if candidate.list == SAME_QUEUE:
            return IN_CLUSTER_QUEUE
        if candidate.list == HIERARCHY:
            return IN_COHORT_RECLAMATION
        if (
            not self.flavors.borrows_within_cohort[queue]
            or candidate.priority >= self.workloads.priority[self.candidates.preemptor]
            or (self.flavors.has_threshold[queue] and candidate.priority > self.flavors.threshold[queue])
        ):
            needs_no_borrowing[0] = True
            return IN_COHORT_RECLAMATION
        return IN_COHORT_RECLAIM_WHILE_BORROWING

    cdef bint is_valid(self, Candidate* candidate, bint borrow, bint needs_no_borrowing) noexcept nogil:
        """Whether a candidate may still be taken, as usage stands in the simulation now (QP-707)."""
        cdef index_t node
        if candidate.list == SAME_QUEUE:
            return True
        if borrow and needs_no_borrowing:
            return False
        node = candidate.queue
        while node != candidate.ancestor:
            if self.candidates.is_within_nominal(node):
                return False
            node = self.forest.parent[node]
        return True

    # --- fair sharing

    cdef int run_fair(self) except -1 nogil:
        """The fair search; FairPreemptor has it."""
        return 0
