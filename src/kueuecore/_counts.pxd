"""How many pods and slices of a request fit each leaf and domain, kept from one placement to the next (TP-701..710).

Counts belong to a shape: what one pod takes, filters, slices, which use is looked at. When leaves changed since, only
they and what stands above them are counted again.
"""

from libc.stdint cimport int64_t

from kueuecore._leaves cimport Counts, Shape
from kueuecore._topology cimport Topologies
from kueuecore._trees cimport Tree
from kueuecore._types cimport index_t

cdef enum:
    MOST_ENTRIES = 64        # counts kept, however small
    LEAST_ENTRIES = 8        # counts kept, however large


cdef class CountCache:
    cdef readonly Topologies topologies
    cdef Counts* entries             # [MOST_ENTRIES + 1], the last for restricted counts, which are not kept
    cdef readonly Py_ssize_t length
    cdef readonly Py_ssize_t bytes
    cdef public Py_ssize_t most_bytes
    cdef int64_t clock
    cdef readonly int64_t recounted  # leaves counted so far: what a test of laziness looks at

    cdef Counts* counts_for(self, Shape* shape) except NULL nogil
    cdef Counts* restricted(self, Shape* shape, index_t first, index_t end) except NULL nogil
    cdef int bring_up(self, Counts* counts) except -1 nogil
    cdef void drop_entry(self, Py_ssize_t entry) noexcept nogil
    cdef void forget(self) noexcept nogil


cdef void sum_up(Counts* counts, Tree* tree, int level, Py_ssize_t domain, int64_t inner) noexcept nogil
cdef Py_ssize_t hits_at(Counts* counts, Tree* tree, int level, int64_t need) noexcept nogil
