"""Victims from whoever has most, as the configured strategies allow. See the .pxd."""

from libc.math cimport isinf
from libc.stdlib cimport free, realloc

from kueuecore._candidates cimport Candidate
from kueuecore._fairorder cimport FairOrder
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held
from kueuecore._journal cimport Journal
from kueuecore._preempt cimport IN_CLUSTER_QUEUE, IN_COHORT_FAIR_SHARING, IN_COHORT_RECLAMATION, Preemptor
from kueuecore._share cimport Share, compare, weighted
from kueuecore._topology cimport Topologies
from kueuecore._types cimport NONE, index_t
from kueuecore._workloads cimport Workloads


cdef class FairPreemptor(Preemptor):
    """A preemptor that searches classically or, where fair sharing is configured, by shares."""

    def __cinit__(self):
        self.retry = NULL
        self.retry_count = self.retry_capacity = 0

    def __init__(self, Forest forest not None, Flavors flavors not None, Workloads workloads not None,
                 Held held not None, Journal journal not None, Topologies topologies not None):
        Preemptor.__init__(self, forest, flavors, workloads, held, journal, topologies)
        self.order = FairOrder(self.candidates, self.shares)
        self.final_share_first = True
        self.initial_share_second = True
        self.preempt_within_nominal = True

    def __dealloc__(self):
        free(self.retry)

    cdef int run_fair(self) except -1 nogil:
        """Take victims from who has most, as the strategies allow (QP-720..738)."""
        cdef bint fits
        self.candidates.collect_fair()
        if self.candidates.count == 0:
            return 0
        self.order.start()
        self.change_request(False)
        self.retry_count = 0
        fits = self.run_first_strategy()
        if not fits and self.initial_share_second:
            fits = self.run_second_strategy()
        self.order.finish()
        self.change_request(True)
        if fits:
            self.fill_back(True)
        else:
            self.target_count = 0
        return 0

    cdef int change_request(self, bint remove) except -1 nogil:
        """Shares include the incoming workload: its request is part of the usage during the search (QP-722)."""
        cdef Py_ssize_t i
        for i in range(self.candidates.required_count):
            if remove:
                self.forest.remove_usage(
                    self.candidates.queue, self.candidates.required[i].column, self.candidates.required[i].amount,
                    self.journal,
                )
            else:
                self.forest.add_usage(
                    self.candidates.queue, self.candidates.required[i].column, self.candidates.required[i].amount,
                    self.journal,
                )
        return 0

    cdef bint fits_without_request(self) except -1 nogil:
        cdef bint fits
        self.change_request(True)
        fits = self.fits(True)
        self.change_request(False)
        return fits

    cdef int put_off(self, Py_ssize_t candidate) except -1 nogil:
        """Keep a candidate for the second strategy."""
        cdef Py_ssize_t size
        cdef Py_ssize_t* grown
        if self.retry_count == self.retry_capacity:
            size = 2 * self.retry_capacity + 32
            grown = <Py_ssize_t*> realloc(self.retry, size * sizeof(Py_ssize_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("fair sharing")
            self.retry = grown
            self.retry_capacity = size
        self.retry[self.retry_count] = candidate
        self.retry_count += 1
        return 0

    cdef bint run_first_strategy(self) except -1 nogil:
        """Victims by the first strategy; what it refuses is kept for the second (QP-731..736)."""
        cdef index_t queue, own_side = NONE, target_side = NONE
        cdef Candidate* candidate
        cdef Share own, old, new
        cdef Py_ssize_t mark
        cdef bint entitled = self.preempt_within_nominal and not self.candidates.is_borrowing(self.candidates.queue)
        cdef bint passed
        self.order.line_up()
        while True:
            queue = self.order.next_queue()
            if queue == NONE:
                return False
            if queue == self.candidates.queue or entitled:
                candidate = self.order.peek(queue)
                self.take(
                    candidate.workload, queue,
                    IN_CLUSTER_QUEUE if queue == self.candidates.queue else IN_COHORT_RECLAMATION,
                )
                self.order.advance(queue)
                self.order.usage_changed(queue)
                if self.fits_without_request():
                    return True
                continue
            self.order.below_common_ancestor(queue, &own_side, &target_side)
            own = self.shares.of(own_side)
            old = self.order.share[target_side]
            passed = False
            while self.order.has_candidate(queue) and not passed:
                candidate = self.order.peek(queue)
                if isinf(weighted(own)) and not isinf(weighted(old)):
                    passed = False  # no candidate of this queue can pass (QP-735)
                elif self.final_share_first:
                    mark = self.journal.length
                    self.usage.remove(candidate.workload, queue)
                    new = self.shares.of(target_side)
                    self.forest.roll_back(self.journal, mark)
                    passed = compare(own, new) <= 0
                else:
                    passed = compare(own, old) < 0
                if passed:
                    self.take(candidate.workload, queue, IN_COHORT_FAIR_SHARING)
                else:
                    self.put_off(self.order.head[queue])
                self.order.advance(queue)
            if passed:
                # another queue may have most now
                self.order.usage_changed(queue)
                if self.fits_without_request():
                    return True

    cdef bint run_second_strategy(self) except -1 nogil:
        """At most one victim a ClusterQueue among the candidates that were put off (QP-737)."""
        cdef index_t queue, own_side = NONE, target_side = NONE
        cdef index_t workload
        self.keep_put_off()
        self.order.line_up()
        while True:
            queue = self.order.next_queue()
            if queue == NONE:
                return False
            if queue == self.candidates.queue:
                own_side = target_side = queue
            else:
                self.order.below_common_ancestor(queue, &own_side, &target_side)
            workload = self.order.peek(queue).workload
            self.order.drop(queue)
            if compare(self.shares.of(own_side), self.order.share[target_side]) < 0:
                self.take(workload, queue, IN_COHORT_FAIR_SHARING)
                self.order.usage_changed(queue)
                if self.fits_without_request():
                    return True

    cdef void keep_put_off(self) noexcept nogil:
        """Of all candidates only those that were put off remain, in the order they stood in."""
        cdef Py_ssize_t i, kept = 0
        for i in range(self.candidates.count):
            self.candidates.items[i].put_off = False
        for i in range(self.retry_count):
            self.candidates.items[self.retry[i]].put_off = True
        for i in range(self.candidates.count):
            if self.candidates.items[i].put_off:
                self.candidates.items[kept] = self.candidates.items[i]
                kept += 1
        self.candidates.count = kept
