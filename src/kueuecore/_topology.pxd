"""Topology trees: one for each flavor with a topology, domains in order of their level values, room and use of leaves.

The row of a tree is the row of its flavor. Domains of a level are numbered by their values from the top, byte by byte,
so the number is the last tie-break and children of a domain stand side by side. A domain without member nodes keeps its
number and takes no part (TP-404). Source: TP-401..408, TP-501..511, TP-701..706.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from kueuecore._journal cimport Journal
from kueuecore._types cimport amount_t, index_t

cdef enum:
    MOST_LEVELS = 16         # of a Topology (TP-201)
    MOST_LAYERS = 3          # of slices (TP-203)

# Against which use a placement looks at the leaves.
cdef enum View:
    AS_USED = 0              # as usage stands
    AS_EMPTY = 1             # nothing but what the workload at hand already assumes (TP-511)

# Why a leaf takes no pod of a class (TP-702, TP-704, TP-706), codes of `match`; FIRST_TAINT + n is taint number n.
cdef enum Exclusion:
    NOT_EXCLUDED = 0
    EXCLUDED_BY_SELECTOR = 1
    EXCLUDED_BY_AFFINITY = 2
    FIRST_TAINT = 3


cdef struct Level:
    Py_ssize_t count         # domains, those without nodes included
    index_t* parent          # [domain] at the level above, NONE at level 0
    index_t* first_child     # [domain] first domain of it at the level below
    index_t* child_end       # [domain] one after its last
    int32_t* nodes           # [domain] member nodes in it


cdef struct Tree:
    bint exists              # flavor and Topology are both there (TP-505)
    bint by_host             # the lowest level is the hostname
    index_t rank             # place of the flavor in name order (TP-1101)
    int32_t depth            # levels; the leaf level H is depth - 1
    index_t[16] level_key    # [level] number of its node label
    Level[16] levels
    Py_ssize_t leaves        # domains of the leaf level
    Py_ssize_t width         # resources of a row
    index_t* place           # [leaf] identity that bookings keep
    Py_ssize_t places        # entries of leaf_of_place
    index_t* leaf_of_place   # [place] NONE where the tree has no such leaf
    index_t* node_class      # [leaf] column of `match`; only by_host
    amount_t* free           # [leaf * width + resource] allocatable less what other pods use (TP-509)
    amount_t*[2] used        # [view][leaf * width + resource] in this tree
    index_t*[2] log          # [view] ring of leaves that changed, for whoever keeps counts
    int64_t[2] log_end       # [view] leaves ever logged
    Py_ssize_t log_size      # entries of each ring
    int64_t version          # changes when leaves are numbered anew


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
    cdef public index_t pods_resource  # the resource `pods`

    # [place] use of admitted workloads, the sum over all trees that share the place (TP-509)
    cdef amount_t* base              # [place * width + resource]
    cdef readonly Py_ssize_t place_count

    # what one pod takes: [pods class]
    cdef public index_t[::1] pods_start      # its first entry in pods_item
    cdef public index_t[::1] pods_length
    cdef public index_t[::1] item_resource   # sorted by name of the resource, so that the first of equals limits (TP-705)
    cdef public amount_t[::1] item_amount    # of the pod spec alone, `pods: 1` is not in it (TP-501)

    # [filter, node class] of Exclusion
    cdef public uint16_t[:, ::1] match

    cdef BookingList* bookings       # [workload row]
    cdef Py_ssize_t booking_rows

    cdef amount_t remaining(self, Tree* tree, int view, index_t leaf, index_t resource) noexcept nogil
    cdef int64_t pods_that_fit(self, Tree* tree, int view, index_t leaf, index_t pods, bint count_pods,
                               index_t* limiting) noexcept nogil
    cdef int change(self, index_t tree, int view, index_t leaf, index_t pods, int64_t count, Journal journal) except -1 nogil
    cdef int assume(self, index_t tree, int view, index_t leaf, index_t pods, int64_t count, Journal journal) except -1 nogil
    cdef void undo(self, index_t code, index_t cell, amount_t before) noexcept nogil
    cdef int add_workload(self, index_t workload, Journal journal) except -1 nogil
    cdef int remove_workload(self, index_t workload, Journal journal) except -1 nogil
    cdef int book(self, index_t workload) except -1 nogil
    cdef int unbook(self, index_t workload) except -1 nogil
    cdef BookingList* bookings_of(self, index_t workload) noexcept nogil
    cdef int set_bookings(self, index_t workload, Booking* items, Py_ssize_t length) except -1 nogil
