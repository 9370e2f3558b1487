"""Victims from whoever has most, as the configured strategies allow. See the .pxd."""

from libc.math cimport isinf
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from kueuecore._candidates cimport Candidate
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held
from kueuecore._journal cimport Journal
from kueuecore._preempt cimport IN_CLUSTER_QUEUE, IN_COHORT_FAIR_SHARING, IN_COHORT_RECLAMATION, Preemptor
from kueuecore._share cimport Share, compare, weighted
from kueuecore._types cimport NONE, index_t
from kueuecore._workloads cimport Workloads


cdef class FairPreemptor(Preemptor):
    """A preemptor that searches classically or, where fair sharing is configured, by shares."""

    def __cinit__(self):
        self.head = self.tail = self.retry = NULL
        self.pruned = self.on_path = self.known = NULL
        self.share = NULL
        self.node_capacity = self.retry_count = self.retry_capacity = 0

    def __init__(self, Forest forest not None, Flavors flavors not None, Workloads workloads not None,
                 Held held not None, Journal journal not None):
        Preemptor.__init__(self, forest, flavors, workloads, held, journal)
        self.final_share_first = True
        self.initial_share_second = True
        self.preempt_within_nominal = True

    def __dealloc__(self):
        free(self.head)
        free(self.tail)
        free(self.retry)
        free(self.pruned)
        free(self.on_path)
        free(self.known)
        free(self.share)

    cdef int run_fair(self) except -1 nogil:
        """Take victims from who has most, as the strategies allow (QP-720..738)."""
        cdef bint fits
        self.candidates.collect_fair()
        if self.candidates.count == 0:
            return 0
        self.shares.reserve()
        self.start_ordering()
        self.change_request(False)
        self.retry_count = 0
        fits = self.run_first_strategy()
        if not fits and self.initial_share_second:
            fits = self.run_second_strategy()
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

    cdef int reserve_nodes(self) except -1 nogil:
        cdef Py_ssize_t size = self.forest.parent.shape[0]
        cdef bint enough
        if size <= self.node_capacity:
            return 0
        self.head = <Py_ssize_t*> realloc(self.head, size * sizeof(Py_ssize_t))
        self.tail = <Py_ssize_t*> realloc(self.tail, size * sizeof(Py_ssize_t))
        self.pruned = <unsigned char*> realloc(self.pruned, size)
        self.on_path = <unsigned char*> realloc(self.on_path, size)
        self.known = <unsigned char*> realloc(self.known, size)
        self.share = <Share*> realloc(self.share, size * sizeof(Share))
        enough = (
            self.head != NULL and self.tail != NULL and self.pruned != NULL
            and self.on_path != NULL and self.known != NULL and self.share != NULL
        )
        if not enough:
            with gil:
                raise MemoryError("fair sharing")
        self.node_capacity = size
        return 0

    cdef int start_ordering(self) except -1 nogil:
        """Line the candidates up behind their ClusterQueues; nothing is pruned (QP-723)."""
        cdef index_t node
        self.reserve_nodes()
        memset(self.on_path, 0, self.node_capacity)
        memset(self.known, 0, self.node_capacity)
        node = self.forest.parent[self.candidates.queue]
        while node != NONE:
            self.on_path[node] = True
            node = self.forest.parent[node]
        self.line_up()
        return 0

    cdef void line_up(self) noexcept nogil:
        """Candidates stand queue by queue: note where each queue's begin and end."""
        cdef Py_ssize_t i
        cdef index_t queue
        memset(self.pruned, 0, self.node_capacity)
        memset(self.head, 0, self.node_capacity * sizeof(Py_ssize_t))
        memset(self.tail, 0, self.node_capacity * sizeof(Py_ssize_t))
        for i in range(self.candidates.count):
            queue = self.candidates.items[i].queue
            if self.tail[queue] == 0:
                self.head[queue] = i
            self.tail[queue] = i + 1

    cdef Share share_of(self, index_t node) noexcept nogil:
        if not self.known[node]:
            self.share[node] = self.shares.of(node)
            self.known[node] = True
        return self.share[node]

    cdef void forget_shares(self, index_t node) noexcept nogil:
        """Usage of a ClusterQueue changed, and with it that of all cohorts over it."""
        while node != NONE:
            self.known[node] = False
            node = self.forest.parent[node]

    cdef index_t next_queue(self) noexcept nogil:
        """The ClusterQueue to take the next victim from, NONE when there is none left."""
        cdef index_t root, found
        if self.forest.parent[self.candidates.queue] == NONE:
            if self.pruned[self.candidates.queue] or (
                self.head[self.candidates.queue] >= self.tail[self.candidates.queue]
            ):
                return NONE
            return self.candidates.queue
        root = self.forest.root_of(self.candidates.queue)
        while not self.pruned[root]:
            found = self.highest_below(root)
            if found != NONE:
                return found
        return NONE

    cdef index_t highest_below(self, index_t cohort) noexcept nogil:
        """The ClusterQueue at the end of the way down to the highest shares; NONE if something was only pruned."""
        cdef index_t child = self.forest.first_child[cohort]
        cdef index_t best_queue = NONE, best_cohort = NONE
        cdef Share share, queue_share, cohort_share
        cdef int order
        queue_share.ratio = cohort_share.ratio = -1.0
        queue_share.weight = cohort_share.weight = 1.0
        queue_share.borrowing = cohort_share.borrowing = False
        while child != NONE:
            if self.pruned[child] or not self.forest.in_snapshot[child]:
                child = self.forest.next_sibling[child]
                continue
            share = self.share_of(child)
            if self.forest.is_queue[child]:
                if (not share.borrowing and child != self.candidates.queue) or self.head[child] >= self.tail[child]:
                    self.pruned[child] = True
                else:
                    order = compare(share, queue_share)
                    if order > 0 or (order == 0 and self.head_precedes(child, best_queue)):
                        best_queue = child
                        queue_share = share
            elif not share.borrowing and not self.on_path[child]:
                self.pruned[child] = True
            else:
                # among equals any is right for upstream; the lowest row makes runs repeatable
                order = compare(share, cohort_share)
                if order > 0 or (order == 0 and child < best_cohort):
                    best_cohort = child
                    cohort_share = share
            child = self.forest.next_sibling[child]
        if best_queue == NONE and best_cohort == NONE:
            self.pruned[cohort] = True
            return NONE
        if best_cohort != NONE and compare(cohort_share, queue_share) >= 0:
            return self.highest_below(best_cohort)
        return best_queue

    cdef bint head_precedes(self, index_t a, index_t b) noexcept nogil:
        """Whether the next candidate of queue `a` comes before that of `b` (QP-611 without its rule 3)."""
        return self.candidates.precedes(
            &self.candidates.items[self.head[a]], &self.candidates.items[self.head[b]]
        )

    cdef void below_common_ancestor(self, index_t target, index_t* own_side, index_t* target_side) noexcept nogil:
        """The two nodes just below the lowest common cohort of the preemptor's and a target queue (QP-734)."""
        cdef index_t node = target
        cdef index_t common
        while not self.on_path[self.forest.parent[node]]:
            node = self.forest.parent[node]
        target_side[0] = node
        common = self.forest.parent[node]
        node = self.candidates.queue
        while self.forest.parent[node] != common:
            node = self.forest.parent[node]
        own_side[0] = node

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
        while True:
            queue = self.next_queue()
            if queue == NONE:
                return False
            if queue == self.candidates.queue or entitled:
                candidate = &self.candidates.items[self.head[queue]]
                self.head[queue] += 1
                self.take(
                    candidate.workload, queue,
                    IN_CLUSTER_QUEUE if queue == self.candidates.queue else IN_COHORT_RECLAMATION,
                )
                self.forget_shares(queue)
                if self.fits_without_request():
                    return True
                continue
            self.below_common_ancestor(queue, &own_side, &target_side)
            own = self.share_of(own_side)
            old = self.share_of(target_side)
            if isinf(weighted(own)) and not isinf(weighted(old)):
                while self.head[queue] < self.tail[queue]:
                    self.put_off(self.head[queue])
                    self.head[queue] += 1
                continue
            while self.head[queue] < self.tail[queue]:
                candidate = &self.candidates.items[self.head[queue]]
                if self.final_share_first:
                    mark = self.journal.length
                    self.usage.remove(candidate.workload, queue)
                    new = self.shares.of(target_side)
                    self.forest.roll_back(self.journal, mark)
                    passed = compare(own, new) <= 0
                else:
                    passed = compare(own, old) < 0
                if passed:
                    self.head[queue] += 1
                    self.take(candidate.workload, queue, IN_COHORT_FAIR_SHARING)
                    self.forget_shares(queue)
                    if self.fits_without_request():
                        return True
                    break
                self.put_off(self.head[queue])
                self.head[queue] += 1

    cdef bint run_second_strategy(self) except -1 nogil:
        """At most one victim a ClusterQueue among the candidates that were put off (QP-737)."""
        cdef index_t queue, own_side = NONE, target_side = NONE
        cdef Candidate* candidate
        cdef Py_ssize_t i
        # keep only what was put off; the order within a queue stays
        for i in range(self.candidates.count):
            self.candidates.items[i].list = -1
        for i in range(self.retry_count):
            self.candidates.items[self.retry[i]].list = 0
        self.retry_count = 0
        for i in range(self.candidates.count):
            if self.candidates.items[i].list == 0:
                self.candidates.items[self.retry_count] = self.candidates.items[i]
                self.retry_count += 1
        self.candidates.count = self.retry_count
        self.line_up()
        while True:
            queue = self.next_queue()
            if queue == NONE:
                return False
            if queue == self.candidates.queue:
                own_side = target_side = queue
            else:
                self.below_common_ancestor(queue, &own_side, &target_side)
            candidate = &self.candidates.items[self.head[queue]]
            self.head[queue] += 1
            if compare(self.share_of(own_side), self.share_of(target_side)) < 0:
                self.take(candidate.workload, queue, IN_COHORT_FAIR_SHARING)
                self.forget_shares(queue)
                if self.fits_without_request():
                    return True
            self.pruned[queue] = True
