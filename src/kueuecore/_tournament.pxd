"""The order of entries under fair sharing: at each level the lowest share after admission wins (QC-109..113)."""

from libc.stdint cimport uint8_t

from kueuecore._heaps cimport ChildHeaps
from kueuecore._journal cimport Journal
from kueuecore._order cimport Entry
from kueuecore._share cimport Share, Shares
from kueuecore._types cimport index_t
from kueuecore._workloads cimport Workloads


cdef struct Standing:        # of the entry that stands for a node
    Share share              # of the node, with the entry admitted
    bint borrows_requested   # the node borrows on a pair that the entry takes


cdef class Tournament(ChildHeaps):
    cdef readonly Workloads workloads
    cdef readonly Shares shares
    cdef readonly Journal journal
    cdef public bint preemptors_first       # gate PrioritizePreemptorWorkloads
    cdef public bint non_borrowing_first    # gate FairSharingPrioritizeNonBorrowing
    cdef public bint by_priority            # gate PrioritySortingWithinCohort

    cdef Entry* entries
    cdef char* arena                        # where the entries' usage stands
    cdef index_t* entry_of                  # [node] entry that stands for the node, NONE when none is left below it
    cdef Standing* standing                 # [node]
    cdef Py_ssize_t capacity
    cdef Py_ssize_t next_entry              # first entry that may still be there
    cdef index_t last                       # ClusterQueue of the entry that was handed out last, NONE at first

    cdef int start(self, Entry* entries, char* arena, Py_ssize_t count) except -1 nogil
    cdef Py_ssize_t pop(self, Entry* entries, char* arena, Py_ssize_t count) except -2 nogil
    cdef int step_down(self, index_t queue) except -1 nogil
    cdef int compute(self, index_t node) except -1 nogil
