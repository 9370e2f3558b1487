"""What stands in the topology trees: use of the leaves, how many pods fit, and what each workload has booked.

Source: TP-501..511, TP-705, TP-1104, TP-1106, TP-1202.
"""

from libc.stdint cimport int64_t

from kueuecore._journal cimport Journal
from kueuecore._treetable cimport (
    AS_EMPTY, AS_USED, EXCLUDED_BY_AFFINITY, EXCLUDED_BY_SELECTOR, FIRST_TAINT, NOT_EXCLUDED, Exclusion, TreeTable,
)
from kueuecore._trees cimport Tree
from kueuecore._types cimport amount_t, index_t

cdef enum:
    MOST_LAYERS = 3          # of slices (TP-203)


cdef struct Booking:         # pods of a workload in one leaf
    index_t tree             # flavor under which it is filed (TP-503)
    index_t pod_set          # within the workload
    index_t place
    index_t pods             # row of the pod table
    int64_t count


cdef struct BookingList:
    Booking* items           # [length]
    Py_ssize_t length


cdef class Topologies(TreeTable):
    cdef public index_t pods_resource  # the resource `pods`, NONE before it has a number
    cdef public index_t[::1] resource_rank  # [resource] in byte order of names: breaks ties (TP-705)
    # Raise it after changing an entry of match, score or the pod table that was in use: counts kept of it are then old.
    cdef public int64_t generation

    # what one pod takes: [pods class]
    cdef public index_t[::1] pods_start      # its first entry in pods_item
    cdef public index_t[::1] pods_length
    cdef public index_t[::1] item_resource   # sorted by name of the resource: the first of equals limits (TP-705)
    cdef public amount_t[::1] item_amount    # of the pod spec alone, `pods: 1` is not in it (TP-501)

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

    cdef int _simulate(self, index_t workload, int sign, Journal journal) except -1 nogil
    cdef int _file(self, index_t workload, int sign) except -1 nogil
    cdef void _file_amount(self, index_t place, index_t resource, amount_t amount) noexcept nogil
    cdef void _log_place(self, index_t place) noexcept nogil
