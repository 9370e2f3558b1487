"""Dominant resource share of a node of the forest, bit for bit as upstream computes it (QP-331..335)."""

from kueuecore._forest cimport Forest
from kueuecore._types cimport index_t


cdef struct Share:
    double ratio             # borrowed over lendable of the dominant resource, times 1000
    double weight
    bint borrowing           # beyond subtree quota on some pair, also where the ratio stays 0 (QP-335)


cdef class Shares:
    cdef readonly Forest forest
    cdef index_t* borrowed_resource  # scratch: resources a node borrows
    cdef long long* borrowed_amount
    cdef Py_ssize_t capacity

    cdef int reserve(self) except -1 nogil
    cdef Share of(self, index_t node) noexcept nogil


cdef inline double weighted(Share share) noexcept nogil:
    """The weighted share; +Inf for weight 0 while borrowing (QP-333)."""
    if share.ratio == 0.0:
        return 0.0
    return share.ratio / share.weight


cdef inline int compare(Share a, Share b) noexcept nogil:
    """-1, 0 or 1: whose share is lower (QP-334)."""
    cdef bint a_infinite = a.weight == 0.0 and a.ratio != 0.0
    cdef bint b_infinite = b.weight == 0.0 and b.ratio != 0.0
    cdef double x, y
    if a_infinite and b_infinite:
        x, y = a.ratio, b.ratio
    elif a_infinite:
        return 1
    elif b_infinite:
        return -1
    else:
        x, y = weighted(a), weighted(b)
    return -1 if x < y else 1 if x > y else 0
