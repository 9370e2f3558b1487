"""Workloads that hold quota, one list a ClusterQueue: the candidates of every preemption (QP-211)."""

from kueuecore._types cimport index_t


cdef struct HeldRows:
    index_t* items           # [length] workload rows, in no order
    Py_ssize_t length
    Py_ssize_t capacity


cdef class Held:
    cdef HeldRows* queues    # [node]
    cdef Py_ssize_t queue_capacity
    cdef index_t* position   # [workload] its index in the list of its ClusterQueue
    cdef Py_ssize_t position_capacity

    cdef int add(self, index_t queue, index_t workload) except -1 nogil
    cdef void remove(self, index_t queue, index_t workload) noexcept nogil
    cdef HeldRows* rows_of(self, index_t queue) noexcept nogil
