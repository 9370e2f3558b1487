"""Usage of single workloads, quota and places, booked and taken off as one (QP-212, QP-213, TP-1202)."""

from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._journal cimport Journal
from kueuecore._topology cimport Topologies
from kueuecore._types cimport amount_t, index_t
from kueuecore._workloads cimport Workloads


cdef struct ColumnUsage:
    index_t column
    amount_t amount


cdef class Usage:
    cdef Forest forest
    cdef Flavors flavors
    cdef Workloads workloads
    cdef Journal journal
    cdef Topologies topologies
    cdef ColumnUsage* items          # [count] of the workload that was loaded last
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity

    cdef int load(self, index_t workload) except -1 nogil
    cdef int add_quota(self, index_t workload, index_t queue) except -1 nogil
    cdef int remove_quota(self, index_t workload, index_t queue) except -1 nogil
    cdef int add(self, index_t workload, index_t queue) except -1 nogil
    cdef int remove(self, index_t workload, index_t queue) except -1 nogil
