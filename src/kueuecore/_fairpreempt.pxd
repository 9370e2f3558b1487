"""The search for victims under fair sharing (QP-720..738)."""

from kueuecore._fairorder cimport FairOrder
from kueuecore._preempt cimport Preemptor


cdef class FairPreemptor(Preemptor):
    cdef public bint final_share_first         # first strategy LessThanOrEqualToFinalShare, else LessThanInitialShare
    cdef public bint initial_share_second      # LessThanInitialShare as second strategy (QP-720)
    cdef public bint preempt_within_nominal    # gate FairSharingPreemptWithinNominal (QP-733)

    cdef readonly FairOrder order
    cdef Py_ssize_t* retry                     # candidates for the second strategy
    cdef Py_ssize_t retry_count, retry_capacity

    cdef bint run_first_strategy(self) except -1 nogil
    cdef bint run_second_strategy(self) except -1 nogil
    cdef bint fits_without_request(self) except -1 nogil
    cdef int change_request(self, bint remove) except -1 nogil
    cdef int put_off(self, Py_ssize_t candidate) except -1 nogil
    cdef void keep_put_off(self) noexcept nogil
