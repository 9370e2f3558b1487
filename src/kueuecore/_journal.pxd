"""Undo journal of usage: every what-if writes here, and rollback brings the bits back (QP-909, QP-954).

Removing what was added is no undo once an amount has saturated; restoring the old value is.
"""

from kueuecore._types cimport amount_t, index_t


cdef struct Change:
    index_t node             # row of the forest; below NONE: a topology tree (see Topologies.change)
    index_t column           # flavor-resource column; in a tree: leaf and resource
    amount_t before          # usage before the change


cdef class Journal:
    cdef Change* changes     # [length], oldest first
    cdef Py_ssize_t length   # changes noted since the last clear
    cdef Py_ssize_t capacity

    cdef int note(self, index_t node, index_t column, amount_t before) except -1 nogil
