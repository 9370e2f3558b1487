"""One scheduling cycle in one call: heads, nominate, order, process, requeue (QC-88..145)."""

from libc.stdint cimport int64_t

from kueuecore._order cimport Entry
from kueuecore._types cimport index_t
from kueuecore._settle cimport Settler


cdef class CycleRunner(Settler):
    cdef int take_heads(self, int64_t now) except -1 nogil
    cdef Entry* new_entry(self, index_t workload, index_t queue) noexcept nogil
    cdef int take_second_pass(self) except -1 nogil
    cdef int yield_to_heads(self) except -1 nogil
    cdef bint refuse(self, Entry* entry) noexcept nogil
    cdef int nominate(self, Entry* entry) except -1 nogil
    cdef bint is_outdated(self, index_t workload, index_t queue) noexcept nogil
    cdef int64_t scan_mark(self, index_t workload) noexcept nogil
    cdef int put_back(self, int64_t now) except -1 nogil
