"""Which domains of a level take a request, and how domains share it among their children (TP-805..811)."""

from libc.stdint cimport int32_t, int64_t

from kueuecore._leaves cimport Counts
from kueuecore._trees cimport Tree
from kueuecore._types cimport index_t


cdef struct Share:
    index_t domain
    int32_t leaders          # 1: the leader stands here
    int64_t pods             # of the workers


cdef struct Shares:
    Share* items             # [length]
    Py_ssize_t length
    Py_ssize_t capacity


cdef struct Search:          # one request, and what is found for it
    int32_t level            # L, then the level that was looked at last
    int64_t need             # n: whole slices
    int32_t leaders          # Λ*: 0 or 1
    bint required
    bint unconstrained
    bint least_free          # profile LeastFree, else BestFit (TP-801)
    int64_t fitted           # what a failure says fitted


cdef struct Heap:            # scratch of a selection
    index_t* items
    Py_ssize_t length
    Py_ssize_t capacity


cdef enum Found:
    NOT_FOUND = 0
    FOUND = 1
    NO_DOMAIN = 2            # the level has none


cdef int append(Shares* shares, index_t domain, int32_t leaders, int64_t pods) except -1 nogil
cdef int search_levels(Counts* counts, Tree* tree, Search* search, Heap* heap, Shares* found) except -1 nogil
cdef bint fits(Counts* counts, Tree* tree, Search* search) noexcept nogil
cdef int descend(Counts* counts, Tree* tree, Search* search, bint balanced, Heap* heap, Shares* shares,
                 Shares* spare) except -1 nogil
cdef bint before_led(Counts* counts, int level, bint least_free, Py_ssize_t a, Py_ssize_t b) noexcept nogil
cdef bint before(Counts* counts, int level, bint least_free, Py_ssize_t a, Py_ssize_t b) noexcept nogil
