"""The quota forest: ClusterQueues and cohorts with quota, limits and usage for each flavor-resource column.

Rows are nodes, columns are (flavor, resource) pairs. A row keeps its number for the life of its object; the order
children-before-parents is a list of rows beside the table. Amounts: `_amount`. Source: QP-201..217, QP-300..322.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._journal cimport Journal
from kueuecore._topology cimport Topologies
from kueuecore._types cimport amount_t, index_t


cdef class Forest:
    cdef readonly Topologies topologies  # whose changes stand in the same journal
    cdef readonly Py_ssize_t nodes      # rows in use, free ones included
    cdef readonly Py_ssize_t columns    # columns in use

    # [node]
    cdef public index_t[::1] parent     # row of the cohort above, NONE for a root
    cdef public uint8_t[::1] is_queue   # 1: ClusterQueue, 0: cohort
    cdef public uint8_t[::1] in_snapshot  # 0: inactive or below a cycle: not scheduled, no child for heights (QP-232)
    cdef public uint8_t[::1] frozen     # 1: its cohort chain has a cycle: aggregates are left as they are (QP-203)
    cdef public int32_t[::1] height     # QP-321
    cdef public int64_t[::1] generation  # allocatable generation (QP-217)
    cdef public double[::1] weight      # fair sharing weight, 1 by default (QP-301)
    cdef public index_t[::1] first_child    # children of a cohort as a list, NONE at its end
    cdef public index_t[::1] next_sibling

    # [column]
    cdef public index_t[::1] column_resource  # resource of a flavor-resource pair

    # [node, resource]
    cdef public amount_t[:, ::1] lendable      # of a cohort: potential capacity over all flavors (QP-332)

    # [node, column]
    cdef public amount_t[:, ::1] nominal       # own quota, 0 without one
    cdef public amount_t[:, ::1] borrow_limit  # valid where has_borrow_limit
    cdef public amount_t[:, ::1] lend_limit    # valid where has_lend_limit
    cdef public uint8_t[:, ::1] has_quota      # the node's own spec names the pair
    cdef public uint8_t[:, ::1] has_borrow_limit
    cdef public uint8_t[:, ::1] has_lend_limit
    cdef public uint8_t[:, ::1] has_subtree    # the node or one below it names the pair: keys of shares (QP-331)
    cdef public amount_t[:, ::1] subtree       # quota of the node and of what its children lend (QP-300)
    cdef public amount_t[:, ::1] local         # part of it that is never lent to the parent (QP-302)
    cdef public amount_t[:, ::1] potential     # capacity seen from the node with no usage anywhere (QP-309)
    cdef public amount_t[:, ::1] usage         # reserved here; in a cohort: what children store in it (QP-303)

    cdef amount_t local_available(self, index_t node, index_t column) noexcept nogil
    cdef amount_t available(self, index_t node, index_t column) noexcept nogil
    cdef bint is_borrowing_with(self, index_t node, index_t column, amount_t amount) noexcept nogil
    cdef int32_t lowest_subtree_that_fits(
        self, index_t node, index_t column, amount_t amount, bint* can_reclaim
    ) noexcept nogil
    cdef int add_usage(self, index_t node, index_t column, amount_t amount, Journal journal) except -1 nogil
    cdef int remove_usage(self, index_t node, index_t column, amount_t amount, Journal journal) except -1 nogil
    cdef void roll_back(self, Journal journal, Py_ssize_t mark) noexcept nogil
    cdef int check(self) except -1
    cdef check_node(self, index_t node)
    cdef check_column(self, index_t column)
    cdef void start_row(self, index_t node) noexcept nogil
    cdef void close_row(self, index_t node) noexcept nogil
    cdef void lend_to_parent(self, index_t node, index_t above) noexcept nogil
    cdef void look_up(self, index_t node) noexcept nogil
    cdef void sum_lendable(self, index_t node, index_t root) noexcept nogil
    cdef index_t root_of(self, index_t node) noexcept nogil
