"""Victims that a cycle chose so far, and the evictions it issued (QC-117, QC-127, QC-129, QC-146)."""

from libc.stdint cimport int64_t

from kueuecore._forest cimport Forest
from kueuecore._preempt cimport Target
from kueuecore._types cimport index_t
from kueuecore._usage cimport Usage
from kueuecore._workloads cimport Workloads


cdef struct Victim:
    index_t workload
    index_t queue            # where its quota is booked
    index_t root             # of its tree
    index_t before           # the victim of the same tree before it, NONE for the first


cdef struct Eviction:
    index_t workload
    index_t queue
    index_t preemptor
    int reason               # TargetReason


cdef class Victims:
    cdef Forest forest
    cdef Workloads workloads
    cdef Usage usage
    cdef int64_t cycle                       # the cycle that the victims are of
    cdef Victim* victims
    cdef Py_ssize_t count, capacity
    cdef index_t* last_of_tree               # [root] newest victim of the tree, NONE without
    cdef Py_ssize_t root_capacity
    cdef int64_t* chosen_in                  # [workload] cycle in which it became a victim
    cdef Py_ssize_t row_capacity
    cdef Eviction* evictions                 # [eviction_count]
    cdef Py_ssize_t eviction_count, eviction_capacity

    cdef int start(self, int64_t cycle) except -1 nogil
    cdef bint has(self, index_t workload) noexcept nogil
    cdef bint has_any(self, Target* targets, Py_ssize_t count) noexcept nogil
    cdef int add(self, index_t root, Target* targets, Py_ssize_t count) except -1 nogil
    cdef int take_off(self, index_t root) except -1 nogil
    cdef void exclude(self, index_t root, bint excluded) noexcept nogil
    cdef int issue(self, index_t preemptor, Target* targets, Py_ssize_t count) except -1 nogil
