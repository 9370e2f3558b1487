"""Victims of one preemptor. See the .pxd; what the candidates are and how they are ordered stands in _candidates.

A search leaves no trace: all usage that it changes goes through the journal and is rolled back.
"""

from libc.math cimport isinf
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from kueuecore._amount cimport floored
from kueuecore._candidates cimport POLICY_NEVER, SAME_QUEUE, HIERARCHY, Candidate, Candidates
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held
from kueuecore._journal cimport Journal
from kueuecore._share cimport Share, Shares, compare, weighted
from kueuecore._types cimport NO_CANDIDATES, NONE, PREEMPT, RECLAIM, Possibility, amount_t, index_t
from kueuecore._usage cimport Usage
from kueuecore._workloads cimport Workloads


cdef class Preemptor:
    """Searches the set of workloads to preempt for a request that `candidates` describes."""

    def __cinit__(self):
        self.targets = NULL
        self.head = self.tail = self.retry = NULL
        self.pruned = self.on_path = self.known = NULL
        self.share = NULL
        self.target_count = self.target_capacity = self.node_capacity = 0
        self.retry_count = self.retry_capacity = 0

    def __init__(self, Forest forest not None, Flavors flavors not None, Workloads workloads not None,
                 Held held not None, Journal journal not None):
        self.forest = forest
        self.flavors = flavors
        self.workloads = workloads
        self.journal = journal
        self.usage = Usage(forest, flavors, workloads, journal)
        self.candidates = Candidates(forest, flavors, workloads, held)
        self.shares = Shares(forest)
        self.fair_sharing = False
        self.final_share_first = True
        self.initial_share_second = True
        self.preempt_within_nominal = True

    def __dealloc__(self):
        free(self.targets)
        free(self.head)
        free(self.tail)
        free(self.retry)
        free(self.pruned)
        free(self.on_path)
        free(self.known)
        free(self.share)

    cdef int search(self) except -1 nogil:
        """Find targets for what `candidates` describes; usage is the same afterwards (QP-641)."""
        cdef Py_ssize_t mark = self.journal.length
        self.target_count = 0
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
        cdef Py_ssize_t size
        cdef Target* grown
        self.usage.remove(workload, queue)
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

    cdef bint fits(self, bint borrow) noexcept nogil:
        """Whether the request fits now, with or without borrowing (QP-633)."""
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
        return True

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
