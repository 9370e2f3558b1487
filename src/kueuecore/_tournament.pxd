"""The order of entries under fair sharing: at each level the lowest share after admission wins (QC-109..113)."""

from libc.stdint cimport int64_t, uint8_t

from kueuecore._forest cimport Forest
from kueuecore._journal cimport Journal
from kueuecore._order cimport Entry
from kueuecore._share cimport Share, Shares
from kueuecore._types cimport index_t
from kueuecore._usage cimport ColumnUsage
from kueuecore._workloads cimport Workloads


cdef struct Standing:        # of one entry at one level of its path
    Share share              # of the node at the level, with the entry admitted
    bint borrows_requested   # that node borrows on a pair that the entry takes


cdef class Tournament:
    cdef readonly Forest forest
    cdef readonly Workloads workloads
    cdef readonly Shares shares
    cdef readonly Journal journal
    cdef public bint preemptors_first       # gate PrioritizePreemptorWorkloads
    cdef public bint non_borrowing_first    # gate FairSharingPrioritizeNonBorrowing
    cdef public bint by_priority            # gate PrioritySortingWithinCohort

    cdef Entry* entries
    cdef char* arena                        # where the entries' usage stands
    cdef index_t* entry_of                  # [node] entry of a ClusterQueue that was not popped yet, NONE without
    cdef int64_t* changed_at                # [node] when its usage last changed, in pops
    cdef Py_ssize_t node_capacity
    cdef Standing* standings                # [entry, level] level 0: the ClusterQueue
    cdef int64_t* computed_at               # [entry]
    cdef Py_ssize_t standing_capacity, entry_capacity
    cdef Py_ssize_t levels                  # longest path
    cdef int64_t clock
    cdef Py_ssize_t next_entry              # first entry that may still be there

    cdef int start(self, Entry* entries, Py_ssize_t count) except -1 nogil
    cdef Py_ssize_t pop(self, Entry* entries, char* arena, Py_ssize_t count) except -2 nogil
    cdef void note_change(self, index_t node) noexcept nogil
    cdef index_t winner_below(self, index_t cohort) except -2 nogil
    cdef int compute(self, index_t entry) except -1 nogil
    cdef bint is_stale(self, index_t entry) noexcept nogil
    cdef bint beats(self, index_t a, index_t b, index_t cohort) noexcept nogil
    cdef Standing* standing(self, index_t entry, index_t cohort) noexcept nogil
