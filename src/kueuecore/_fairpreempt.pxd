"""The search for victims under fair sharing (QP-720..738)."""

from libc.stdint cimport uint8_t

from kueuecore._preempt cimport Preemptor
from kueuecore._share cimport Share
from kueuecore._types cimport index_t


cdef class FairPreemptor(Preemptor):
    cdef public bint final_share_first         # first strategy LessThanOrEqualToFinalShare, else LessThanInitialShare
    cdef public bint initial_share_second      # LessThanInitialShare as second strategy (QP-720)
    cdef public bint preempt_within_nominal    # gate FairSharingPreemptWithinNominal (QP-733)

    # scratch, [node]
    cdef Py_ssize_t* head                      # next candidate of a ClusterQueue in `order`
    cdef Py_ssize_t* tail                      # one after its last
    cdef uint8_t* pruned                       # yields nothing any more
    cdef uint8_t* on_path                      # cohort over the preemptor
    cdef uint8_t* known                        # share is valid
    cdef Share* share                          # of a node, while nothing below it changed
    cdef Py_ssize_t node_capacity
    cdef Py_ssize_t* retry                     # candidates for the second strategy
    cdef Py_ssize_t retry_count, retry_capacity

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
