"""What is read and written between cycles: decisions out, bookings in, a check of all tables."""

from libc.stdint cimport int32_t, int64_t

from kueuecore._cycle cimport CycleRunner
from kueuecore._order cimport Entry
from kueuecore._types cimport index_t


# In the bytes of an admission: one pod set, then `length` DetailItems and `domains` DetailDomains.
cdef struct DetailHead:
    int64_t count
    int32_t name
    int32_t length
    int32_t tree             # flavor in whose topology it was placed now, NONE where it was not
    int32_t delayed          # Delay
    int64_t domains


cdef struct DetailItem:
    int32_t resource
    int32_t flavor
    int64_t amount


cdef struct DetailDomain:    # pods in one place
    int64_t place
    int64_t count


cdef class Scheduler(CycleRunner):
    cdef int check_workload(self, index_t workload) except -1
    cdef bytes detail(self, Entry* entry)
    cdef Py_ssize_t write_flavors(self, Entry* entry, Py_ssize_t pod_set, DetailItem* items) noexcept nogil
