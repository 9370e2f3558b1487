"""The trees and places of all flavors with a topology, as they are written and read. See the .pxd."""

import numpy as np

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free as release, realloc
from libc.string cimport memcpy, memset

from kueuecore._trees cimport (
    MOST_LEVELS, Level, Tree, count_nodes, empty_tree, insert_path, leaf_at, link_children, log_leaf, reserve_leaves,
    reserve_levels, reserve_places, set_nodes, widen,
)
from kueuecore._types cimport NONE, amount_t, index_t


def checked_array(name, value, dtype, shape):
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


cdef class TreeTable:
    """Domains and room of every tree, and the use of every place. One writer at a time; see the .pxd."""

    def __cinit__(self):
        self.trees = NULL
        self.base = NULL

    def __init__(self):
        self.match = np.zeros((0, 0), np.uint16)
        self.score = np.zeros((0, 0), np.int64)

    def __dealloc__(self):
        cdef Py_ssize_t row
        for row in range(self.tree_count):
            empty_tree(&self.trees[row])
        release(self.trees)
        release(self.base)

    # ---- writing --------------------------------------------------------------------------------------------------

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
        cdef const index_t[::1] keys = checked_array("level_keys", level_keys, np.int32, (None,))
        cdef Tree* made
        if not 0 <= tree < (INT32_MAX - 2) // 2:
            raise ValueError(f"tree: {tree}, expected a row of flavors")
        if not 1 <= depth <= MOST_LEVELS or len(parents) != depth:
            raise ValueError(f"parents: {len(parents)} levels, {depth} keys, expected as many, 1 to {MOST_LEVELS}")
        checked = [
            checked_array(f"parents[{level}]", parent, np.int32, (None,)) for level, parent in enumerate(parents)
        ]
        above = 0
        for level, array in enumerate(checked):
            low, high = (NONE, NONE) if level == 0 else (0, above - 1)
            if array.size and (array.min() < low or array.max() > high or (np.diff(array) < 0).any()):
                raise ValueError(f"parents[{level}]: expected ascending numbers from {low} to {high}")
            above = array.size
        leaves = above
        check_cells(leaves, self.width)
        place_array = checked_array("places", places, np.int32, (leaves,))
        class_array = checked_array("node_classes", node_classes, np.int32, (leaves,))
        node_array = checked_array("nodes", nodes, np.int32, (leaves,))
        cdef const amount_t[:, ::1] free_rows = checked_array("free", free, np.int64, (leaves, self.width))
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
        cdef const amount_t[::1] amounts = checked_array("free_row", free_row, np.int64, (self.width,))
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
        cdef const index_t[::1] path = checked_array("positions", positions, np.int32, (row.depth,))
        cdef index_t position, other, root
        cdef int level
        free_array = checked_array("free_row", free_row, np.int64, (self.width,))
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

    # ---- reading --------------------------------------------------------------------------------------------------

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
