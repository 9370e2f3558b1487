"""Topology trees: one for each flavor with a topology, domains in order of their level values, room and use of leaves.

The row of a tree is the row of its flavor. Domains of a level are numbered by their values from the top, byte by byte,
so the number is the last tie-break and children of a domain stand side by side. A domain without member nodes keeps its
number and takes no part (TP-404). Source: TP-401..408, TP-501..511, TP-701..706.
"""

from libc.stdint cimport int64_t, uint16_t

from kueuecore._trees cimport Tree
from kueuecore._types cimport amount_t, index_t

# The view: against which use a placement looks at the leaves.
cdef enum:
    AS_USED = 0              # as usage stands
    AS_EMPTY = 1             # nothing but what the workload at hand already assumes (TP-511)

# Why a leaf takes no pod of a class (TP-702, TP-704, TP-706), codes of `match`; FIRST_TAINT + n is taint number n.
cdef enum Exclusion:
    NOT_EXCLUDED = 0
    EXCLUDED_BY_SELECTOR = 1
    EXCLUDED_BY_AFFINITY = 2
    FIRST_TAINT = 3


cdef class TreeTable:
    cdef Tree* trees                 # [tree_count]
    cdef readonly Py_ssize_t tree_count
    cdef readonly Py_ssize_t width   # resources of a row
    cdef Py_ssize_t tree_capacity
    cdef int64_t versions            # trees numbered so far

    # [place] use of admitted workloads, the sum over all trees that share the place (TP-509)
    cdef amount_t* base              # [place * width + resource]
    cdef readonly Py_ssize_t place_count

    # [filter, node class] of Exclusion
    cdef public uint16_t[:, ::1] match
    # [filter, node class] sum of the weights of preferred affinity terms that match (TP-707); 0 where it has no entry
    cdef public int64_t[:, ::1] score

    cdef Tree* tree_at(self, index_t row) except NULL
    cdef Tree* _fresh(self, index_t tree) except NULL
    cdef index_t _root(self, Tree* tree, index_t leaf) noexcept nogil
    cdef bint _stands_in_order(self, Tree* tree, const index_t* path, int level, int new_from_level) noexcept
