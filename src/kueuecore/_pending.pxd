"""Where each pending workload waits: one binary heap a ClusterQueue, and one list of parked workloads.

Source: QC-3, QC-11, QC-18..30, QC-37, QC-46..48.
"""

from libc.stdint cimport int64_t, uint8_t

from kueuecore._classes cimport Classes
from kueuecore._types cimport Requeue, index_t
from kueuecore._workloads cimport Workloads


cdef struct Rows:
    index_t* items           # [length] workload rows
    Py_ssize_t length
    Py_ssize_t capacity


cdef struct Queue:
    Rows heap                # binary heap by stickiness, then Workloads.before
    Rows parked              # in no order
    index_t inflight         # popped and not yet placed again, NONE without
    index_t sticky           # preemptor that goes first, NONE without (QC-18)
    index_t preemptor        # workload that carries the preemptor mark, NONE without
    int64_t preemptor_generation  # its generation then
    bint usage_based         # past use of the LocalQueue comes before everything else (QC-13)
    int64_t pop_cycle        # pops so far (QC-24)
    int64_t flush_cycle      # pop_cycle at the last flush, -1 before the first


cdef class Pending:
    cdef readonly Workloads workloads
    cdef Queue* queues       # [node]
    cdef Py_ssize_t queue_capacity
    cdef readonly Classes classes

    cdef public uint8_t[::1] strict              # [node] queueing strategy StrictFIFO
    cdef public uint8_t[:, ::1] namespace_match  # [node, namespace] of NamespaceMatch
    cdef public bint hashing                     # gate SchedulingEquivalenceHashing

    cdef index_t pop(self, index_t queue) except -2 nogil
    cdef int requeue(self, index_t queue, index_t workload, Requeue reason, int64_t now) except -1 nogil
    cdef bint is_preemptor(self, index_t queue, index_t workload) noexcept nogil
    cdef int settle(self, index_t queue, index_t workload) except -1 nogil
    cdef int push(self, index_t queue, index_t workload) except -1 nogil
    cdef int park(self, index_t queue, index_t workload) except -1 nogil
    cdef void take_out(self, index_t workload) noexcept nogil
    cdef int park_class(self, index_t queue, index_t shape) except -1 nogil
    cdef bint precedes(self, Queue* queue, index_t a, index_t b) noexcept nogil
    cdef void sift_up(self, Queue* queue, Py_ssize_t at) noexcept nogil
    cdef void heapify(self, Queue* queue) noexcept nogil
    cdef void sift_down(self, Queue* queue, Py_ssize_t at) noexcept nogil
    cdef int append(self, Rows* rows, index_t workload) except -1 nogil
    cdef void set_sticky(self, Queue* queue, index_t workload) noexcept nogil
    cdef int check(self, Py_ssize_t nodes) except -1
    cdef int check_queue(self, index_t queue) except -1
    cdef int check_workload(self, index_t workload) except -1
