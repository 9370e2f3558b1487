"""The search for victims (QP-631..642, QP-706..708) and what fungibility asks of it (QP-640)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._candidates cimport Candidate, Candidates
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._journal cimport Journal
from kueuecore._share cimport Share, Shares
from kueuecore._types cimport Possibility, amount_t, index_t
from kueuecore._usage cimport Usage
from kueuecore._workloads cimport Workloads

# Why a workload is preempted (QP-704).
cdef enum TargetReason:
    IN_CLUSTER_QUEUE = 0
    IN_COHORT_RECLAMATION = 1
    IN_COHORT_RECLAIM_WHILE_BORROWING = 2
    IN_COHORT_FAIR_SHARING = 3


cdef struct Target:
    index_t workload
    index_t queue            # where its quota is booked
    int32_t reason           # TargetReason
    int32_t padding


cdef class Preemptor:
    cdef readonly Forest forest
    cdef readonly Flavors flavors
    cdef readonly Workloads workloads
    cdef readonly Candidates candidates
    cdef readonly Shares shares
    cdef readonly Journal journal
    cdef Usage usage
    cdef public bint fair_sharing              # configured: the fair search, else the classical one (QP-641)
    cdef public bint final_share_first         # first strategy LessThanOrEqualToFinalShare, else LessThanInitialShare
    cdef public bint initial_share_second      # LessThanInitialShare as second strategy (QP-720)
    cdef public bint preempt_within_nominal    # gate FairSharingPreemptWithinNominal (QP-733)

    cdef Target* targets                       # [target_count] result of the last search, in upstream's order
    cdef Py_ssize_t target_count
    cdef Py_ssize_t target_capacity

    # scratch of the fair search, [node]
    cdef Py_ssize_t* head                      # next candidate of a ClusterQueue in `order`
    cdef Py_ssize_t* tail                      # one after its last
    cdef uint8_t* pruned                       # yields nothing any more
    cdef uint8_t* on_path                      # cohort over the preemptor
    cdef uint8_t* known                        # share is valid
    cdef Share* share                          # of a node, while nothing below it changed
    cdef Py_ssize_t node_capacity
    cdef Py_ssize_t* retry                     # candidates for the second strategy
    cdef Py_ssize_t retry_count, retry_capacity

    cdef int search(self) except -1 nogil
    cdef int ask(self, index_t workload, index_t queue, index_t column, amount_t value, Possibility* answer,
                 int64_t* borrow) except -1 nogil
    cdef int run_classical(self) except -1 nogil
    cdef bint try_classical(self, bint borrow) except -1 nogil
    cdef int32_t variant_reason(self, Candidate* candidate, bint* needs_no_borrowing) noexcept nogil
    cdef bint is_valid(self, Candidate* candidate, bint borrow, bint needs_no_borrowing) noexcept nogil
    cdef bint fits(self, bint borrow) noexcept nogil
    cdef int take(self, index_t workload, index_t queue, int32_t reason) except -1 nogil
    cdef int fill_back(self, bint borrow) except -1 nogil

    cdef int run_fair(self) except -1 nogil
    cdef int reserve_nodes(self) except -1 nogil
    cdef int start_ordering(self) except -1 nogil
    cdef void line_up(self) noexcept nogil
    cdef bint run_first_strategy(self) except -1 nogil
    cdef bint run_second_strategy(self) except -1 nogil
    cdef bint fits_without_request(self) except -1 nogil
    cdef int change_request(self, bint remove) except -1 nogil
    cdef index_t next_queue(self) noexcept nogil
    cdef index_t highest_below(self, index_t cohort) noexcept nogil
    cdef Share share_of(self, index_t node) noexcept nogil
    cdef void forget_shares(self, index_t node) noexcept nogil
    cdef void below_common_ancestor(self, index_t target, index_t* own_side, index_t* target_side) noexcept nogil
    cdef bint head_precedes(self, index_t a, index_t b) noexcept nogil
    cdef int put_off(self, Py_ssize_t candidate) except -1 nogil
