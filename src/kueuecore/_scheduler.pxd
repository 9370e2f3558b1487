"""What is read and written between cycles: decisions out, bookings in, a check of all tables."""

from libc.stdint cimport int32_t, int64_t

from kueuecore._cycle cimport CycleRunner
from kueuecore._order cimport Entry
from kueuecore._types cimport index_t


cdef struct DetailHead:      # in the bytes of an admission: one pod set, then `length` DetailItems
    int64_t count
    int32_t name
    int32_t length


cdef struct DetailItem:
    int32_t resource
    int32_t flavor
    int64_t amount


cdef class Scheduler(CycleRunner):
    cdef int check_workload(self, index_t workload) except -1
    cdef bytes detail(self, Entry* entry)
