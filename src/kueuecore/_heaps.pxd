"""Binary heaps of the children of each cohort, for what looks for the best child again and again.

Only the nodes on the ways from the leaves that were added up to their roots take part, so a look costs what they cost
and not what the tree has. A node goes before another as a subclass says.
"""

from libc.stdint cimport int32_t, uint8_t

from kueuecore._forest cimport Forest
from kueuecore._types cimport index_t


cdef class ChildHeaps:
    cdef readonly Forest forest
    cdef uint8_t* live           # [node] takes part
    cdef index_t* position       # [node] index in the heap of its parent, NONE while it is in none
    cdef index_t* first_place    # [node] first place of a cohort's heap in `items`
    cdef index_t* length         # [node] children that are in its heap
    cdef Py_ssize_t node_capacity
    cdef index_t* nodes          # [node_count] nodes that take part, each before its parent
    cdef Py_ssize_t node_count
    cdef index_t* items          # heaps of all cohorts, one behind the other

    cdef int clear(self) except -1 nogil
    cdef void add_leaf(self, index_t node) noexcept nogil
    cdef void lay_out(self) noexcept nogil
    cdef void order_by_depth(self) noexcept nogil
    cdef int32_t depth_of(self, index_t node) noexcept nogil
    cdef void push(self, index_t node) noexcept nogil
    cdef void remove(self, index_t node) noexcept nogil
    cdef void reorder(self, index_t node) noexcept nogil
    cdef index_t top(self, index_t cohort) noexcept nogil
    cdef bint goes_before(self, index_t a, index_t b) noexcept nogil
    cdef void sift_up(self, index_t cohort, index_t at) noexcept nogil
    cdef void sift_down(self, index_t cohort, index_t at) noexcept nogil
