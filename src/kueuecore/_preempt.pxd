"""The search for victims (QP-631..642, QP-706..708) and what fungibility asks of it (QP-640)."""

from libc.stdint cimport int32_t, int64_t

from kueuecore._candidates cimport Candidate, Candidates
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._journal cimport Journal
from kueuecore._placement cimport PlacementRequest, Placer
from kueuecore._share cimport Shares
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

    cdef public Placer placer
    cdef PlacementRequest* placements          # [placement_count] pods that must find places too (TP-1202)
    cdef Py_ssize_t placement_count

    cdef Target* targets                       # [target_count] result of the last search, in upstream's order
    cdef Py_ssize_t target_count
    cdef Py_ssize_t target_capacity

    # the last question of fungibility, and whose answer `targets` still is; NONE: of none
    cdef index_t asked_column
    cdef amount_t asked_value

    cdef int search(self) except -1 nogil
    cdef int ask(self, index_t workload, index_t queue, index_t column, amount_t value, Possibility* answer,
                 int64_t* borrow) except -1 nogil
    cdef int run_classical(self) except -1 nogil
    cdef bint try_classical(self, bint borrow) except -1 nogil
    cdef int32_t variant_reason(self, Candidate* candidate, bint* needs_no_borrowing) noexcept nogil
    cdef bint is_valid(self, Candidate* candidate, bint borrow, bint needs_no_borrowing) noexcept nogil
    cdef bint fits(self, bint borrow) except -1 nogil
    cdef int take(self, index_t workload, index_t queue, int32_t reason) except -1 nogil
    cdef int add_target(self, index_t workload, index_t queue, int32_t reason) except -1 nogil
    cdef int fill_back(self, bint borrow) except -1 nogil

    cdef int run_fair(self) except -1 nogil
