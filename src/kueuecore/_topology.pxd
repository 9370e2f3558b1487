"""Topology trees: one for each flavor with a topology, domains in order of their level values, room and use of leaves.

The row of a tree is the row of its flavor. Domains of a level are numbered by their values from the top, byte by byte,
so the number is the last tie-break and children of a domain stand side by side. A domain without member nodes keeps its
number and takes no part (TP-404). Source: TP-401..408, TP-501..511, TP-701..706.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t

from kueuecore._journal cimport Journal
from kueuecore._trees cimport MOST_LEVELS, Level, Tree
from kueuecore._types cimport amount_t, index_t

cdef enum:
    MOST_LAYERS = 3          # of slices (TP-203)

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


cdef struct Booking:         # pods of a workload in one leaf
    index_t tree             # flavor under which it is filed (TP-503)
    index_t pod_set          # within the workload
    index_t place
    index_t pods             # row of the pod table
    int64_t count


cdef struct BookingList:
    Booking* items           # [length]
    Py_ssize_t length


cdef class Topologies:
    cdef Tree* trees                 # [tree_count]
    cdef readonly Py_ssize_t tree_count
    cdef readonly Py_ssize_t width   # resources of a row
    cdef public index_t pods_resource  # the resource `pods`, NONE before it has a number
    cdef public index_t[::1] resource_rank  # [resource] in byte order of names: breaks ties (TP-705)
    cdef Py_ssize_t tree_capacity
    cdef int64_t versions            # trees numbered so far
    # Raise it after changing an entry of match, score or the pod table that was in use: counts kept of it are then old.
    cdef public int64_t generation

    # [place] use of admitted workloads, the sum over all trees that share the place (TP-509)
    cdef amount_t* base              # [place * width + resource]
    cdef readonly Py_ssize_t place_count

    # what one pod takes: [pods class]
    cdef public index_t[::1] pods_start      # its first entry in pods_item
    cdef public index_t[::1] pods_length
    cdef public index_t[::1] item_resource   # sorted by name of the resource: the first of equals limits (TP-705)
    cdef public amount_t[::1] item_amount    # of the pod spec alone, `pods: 1` is not in it (TP-501)

    # [filter, node class] of Exclusion
    cdef public uint16_t[:, ::1] match
    # [filter, node class] sum of the weights of preferred affinity terms that match (TP-707); 0 where it has no entry
    cdef public int64_t[:, ::1] score

    cdef BookingList* bookings       # [workload row]
    cdef Py_ssize_t booking_rows

    cdef amount_t remaining(self, Tree* tree, int view, index_t leaf, index_t resource) noexcept nogil
    cdef int64_t pods_that_fit(self, Tree* tree, int view, index_t leaf, index_t pods, bint count_pods,
                               index_t* limiting) noexcept nogil
    cdef int change(self, index_t tree, int view, index_t leaf, index_t pods, int64_t count,
                    Journal journal) except -1 nogil
    cdef int assume(self, index_t tree, int view, index_t leaf, index_t pods, int64_t count,
                    Journal journal) except -1 nogil
    cdef void undo(self, index_t code, index_t cell, amount_t before) noexcept nogil
    cdef int add_workload(self, index_t workload, Journal journal) except -1 nogil
    cdef int remove_workload(self, index_t workload, Journal journal) except -1 nogil
    cdef int book(self, index_t workload) except -1 nogil
    cdef int unbook(self, index_t workload) except -1 nogil
    cdef BookingList* bookings_of(self, index_t workload) noexcept nogil
    cdef int set_bookings(self, index_t workload, Booking* items, Py_ssize_t length) except -1 nogil
    # Undo, newest first, all changes of topology usage noted since the journal's length was `mark`.
    cdef void roll_back(self, Journal journal, Py_ssize_t mark) noexcept nogil
    cdef Tree* tree_at(self, index_t row) except NULL

    cdef int _simulate(self, index_t workload, int sign, Journal journal) except -1 nogil
    cdef int _file(self, index_t workload, int sign) except -1 nogil
    cdef void _file_amount(self, index_t place, index_t resource, amount_t amount) noexcept nogil
    cdef void _log_place(self, index_t place) noexcept nogil
    cdef Tree* _fresh(self, index_t tree) except NULL
    cdef index_t _root(self, Tree* tree, index_t leaf) noexcept nogil
    cdef bint _stands_in_order(self, Tree* tree, const index_t* path, int level, int new_from_level) noexcept
