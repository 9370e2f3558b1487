"""Classes of scheduling equivalence by ClusterQueue: which are parked, and how many wait in the heap (QC-46, QC-47)."""

from libc.stdint cimport int64_t

from kueuecore._types cimport index_t


cdef struct ClassEntry:
    int64_t key              # ClusterQueue row * 2^32 + class, -1 for a free place
    int64_t flush_count      # of the queue when the class was parked, -1 if it never was
    int64_t in_heap          # workloads of the class that are in the queue's heap now


cdef class Classes:
    cdef ClassEntry* entries     # open addressing, a power of two
    cdef Py_ssize_t capacity
    cdef Py_ssize_t count
    cdef int64_t* flush_counts   # [ClusterQueue row] flushes so far: what was parked before the last is forgotten
    cdef Py_ssize_t queue_capacity

    cdef int reserve(self, Py_ssize_t queues) except -1
    cdef Py_ssize_t place(self, int64_t key) noexcept nogil
    cdef ClassEntry* find(self, index_t queue, index_t shape) noexcept nogil
    cdef ClassEntry* make(self, index_t queue, index_t shape) except NULL nogil
    cdef bint is_parked(self, index_t queue, index_t shape) noexcept nogil
    cdef void forget_parked(self, index_t queue) noexcept nogil
    cdef bint means_something(self, ClassEntry* entry) noexcept nogil
    cdef int grow(self) except -1 nogil
