"""From which ClusterQueue the next victim is taken: down the tree to whoever has most (QP-723)."""

from libc.stdint cimport uint8_t

from kueuecore._candidates cimport Candidate, Candidates
from kueuecore._heaps cimport ChildHeaps
from kueuecore._share cimport Share, Shares
from kueuecore._types cimport index_t


cdef class FairOrder(ChildHeaps):
    cdef readonly Candidates candidates
    cdef readonly Shares shares
    cdef Py_ssize_t* head        # [node] next candidate of a ClusterQueue among those of `candidates`
    cdef Py_ssize_t* tail        # [node] one after its last
    cdef Share* share            # [node] of the nodes that take part, as usage stands
    cdef uint8_t* on_path        # [node] cohort over the preemptor
    cdef bint own_is_dropped     # the preemptor's ClusterQueue, where it has no cohort
    cdef Py_ssize_t capacity

    cdef int start(self) except -1 nogil
    cdef void finish(self) noexcept nogil
    cdef int line_up(self) except -1 nogil
    cdef index_t next_queue(self) noexcept nogil
    cdef Candidate* peek(self, index_t queue) noexcept nogil
    cdef bint has_candidate(self, index_t queue) noexcept nogil
    cdef void advance(self, index_t queue) noexcept nogil
    cdef void drop(self, index_t queue) noexcept nogil
    cdef void usage_changed(self, index_t queue) noexcept nogil
    cdef void below_common_ancestor(self, index_t target, index_t* own_side, index_t* target_side) noexcept nogil
