"""Who may be preempted for a workload, and in which order (QP-601..611, QP-701..705, QP-721)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held
from kueuecore._types cimport amount_t, index_t
from kueuecore._usage cimport ColumnUsage
from kueuecore._workloads cimport Workloads

# Lists of the classical search, in the order in which they are gone through (QP-705).
cdef enum List:
    HIERARCHY = 0            # the preemptor sits in a subtree that could hold the request by itself
    PRIORITY = 1             # other ClusterQueues of the tree
    SAME_QUEUE = 2

# Policies of a ClusterQueue; an empty one is not Never, and is satisfied by nobody (QP-204, QP-601).
cdef enum Policy:
    POLICY_NEVER = 0
    POLICY_EMPTY = 1
    POLICY_LOWER_PRIORITY = 2
    POLICY_LOWER_OR_NEWER_EQUAL_PRIORITY = 3
    POLICY_ANY = 4


cdef struct Candidate:
    index_t workload
    index_t queue            # forest row where its quota is booked
    index_t ancestor         # lowest cohort over it and the preemptor; NONE in the preemptor's ClusterQueue
    int32_t list             # List
    bint sorted_by_use       # scratch of sort_by_use
    bint put_off             # scratch of the fair search: kept for its second strategy
    bint evicted             # condition Evicted: it stops already, so it comes first
    int64_t priority
    int64_t reserved_at      # later ones first


cdef class Candidates:
    cdef readonly Forest forest
    cdef readonly Flavors flavors
    cdef readonly Workloads workloads
    cdef readonly Held held
    cdef public bint timestamp_buffer     # gate SchedulerTimestampPreemptionBuffer
    cdef public int64_t now               # ns since the epoch: stands in for a missing reservation time

    # what is searched for, set by the caller
    cdef index_t preemptor
    cdef index_t queue                    # ClusterQueue of the preemptor
    cdef index_t* needed                  # [needed_count] columns that lack quota
    cdef Py_ssize_t needed_count
    cdef uint8_t* is_needed               # [column]
    cdef ColumnUsage* required            # [required_count] what must fit, a column once
    cdef Py_ssize_t required_count

    cdef Candidate* items                 # [count] found, in search order after sort
    cdef Py_ssize_t count

    cdef amount_t* remaining              # scratch of the hierarchy walk, [required]
    cdef Candidate* scratch
    cdef Candidate* group
    cdef Py_ssize_t capacity, scratch_capacity, group_capacity, column_capacity

    cdef int start(self, index_t preemptor, index_t queue) except -1 nogil
    cdef int need(self, index_t column) except -1 nogil
    cdef int require(self, index_t column, amount_t amount) except -1 nogil
    cdef int collect_classical(self) except -1 nogil
    cdef int collect_fair(self) except -1 nogil
    cdef bint is_within_nominal(self, index_t node) noexcept nogil
    cdef bint is_borrowing(self, index_t node) noexcept nogil
    cdef bint precedes(self, Candidate* a, Candidate* b) noexcept nogil
    cdef int sort(self, Candidate* items, Py_ssize_t count, bint by_use) except -1 nogil
    cdef int sort_by_use(self, Py_ssize_t first, Py_ssize_t count) except -1 nogil
    cdef bint is_same_group(self, Candidate* a, Candidate* b) noexcept nogil
    cdef bint precedes_by_use(self, Candidate* a, Candidate* b) noexcept nogil
    cdef int reserve_columns(self) except -1 nogil
    cdef bint leave_remainder(self, index_t node) noexcept nogil
    cdef int collect_below(self, index_t node, index_t visited, index_t ancestor, int32_t list) except -1 nogil
    cdef int collect_queue(self, index_t queue, index_t ancestor, int32_t list, uint8_t policy) except -1 nogil
    cdef int collect_borrowers(self, index_t node, index_t root) except -1 nogil
    cdef bint uses_needed(self, index_t workload) noexcept nogil
    cdef bint satisfies(self, uint8_t policy, index_t candidate) noexcept nogil
