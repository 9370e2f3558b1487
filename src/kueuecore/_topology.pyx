"""Use of the leaves: how many pods fit, what workloads have booked, and changes that can be undone."""

import numpy as np

from libc.stdint cimport INT32_MAX, INT64_MIN, int64_t
from libc.stdlib cimport free as release, malloc, realloc
from libc.string cimport memcpy, memset

from kueuecore._amount cimport saturating_add, saturating_mul, saturating_sub
from kueuecore._journal cimport Journal
from kueuecore._trees cimport Tree, leaf_at, log_leaf
from kueuecore._types cimport NONE, amount_t, index_t

from kueuecore._treetable import checked_array


cdef class Topologies(TreeTable):
    """The trees with what stands in them. One writer at a time; see the .pxd for shapes and units."""

    def __cinit__(self):
        self.bookings = NULL

    def __init__(self):
        super().__init__()
        self.pods_resource = NONE
        self.resource_rank = np.zeros(0, np.int32)
        for name in ("pods_start", "pods_length", "item_resource"):
            setattr(self, name, np.zeros(0, np.int32))
        self.item_amount = np.zeros(0, np.int64)

    def __dealloc__(self):
        cdef Py_ssize_t row
        for row in range(self.booking_rows):
            release(self.bookings[row].items)
        release(self.bookings)

    # ---- usage ------------------------------------------------------------------------------------------------

    cdef amount_t remaining(self, Tree* tree, int view, index_t leaf, index_t resource) noexcept nogil:
        cdef Py_ssize_t cell = leaf * tree.width + resource
        return saturating_sub(tree.free[cell], tree.used[view][cell])

    cdef int64_t pods_that_fit(self, Tree* tree, int view, index_t leaf, index_t pods, bint count_pods,
                               index_t* limiting) noexcept nogil:
        """Pods of a class in what is left of a leaf, 0 to 2^31-1, and the resource that allows the fewest (TP-705)."""
        cdef index_t item = self.pods_start[pods], end = item + self.pods_length[pods], resource, scarce = NONE
        cdef int64_t fewest = INT32_MAX, fit
        cdef amount_t amount
        cdef bint counted = not count_pods or self.pods_resource == NONE
        while item < end:
            resource = self.item_resource[item]
            amount = self.item_amount[item]
            item += 1
            if not counted and resource == self.pods_resource:
                counted = True
                amount = saturating_add(amount, 1)
            fit = times(self.remaining(tree, view, leaf, resource), amount)
            if fit < fewest or scarce == NONE:
                fewest = fit
                scarce = resource
        if not counted:
            fit = times(self.remaining(tree, view, leaf, self.pods_resource), 1)
            if fit < fewest or scarce == NONE or (
                fit == fewest and rank_of(self, self.pods_resource) < rank_of(self, scarce)
            ):
                fewest = fit
                scarce = self.pods_resource
        if limiting != NULL:
            limiting[0] = scarce
        return 0 if scarce == NONE else fewest

    cdef int change(self, index_t tree, int view, index_t leaf, index_t pods, int64_t count,
                    Journal journal) except -1 nogil:
        """Add the use of so many pods to one leaf of one tree, noted in the journal; negative: take it off (TP-501)."""
        cdef Tree* row = &self.trees[tree]
        cdef index_t item = self.pods_start[pods], end = item + self.pods_length[pods]
        while item < end:
            add_to_cell(row, tree, view, leaf, self.item_resource[item],
                        saturating_mul(self.item_amount[item], count), journal)
            item += 1
        if self.pods_resource != NONE:
            add_to_cell(row, tree, view, leaf, self.pods_resource, count, journal)
        log_leaf(row, view, leaf)
        return 0

    cdef int assume(self, index_t tree, int view, index_t leaf, index_t pods, int64_t count,
                    Journal journal) except -1 nogil:
        """`change` in every tree that has the leaf's place (TP-1104)."""
        cdef index_t place = self.trees[tree].place[leaf], other, there
        for other in range(<index_t> self.tree_count):
            there = leaf_at(&self.trees[other], place) if self.trees[other].exists else NONE
            if there != NONE:
                self.change(other, view, there, pods, count, journal)
        return 0

    cdef void undo(self, index_t code, index_t cell, amount_t before) noexcept nogil:
        """Bring back one cell that the journal names by `node` (below NONE) and `column`."""
        cdef Tree* tree = &self.trees[(-2 - code) // 2]
        cdef int view = (-2 - code) % 2
        tree.used[view][cell] = before
        log_leaf(tree, view, <index_t> (cell // tree.width))

    cdef void roll_back(self, Journal journal, Py_ssize_t mark) noexcept nogil:
        while journal.length > mark:
            journal.length -= 1
            self.undo(journal.changes[journal.length].node, journal.changes[journal.length].column,
                      journal.changes[journal.length].before)

    # ---- bookings of workloads --------------------------------------------------------------------------------

    cdef BookingList* bookings_of(self, index_t workload) noexcept nogil:
        """What a workload has booked; NULL for a row that never had a list."""
        if workload < 0 or workload >= self.booking_rows:
            return NULL
        return &self.bookings[workload]

    cdef int _simulate(self, index_t workload, int sign, Journal journal) except -1 nogil:
        cdef BookingList* list = self.bookings_of(workload)
        cdef Booking* booking
        cdef Py_ssize_t item
        cdef index_t leaf
        if list == NULL:
            return 0
        for item in range(list.length):
            booking = &list.items[item]
            if booking.tree >= self.tree_count or not self.trees[booking.tree].exists:
                continue
            leaf = leaf_at(&self.trees[booking.tree], booking.place)
            if leaf != NONE:
                self.change(booking.tree, AS_USED, leaf, booking.pods, sign * booking.count, journal)
        return 0

    cdef int add_workload(self, index_t workload, Journal journal) except -1 nogil:
        """Use of a workload, in its own trees alone (TP-1106)."""
        return self._simulate(workload, 1, journal)

    cdef int remove_workload(self, index_t workload, Journal journal) except -1 nogil:
        """Take a workload's use out of its own trees alone (TP-1202)."""
        return self._simulate(workload, -1, journal)

    cdef int _file(self, index_t workload, int sign) except -1 nogil:
        cdef BookingList* list = self.bookings_of(workload)
        cdef Booking* booking
        cdef Py_ssize_t item
        cdef index_t entry, end
        if list == NULL:
            return 0
        for item in range(list.length):
            booking = &list.items[item]
            if booking.place >= self.place_count:
                continue
            entry = self.pods_start[booking.pods]
            end = entry + self.pods_length[booking.pods]
            while entry < end:
                self._file_amount(booking.place, self.item_resource[entry],
                                  saturating_mul(self.item_amount[entry], sign * booking.count))
                entry += 1
            if self.pods_resource != NONE:
                self._file_amount(booking.place, self.pods_resource, sign * booking.count)
            self._log_place(booking.place)
        return 0

    cdef void _file_amount(self, index_t place, index_t resource, amount_t amount) noexcept nogil:
        cdef Py_ssize_t cell = place * self.width + resource, row
        cdef index_t leaf
        self.base[cell] = saturating_add(self.base[cell], amount)
        for row in range(self.tree_count):
            leaf = leaf_at(&self.trees[row], place)
            if leaf != NONE:
                self.trees[row].used[AS_USED][leaf * self.width + resource] = self.base[cell]

    cdef void _log_place(self, index_t place) noexcept nogil:
        cdef Py_ssize_t row
        cdef index_t leaf
        for row in range(self.tree_count):
            leaf = leaf_at(&self.trees[row], place)
            if leaf != NONE:
                log_leaf(&self.trees[row], AS_USED, leaf)

    cdef int book(self, index_t workload) except -1 nogil:
        """File the bookings of a workload: base of their places and every tree that has them (TP-504, TP-509)."""
        return self._file(workload, 1)

    cdef int unbook(self, index_t workload) except -1 nogil:
        return self._file(workload, -1)

    cdef int set_bookings(self, index_t workload, Booking* items, Py_ssize_t length) except -1 nogil:
        """Another list for a workload; usage stays as it is."""
        cdef Py_ssize_t rows
        cdef BookingList* grown
        cdef Booking* copied = NULL
        if workload >= self.booking_rows:
            rows = workload + workload // 2 + 64
            grown = <BookingList*> realloc(self.bookings, rows * sizeof(BookingList))
            if grown == NULL:
                with gil:
                    raise MemoryError("topology bookings")
            memset(&grown[self.booking_rows], 0, (rows - self.booking_rows) * sizeof(BookingList))
            self.bookings = grown
            self.booking_rows = rows
        if length > 0:
            copied = <Booking*> malloc(length * sizeof(Booking))
            if copied == NULL:
                with gil:
                    raise MemoryError("topology bookings")
            memcpy(copied, items, length * sizeof(Booking))
        release(self.bookings[workload].items)
        self.bookings[workload].items = copied
        self.bookings[workload].length = length
        return 0

    def write_bookings(self, index_t workload, items):
        """Replace the bookings of a workload; usage stays. items: [booking, 5]: tree, pod set, place, pods, count."""
        cdef const int64_t[:, ::1] rows = checked_array("items", items, np.int64, (None, 5))
        cdef Py_ssize_t row, length = rows.shape[0]
        cdef Booking* list
        if workload < 0:
            raise ValueError(f"workload: {workload}, expected a row")
        for row in range(length):
            if (not 0 <= rows[row, 0] < INT32_MAX or not 0 <= rows[row, 1] < INT32_MAX
                    or not 0 <= rows[row, 2] < self.place_count or not 0 <= rows[row, 3] < self.pods_start.shape[0]
                    or not 0 <= rows[row, 4] <= INT32_MAX):
                raise ValueError(f"items[{row}]: {np.asarray(rows[row]).tolist()}, expected tree, pod set, place "
                                 f"(of {self.place_count}), pods (of {self.pods_start.shape[0]}) and count")
        list = <Booking*> malloc((length + 1) * sizeof(Booking))
        if list == NULL:
            raise MemoryError("topology bookings")
        for row in range(length):
            list[row].tree = <index_t> rows[row, 0]
            list[row].pod_set = <index_t> rows[row, 1]
            list[row].place = <index_t> rows[row, 2]
            list[row].pods = <index_t> rows[row, 3]
            list[row].count = rows[row, 4]
        try:
            self.set_bookings(workload, list, length)
        finally:
            release(list)

    def read_bookings(self, index_t workload):
        """int64 [booking, 5], as for write_bookings."""
        cdef BookingList* list = self.bookings_of(workload)
        if list == NULL:
            return np.zeros((0, 5), np.int64)
        rows = [
            (list.items[row].tree, list.items[row].pod_set, list.items[row].place, list.items[row].pods,
             list.items[row].count)
            for row in range(list.length)
        ]
        return np.array(rows, np.int64).reshape(-1, 5)

    def check(self):
        """Every index of the pod table within its array: the kernel trusts them. Raises ValueError naming the array."""
        start, length = np.asarray(self.pods_start), np.asarray(self.pods_length)
        resource = np.asarray(self.item_resource)
        if start.shape != length.shape:
            raise ValueError(f"pods_start and pods_length: {start.size} and {length.size} classes")
        if resource.size != self.item_amount.shape[0]:
            raise ValueError(f"item_resource and item_amount: {resource.size} and {self.item_amount.shape[0]} items")
        if start.size and (start.min() < 0 or length.min() < 0
                           or (start.astype(np.int64) + length).max() > resource.size):
            raise ValueError("pods_start, pods_length: a class reaches outside item_resource")
        if resource.size and (resource.min() < 0 or resource.max() >= self.width):
            raise ValueError(f"item_resource: {resource.min()} to {resource.max()}, expected 0 to {self.width - 1}")
        if not NONE <= self.pods_resource < max(self.width, 1):
            raise ValueError(f"pods_resource: {self.pods_resource}, expected {NONE} to {self.width - 1}")

    # ---- from Python ----------------------------------------------------------------------------------------------

    def fitting(self, index_t tree, index_t leaf, index_t pods, int view=0, bint count_pods=True):
        """(pods of a class that fit, resource that limits them or NONE). Source: TP-705."""
        cdef Tree* row = self.tree_at(tree)
        cdef index_t limiting = NONE
        self.check()
        if not 0 <= leaf < row.leaves or not 0 <= pods < self.pods_start.shape[0] or not 0 <= view <= 1:
            raise ValueError(f"leaf: {leaf}, pods: {pods}, view: {view}")
        fit = self.pods_that_fit(row, view, leaf, pods, count_pods, &limiting)
        return fit, limiting

    def change_leaf(self, index_t tree, index_t leaf, index_t pods, int64_t count, Journal journal not None, int view=0,
                    bint shared=False):
        """Add pods to a leaf, with `shared` in all trees that have its place; negative: take them off."""
        cdef Tree* row = self.tree_at(tree)
        self.check()
        if not 0 <= leaf < row.leaves or not 0 <= pods < self.pods_start.shape[0] or not 0 <= view <= 1:
            raise ValueError(f"leaf: {leaf}, pods: {pods}, view: {view}")
        if shared:
            self.assume(tree, view, leaf, pods, count, journal)
        else:
            self.change(tree, view, leaf, pods, count, journal)

    def simulate(self, index_t workload, Journal journal not None, bint remove=False):
        """Add or take off the use of a workload's bookings, noted in the journal."""
        self.check()
        if remove:
            self.remove_workload(workload, journal)
        else:
            self.add_workload(workload, journal)

    def undo_changes(self, Journal journal not None, Py_ssize_t mark=0):
        """Bring usage back to where the journal's length was `mark`; all changes since must be of topologies."""
        if not 0 <= mark <= journal.length:
            raise ValueError(f"mark: {mark}, expected 0 to {journal.length}")
        self.roll_back(journal, mark)

    def book_workload(self, index_t workload, bint remove=False):
        """File or unfile a workload's bookings for good."""
        self.check()
        if remove:
            self.unbook(workload)
        else:
            self.book(workload)


cdef inline int64_t times(amount_t room, amount_t amount) noexcept nogil:
    """How often an amount goes into the room, 0 to 2^31-1; an amount of 0 as often as can be (TP-705)."""
    cdef int64_t fit
    if amount == 0:
        return INT32_MAX
    if amount == -1 and room == INT64_MIN:
        return 0
    fit = room // amount
    if fit < 0:
        return 0
    return fit if fit < INT32_MAX else INT32_MAX


cdef inline index_t rank_of(Topologies table, index_t resource) noexcept nogil:
    return table.resource_rank[resource] if resource < table.resource_rank.shape[0] else resource


cdef inline int add_to_cell(Tree* tree, index_t row, int view, index_t leaf, index_t resource, amount_t amount,
                            Journal journal) except -1 nogil:
    cdef index_t cell = <index_t> (leaf * tree.width + resource)
    journal.note(-2 - 2 * row - view, cell, tree.used[view][cell])
    tree.used[view][cell] = saturating_add(tree.used[view][cell], amount)
    return 0
