"""Trees and bookings of all flavors with a topology: writing them, their usage, how many pods fit a leaf."""

import numpy as np

from libc.stdint cimport INT32_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free as release, malloc, realloc
from libc.string cimport memcpy, memset

from kueuecore._amount cimport saturating_add, saturating_mul, saturating_sub
from kueuecore._journal cimport Journal
from kueuecore._trees cimport (
    MOST_LEVELS, Tree, count_nodes, empty_tree, insert_path, leaf_at, link_children, log_leaf, reserve_leaves,
    reserve_levels, reserve_places, set_nodes, widen,
)
from kueuecore._types cimport NONE, amount_t, index_t


def _array(name, value, dtype, shape):
    """A contiguous array of this type and shape (None: any length). Raises ValueError that names it."""
    array = np.asarray(value)
    if array.size == 0:
        array = array.astype(dtype).reshape([0 if size is None else size for size in shape])
    if array.dtype != dtype:
        exact = array.astype(dtype)
        if array.dtype.kind not in "iu" or (exact != array).any():
            raise ValueError(f"{name}: {array.dtype} values that are not all {np.dtype(dtype).name}")
        array = exact
    if array.ndim != len(shape) or any(want is not None and want != have for want, have in zip(shape, array.shape)):
        want = tuple("any" if size is None else size for size in shape)
        raise ValueError(f"{name}: shape {array.shape}, expected {want}")
    return np.ascontiguousarray(array)


cdef class Topologies:
    """Room and use of the leaves of every tree. One writer at a time; see the .pxd for shapes and units."""

    def __cinit__(self):
        self.trees = NULL
        self.base = NULL
        self.bookings = NULL

    def __init__(self):
        self.pods_resource = NONE
        self.resource_rank = np.zeros(0, np.int32)
        for name in ("pods_start", "pods_length", "item_resource"):
            setattr(self, name, np.zeros(0, np.int32))
        self.item_amount = np.zeros(0, np.int64)
        self.match = np.zeros((0, 0), np.uint16)
        self.score = np.zeros((0, 0), np.int64)

    def __dealloc__(self):
        cdef Py_ssize_t row
        for row in range(self.tree_count):
            empty_tree(&self.trees[row])
        release(self.trees)
        release(self.base)
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

    # ---- tables written from Python ---------------------------------------------------------------------------

    def reserve_width(self, Py_ssize_t resources):
        """Room for so many resources in every row; kept amounts stay, new ones are 0."""
        cdef Py_ssize_t row
        cdef int view
        if resources <= self.width:
            return
        for row in range(self.tree_count):
            check_cells(self.trees[row].leaves, resources)
        widen(&self.base, self.place_count, self.width, resources)
        for row in range(self.tree_count):
            if self.trees[row].place == NULL:
                continue
            widen(&self.trees[row].free, self.trees[row].leaves, self.width, resources)
            for view in range(2):
                widen(&self.trees[row].used[view], self.trees[row].leaves, self.width, resources)
            self.trees[row].width = resources
            self.versions += 1
            self.trees[row].version = self.versions
        self.width = resources

    def add_places(self, Py_ssize_t count):
        """Room for so many more places, which start unused; the first of them."""
        cdef Py_ssize_t first = self.place_count
        cdef amount_t* grown
        if count < 0 or first + count > INT32_MAX:
            raise ValueError(f"places: {first} + {count}, expected at most {INT32_MAX}")
        grown = <amount_t*> realloc(self.base, ((first + count) * self.width + 1) * sizeof(amount_t))
        if grown == NULL:
            raise MemoryError("topology places")
        memset(&grown[first * self.width], 0, count * self.width * sizeof(amount_t))
        self.base = grown
        self.place_count = first + count
        return first

    def grow_match(self, Py_ssize_t filters, Py_ssize_t node_classes):
        """Room in `match` and `score`; kept entries stay, new ones exclude nothing and score 0."""
        for name in ("match", "score"):
            old = np.asarray(getattr(self, name))
            if filters > old.shape[0] or node_classes > old.shape[1]:
                new = np.zeros((max(filters, old.shape[0]), max(node_classes, old.shape[1])), old.dtype)
                new[: old.shape[0], : old.shape[1]] = old
                setattr(self, name, new)

    def build(self, index_t tree, index_t rank, bint by_host, level_keys, parents, places, node_classes, nodes, free):
        """Replace a whole tree; leaves stand in the order of their level values, usage comes from their places.

        level_keys: int [level], top first. parents: for each level int [domain], ascending, NONE (-1) at the top.
        places, node_classes, nodes: int [leaf]; nodes is how many members a leaf has, 0 for none. free: int64
        [leaf, width]. Raises ValueError that names the array. Source: TP-401..408.
        """
        cdef Py_ssize_t depth = len(level_keys), leaf, leaves
        cdef const index_t[::1] row
        cdef const index_t[::1] keys = _array("level_keys", level_keys, np.int32, (None,))
        cdef Tree* made
        if not 0 <= tree < (INT32_MAX - 2) // 2:
            raise ValueError(f"tree: {tree}, expected a row of flavors")
        if not 1 <= depth <= MOST_LEVELS or len(parents) != depth:
            raise ValueError(f"parents: {len(parents)} levels, {depth} keys, expected as many, 1 to {MOST_LEVELS}")
        checked = [_array(f"parents[{level}]", parent, np.int32, (None,)) for level, parent in enumerate(parents)]
        above = 0
        for level, array in enumerate(checked):
            low, high = (NONE, NONE) if level == 0 else (0, above - 1)
            if array.size and (array.min() < low or array.max() > high or (np.diff(array) < 0).any()):
                raise ValueError(f"parents[{level}]: expected ascending numbers from {low} to {high}")
            above = array.size
        leaves = above
        check_cells(leaves, self.width)
        place_array = _array("places", places, np.int32, (leaves,))
        class_array = _array("node_classes", node_classes, np.int32, (leaves,))
        node_array = _array("nodes", nodes, np.int32, (leaves,))
        cdef const amount_t[:, ::1] free_rows = _array("free", free, np.int64, (leaves, self.width))
        cdef const index_t[::1] place_of = place_array, class_of = class_array
        cdef const int32_t[::1] nodes_of = node_array
        if leaves:
            if place_array.min() < 0 or place_array.max() >= self.place_count or has_twins(place_of, self.place_count):
                raise ValueError(f"places: expected {leaves} different ones from 0 to {self.place_count - 1}")
            if node_array.min() < 0 or node_array.sum(dtype=np.int64) > INT32_MAX:
                raise ValueError(f"nodes: {node_array.min()} to {node_array.max()}, expected from 0")
            if class_array.min() < 0:
                raise ValueError(f"node_classes: {class_array.min()}, expected from 0")
        made = self._fresh(tree)
        made.by_host = by_host
        made.rank = rank
        made.depth = <int32_t> depth
        made.width = self.width
        for level in range(depth):
            row = checked[level]
            made.level_key[level] = keys[level]
            reserve_levels(made, level, row.shape[0])
            made.levels[level].count = row.shape[0]
            if row.shape[0]:
                memcpy(made.levels[level].parent, &row[0], row.shape[0] * sizeof(index_t))
        reserve_leaves(made, leaves, self.width)
        reserve_places(made, self.place_count)
        made.leaves = leaves
        for leaf in range(leaves):
            made.place[leaf] = place_of[leaf]
            made.leaf_of_place[place_of[leaf]] = <index_t> leaf
            made.node_class[leaf] = class_of[leaf]
            made.levels[depth - 1].nodes[leaf] = nodes_of[leaf]
            memcpy(&made.used[AS_USED][leaf * self.width], &self.base[place_of[leaf] * self.width],
                   self.width * sizeof(amount_t))
        if leaves and self.width:
            memcpy(made.free, &free_rows[0, 0], leaves * self.width * sizeof(amount_t))
        memset(made.used[AS_EMPTY], 0, leaves * self.width * sizeof(amount_t))
        link_children(made)
        count_nodes(made)
        made.exists = True

    cdef Tree* _fresh(self, index_t tree) except NULL:
        """The emptied row of a tree, with a version of its own."""
        cdef Py_ssize_t capacity
        cdef Tree* grown
        if tree >= self.tree_capacity:
            capacity = tree + tree // 2 + 8
            grown = <Tree*> realloc(self.trees, capacity * sizeof(Tree))
            if grown == NULL:
                raise MemoryError("topology trees")
            memset(&grown[self.tree_capacity], 0, (capacity - self.tree_capacity) * sizeof(Tree))
            self.trees = grown
            self.tree_capacity = capacity
        if tree >= self.tree_count:
            self.tree_count = tree + 1
        empty_tree(&self.trees[tree])
        self.versions += 1
        self.trees[tree].version = self.versions
        return &self.trees[tree]

    cdef Tree* tree_at(self, index_t row) except NULL:
        """An existing tree, for methods called from Python."""
        if not 0 <= row < self.tree_count or not self.trees[row].exists:
            raise ValueError(f"tree: {row} does not exist")
        return &self.trees[row]

    def drop(self, index_t tree):
        """The flavor or its Topology is gone (TP-505); its bookings stay filed under their places."""
        if 0 <= tree < self.tree_count:
            self._fresh(tree)

    def set_rank(self, index_t tree, index_t rank):
        self.tree_at(tree).rank = rank

    def write_leaf(self, index_t tree, index_t leaf, index_t node_class, int32_t nodes, free_row):
        """Members and room of one leaf; nodes 0: it is gone until it is written again. free_row: int64 [width].

        A leaf whose place was given to a new leaf meanwhile takes it back, if that one has no nodes (any more).
        """
        cdef Tree* row = self.tree_at(tree)
        cdef const amount_t[::1] amounts = _array("free_row", free_row, np.int64, (self.width,))
        cdef Py_ssize_t resource
        cdef index_t other
        if not 0 <= leaf < row.leaves:
            raise ValueError(f"leaf: {leaf}, expected 0 to {row.leaves - 1}")
        if nodes < 0 or node_class < 0 or (
            <int64_t> row.levels[0].nodes[self._root(row,
                                                     leaf)] - row.levels[row.depth - 1].nodes[leaf] + nodes > INT32_MAX
        ):
            raise ValueError(f"nodes: {nodes} of class {node_class}, expected numbers from 0")
        other = row.leaf_of_place[row.place[leaf]]
        if other != leaf and nodes > 0:
            if row.levels[row.depth - 1].nodes[other] > 0:
                raise ValueError(f"leaf: place {row.place[leaf]} of leaf {leaf} is leaf {other} now")
            row.leaf_of_place[row.place[leaf]] = leaf
            memcpy(&row.used[AS_USED][leaf * self.width], &self.base[row.place[leaf] * self.width],
                   self.width * sizeof(amount_t))
        for resource in range(self.width):
            row.free[leaf * self.width + resource] = amounts[resource]
        row.node_class[leaf] = node_class
        set_nodes(row, leaf, nodes)
        log_leaf(row, AS_USED, leaf)
        log_leaf(row, AS_EMPTY, leaf)

    cdef index_t _root(self, Tree* tree, index_t leaf) noexcept nogil:
        cdef int level
        for level in range(tree.depth - 1, 0, -1):
            leaf = tree.levels[level].parent[leaf]
        return leaf

    def insert_leaf(self, index_t tree, positions, int new_from_level, index_t place, index_t node_class, int32_t nodes,
                    free_row):
        """A new leaf with its path. positions: int [level], the number of each domain of the path; from
        new_from_level on they are new and those behind them move up. All leaves are numbered anew. The place may be
        that of a leaf without nodes, which then goes without: its host moved."""
        cdef Tree* row = self.tree_at(tree)
        cdef const index_t[::1] path = _array("positions", positions, np.int32, (row.depth,))
        cdef index_t position, other, root
        cdef int level
        free_array = _array("free_row", free_row, np.int64, (self.width,))
        if not 0 <= new_from_level < row.depth:
            raise ValueError(f"new_from_level: {new_from_level}, expected 0 to {row.depth - 1}")
        check_cells(row.leaves + 1, self.width)
        for level in range(row.depth):
            position = path[level]
            if not 0 <= position < row.levels[level].count + (level >= new_from_level):
                raise ValueError(f"positions[{level}]: {position} with {row.levels[level].count} domains")
            if level and not self._stands_in_order(row, &path[0], level, new_from_level):
                raise ValueError(f"positions[{level}]: {position} is not among the children of {path[level - 1]}")
        other = leaf_at(row, place)
        if not 0 <= place < self.place_count or (other != NONE and row.levels[row.depth - 1].nodes[other] > 0):
            raise ValueError(f"place: {place} is in the tree already, or none of {self.place_count}")
        # All numbers are checked before anything changes: write_leaf below must not refuse them.
        root = path[0] if new_from_level > 0 else NONE
        if nodes < 0 or node_class < 0 or (root != NONE and <int64_t> row.levels[0].nodes[root] + nodes > INT32_MAX):
            raise ValueError(f"nodes: {nodes} of class {node_class}, expected numbers from 0")
        insert_path(row, &path[0], new_from_level, place)
        self.versions += 1
        row.version = self.versions
        memcpy(&row.used[AS_USED][path[row.depth - 1] * self.width], &self.base[place * self.width],
               self.width * sizeof(amount_t))
        self.write_leaf(tree, path[row.depth - 1], node_class, nodes, free_array)

    cdef bint _stands_in_order(self, Tree* tree, const index_t* path, int level, int new_from_level) noexcept:
        """Whether a domain at this number leaves the parents of its level ascending."""
        cdef Level* above = &tree.levels[level - 1]
        cdef Level* row = &tree.levels[level]
        cdef index_t parent = path[level - 1], position = path[level]
        if level < new_from_level:
            return row.parent[position] == parent
        if level == new_from_level:
            return above.first_child[parent] <= position <= above.child_end[parent]
        # A new parent has no children yet: they stand where those of the next domain begin.
        return position == (above.first_child[parent] if parent < above.count else row.count)

    def write_bookings(self, index_t workload, items):
        """Replace the bookings of a workload; usage stays. items: [booking, 5]: tree, pod set, place, pods, count."""
        cdef const int64_t[:, ::1] rows = _array("items", items, np.int64, (None, 5))
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

    # ---- reading and simulating from Python -------------------------------------------------------------------

    def leaf_used(self, index_t tree, index_t leaf, int view=0):
        """int64 [width]: use of a leaf in this tree, as it stands (view 0) or as an empty cluster has it (view 1)."""
        cdef Tree* row = self.tree_at(tree)
        if not 0 <= leaf < row.leaves or not 0 <= view <= 1:
            raise ValueError(f"leaf: {leaf} in view {view}, expected 0 to {row.leaves - 1}")
        return np.array([row.used[view][leaf * self.width + resource] for resource in range(self.width)], np.int64)

    def leaf_free(self, index_t tree, index_t leaf):
        """int64 [width]: allocatable less what other pods use; 0 for a leaf that is not there any more."""
        cdef Tree* row = self.tree_at(tree)
        if not 0 <= leaf < row.leaves:
            raise ValueError(f"leaf: {leaf}, expected 0 to {row.leaves - 1}")
        return np.array([row.free[leaf * self.width + resource] for resource in range(self.width)], np.int64)

    def leaves_of(self, index_t tree):
        """(leaves, leaves with nodes) of a tree."""
        cdef Tree* row = self.tree_at(tree)
        return row.leaves, row.live

    def nodes_of(self, index_t tree, int level):
        """int32 [domain]: member nodes of each domain of a level."""
        cdef Tree* row = self.tree_at(tree)
        if not 0 <= level < row.depth:
            raise ValueError(f"level: {level}, expected 0 to {row.depth - 1}")
        return np.array([row.levels[level].nodes[domain] for domain in range(row.levels[level].count)], np.int32)

    def classes_of(self, index_t tree):
        """int32 [leaf]: the node class of each leaf."""
        cdef Tree* row = self.tree_at(tree)
        return np.array([row.node_class[leaf] for leaf in range(row.leaves)], np.int32)

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


cdef bint has_twins(const index_t[::1] places, Py_ssize_t count) except -1:
    """Whether a place stands twice among them; all are below count."""
    cdef uint8_t* seen = <uint8_t*> calloc(count + 1, 1)
    cdef Py_ssize_t leaf
    cdef bint twins = False
    if seen == NULL:
        raise MemoryError("topology places")
    for leaf in range(places.shape[0]):
        if seen[places[leaf]]:
            twins = True
        seen[places[leaf]] = 1
    release(seen)
    return twins


cdef int check_cells(Py_ssize_t leaves, Py_ssize_t width) except -1:
    """The journal names a cell by an index_t."""
    if width and leaves > INT32_MAX // width:
        raise ValueError(f"free: {leaves} leaves of {width} resources, expected at most {INT32_MAX} cells")
    return 0


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
