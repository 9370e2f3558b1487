"""Quota arithmetic on the tree. See the .pxd for the tables."""

import numpy as np

from libc.stdint cimport int32_t

from kueuecore._amount cimport UNLIMITED, add, floored, sub
from kueuecore._journal cimport Journal
from kueuecore._topology cimport Topologies
from kueuecore._types cimport NONE, amount_t, index_t


def _grown(array, shape):
    """A zeroed copy of `array` with a larger shape."""
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, n) for n in array.shape)] = array
    return larger


cdef class Forest:
    """Quota, limits and usage of all ClusterQueues and cohorts, [node, column] of int64."""

    VECTORS = (
        "parent", "is_queue", "in_snapshot", "frozen", "height", "generation", "weight", "first_child", "next_sibling",
    )
    MATRICES = (
        "nominal", "borrow_limit", "lend_limit", "has_quota", "has_borrow_limit", "has_lend_limit",
        "has_subtree", "subtree", "local", "potential", "usage",
    )

    def __init__(self):
        self.topologies = Topologies()
        dtypes = {
            "parent": np.int32, "height": np.int32, "generation": np.int64, "weight": np.float64,
            "first_child": np.int32, "next_sibling": np.int32,
        }
        for name in self.VECTORS:
            setattr(self, name, np.zeros(0, dtypes.get(name, np.uint8)))
        for name in self.MATRICES:
            setattr(self, name, np.zeros((0, 0), np.uint8 if name.startswith("has_") else np.int64))
        self.column_resource = np.zeros(0, np.int32)
        self.lendable = np.zeros((0, 0), np.int64)
        self.nodes = 0
        self.columns = 0

    def reserve(self, Py_ssize_t nodes, Py_ssize_t columns):
        """Make room for `nodes` rows and `columns` columns; kept values stay, new ones are 0 (parent NONE)."""
        cdef Py_ssize_t rows = self.parent.shape[0]
        cdef Py_ssize_t width = self.usage.shape[1]
        if nodes > rows or columns > width:
            new_rows = max(rows, nodes if nodes <= rows else nodes + nodes // 2 + 4)
            new_width = max(width, columns if columns <= width else columns + columns // 4 + 2)
            for name in self.VECTORS:
                setattr(self, name, _grown(np.asarray(getattr(self, name)), (new_rows,)))
            for name in ("parent", "first_child", "next_sibling"):
                np.asarray(getattr(self, name))[rows:] = NONE
            np.asarray(self.weight)[rows:] = 1
            self.column_resource = _grown(np.asarray(self.column_resource), (new_width,))
            self.lendable = _grown(np.asarray(self.lendable), (new_rows, self.lendable.shape[1]))
            for name in self.MATRICES:
                setattr(self, name, _grown(np.asarray(getattr(self, name)), (new_rows, new_width)))
        self.nodes = max(self.nodes, nodes)
        self.columns = max(self.columns, columns)

    def reserve_resources(self, Py_ssize_t resources):
        """Make room for so many resources in lendable."""
        if resources > self.lendable.shape[1]:
            self.lendable = _grown(np.asarray(self.lendable), (self.usage.shape[0], resources + resources // 2 + 4))

    def clear_row(self, index_t node):
        """Forget a node: a free row has no parent, no quota and no usage."""
        self.check_node(node)
        for name in self.VECTORS:
            np.asarray(getattr(self, name))[node] = 0
        self.parent[node] = NONE
        self.first_child[node] = NONE
        self.next_sibling[node] = NONE
        self.weight[node] = 1
        for name in self.MATRICES:
            np.asarray(getattr(self, name))[node] = 0

    cdef int check(self) except -1:
        """Parents are rows, without a cycle; resources of columns have room. Raises ValueError naming the array."""
        parent = np.asarray(self.parent)[: self.nodes]
        if parent.size and (parent.min() < NONE or parent.max() >= self.nodes):
            raise ValueError(f"parent: values from {parent.min()} to {parent.max()}, expected rows or {NONE}")
        cdef Py_ssize_t steps
        cdef index_t node, at
        for node in range(self.nodes):
            at = node
            steps = 0
            while at != NONE:
                at = self.parent[at]
                steps += 1
                if steps > self.nodes:
                    raise ValueError(f"parent: the chain of node {node} has a cycle")
        resources = np.asarray(self.column_resource)[: self.columns]
        if resources.size and (resources.min() < 0 or resources.max() >= max(self.lendable.shape[1], 1)):
            raise ValueError(
                f"column_resource: values from {resources.min()} to {resources.max()}, "
                f"expected 0 to {self.lendable.shape[1] - 1}: reserve_resources makes room"
            )
        return 0

    cdef check_node(self, index_t node):
        if not 0 <= node < self.nodes:
            raise ValueError(f"node {node}: expected a row from 0 to {self.nodes - 1}")

    cdef check_column(self, index_t column):
        if not 0 <= column < self.columns:
            raise ValueError(f"column {column}: expected a column from 0 to {self.columns - 1}")

    # --- what a change of quota or of the tree's shape recomputes

    def recompute(self, index_t[::1] order not None):
        """Recompute subtree, local and potential quota, cohort usage and heights of whole trees.

        `order`: rows of complete trees, int32, children before parents. Bumps the allocatable generation of each
        ClusterQueue in it. Frozen rows must not be in it. Source: QP-300..303, QP-309, QP-217, QP-321.
        """
        cdef Py_ssize_t i
        cdef index_t node, above
        for i in range(order.shape[0]):
            self.check_node(order[i])
        for i in range(order.shape[0]):
            above = self.parent[order[i]]
            if above != NONE and not 0 <= above < self.nodes:
                raise ValueError(f"parent of node {order[i]}: {above} is no row")
        for i in range(self.columns):
            if not 0 <= self.column_resource[i] < self.lendable.shape[1]:
                raise ValueError(
                    f"column_resource: {self.column_resource[i]} at column {i}, "
                    f"expected 0 to {self.lendable.shape[1] - 1}: reserve_resources makes room"
                )
        with nogil:
            for i in range(order.shape[0]):
                self.start_row(order[i])
            for i in range(order.shape[0]):
                node = order[i]
                self.close_row(node)
                above = self.parent[node]
                if above != NONE:
                    self.lend_to_parent(node, above)
                    self.next_sibling[node] = self.first_child[above]
                    self.first_child[above] = node
                else:
                    self.next_sibling[node] = NONE
            for i in range(order.shape[0] - 1, -1, -1):
                node = order[i]
                self.look_up(node)
                if not self.is_queue[node]:
                    self.sum_lendable(node, self.root_of(node))
        self.recompute_heights(order)

    cdef void start_row(self, index_t node) noexcept nogil:
        cdef Py_ssize_t c
        self.first_child[node] = NONE
        for c in range(self.columns):
            self.has_subtree[node, c] = self.has_quota[node, c]
            self.subtree[node, c] = self.nominal[node, c] if self.has_quota[node, c] else 0
            if not self.is_queue[node]:
                self.usage[node, c] = 0
        if self.is_queue[node]:
            self.generation[node] += 1

    cdef void close_row(self, index_t node) noexcept nogil:
        """All children are in: fix the part that stays here."""
        cdef Py_ssize_t c
        for c in range(self.columns):
            if self.has_lend_limit[node, c]:
                self.local[node, c] = floored(sub(self.subtree[node, c], self.lend_limit[node, c]))
            else:
                self.local[node, c] = 0

    cdef void lend_to_parent(self, index_t node, index_t above) noexcept nogil:
        cdef Py_ssize_t c
        for c in range(self.columns):
            self.has_subtree[above, c] |= self.has_subtree[node, c]
            self.subtree[above, c] = add(self.subtree[above, c], sub(self.subtree[node, c], self.local[node, c]))
            self.usage[above, c] = add(
                self.usage[above, c], floored(sub(self.usage[node, c], self.local[node, c]))
            )

    cdef void look_up(self, index_t node) noexcept nogil:
        """Potential capacity, parents first."""
        cdef Py_ssize_t c
        cdef amount_t capacity, most
        cdef index_t above = self.parent[node]
        for c in range(self.columns):
            if above == NONE:
                self.potential[node, c] = self.subtree[node, c]
                continue
            capacity = add(self.local[node, c], self.potential[above, c])
            if self.has_borrow_limit[node, c]:
                most = add(self.subtree[node, c], self.borrow_limit[node, c])
                if most < capacity:
                    capacity = most
            self.potential[node, c] = capacity

    cdef index_t root_of(self, index_t node) noexcept nogil:
        while self.parent[node] != NONE:
            node = self.parent[node]
        return node

    cdef void sum_lendable(self, index_t node, index_t root) noexcept nogil:
        """What a cohort's children could borrow of each resource, over all flavors of the tree (QP-332)."""
        cdef Py_ssize_t c, r
        for r in range(self.lendable.shape[1]):
            self.lendable[node, r] = 0
        for c in range(self.columns):
            if self.has_subtree[root, c]:
                r = self.column_resource[c]
                self.lendable[node, r] = add(self.lendable[node, r], self.potential[node, c])

    def recompute_heights(self, index_t[::1] order not None):
        """Heights of the nodes in `order` (children before parents) among those of the snapshot. Source: QP-321."""
        cdef Py_ssize_t i
        cdef index_t node, above
        cdef int32_t least
        for i in range(order.shape[0]):
            self.check_node(order[i])
            self.height[order[i]] = 0
        for i in range(order.shape[0]):
            node = order[i]
            above = self.parent[node]
            if above == NONE or not self.in_snapshot[node]:
                continue
            least = 1 if self.is_queue[node] else 1 + self.height[node]
            if least > self.height[above]:
                self.height[above] = least

    # --- questions

    cdef amount_t local_available(self, index_t node, index_t column) noexcept nogil:
        return floored(sub(self.local[node, column], self.usage[node, column]))

    cdef amount_t available(self, index_t node, index_t column) noexcept nogil:
        """Remaining capacity, negative after over-admission (QP-305)."""
        cdef amount_t from_parent, most, local
        cdef index_t above = self.parent[node]
        if above == NONE:
            return sub(self.subtree[node, column], self.usage[node, column])
        from_parent = self.available(above, column)
        local = self.local[node, column]
        if self.has_borrow_limit[node, column]:
            most = add(
                sub(sub(self.subtree[node, column], local), floored(sub(self.usage[node, column], local))),
                self.borrow_limit[node, column],
            )
            if most < from_parent:
                from_parent = most
        return add(floored(sub(local, self.usage[node, column])), from_parent)

    cdef bint is_borrowing_with(self, index_t node, index_t column, amount_t amount) noexcept nogil:
        """Whether `amount` more would exceed the node's own nominal (a cohort's: subtree) quota (QP-312)."""
        cdef amount_t quota = self.nominal[node, column] if self.is_queue[node] else self.subtree[node, column]
        return quota < add(self.usage[node, column], amount)

    cdef int32_t lowest_subtree_that_fits(
        self, index_t node, index_t column, amount_t amount, bint* can_reclaim
    ) noexcept nogil:
        """Height of the smallest subtree around a ClusterQueue that holds `amount` more; 0 is no borrowing (QP-322)."""
        cdef index_t cohort = self.parent[node]
        cdef index_t root = node
        cdef amount_t remaining
        if cohort == NONE or not self.is_borrowing_with(node, column, amount):
            can_reclaim[0] = cohort != NONE
            return 0
        remaining = sub(amount, self.local_available(node, column))
        while cohort != NONE:
            if not self.is_borrowing_with(cohort, column, remaining):
                can_reclaim[0] = self.parent[cohort] != NONE
                return self.height[cohort]
            remaining = sub(remaining, self.local_available(cohort, column))
            root = cohort
            cohort = self.parent[cohort]
        can_reclaim[0] = False
        return self.height[root]

    # --- changes of usage

    cdef int add_usage(self, index_t node, index_t column, amount_t amount, Journal journal) except -1 nogil:
        """Book `amount` on a node and what exceeds its local part on its ancestors (QP-306)."""
        cdef amount_t local
        while True:
            local = self.local_available(node, column)
            journal.note(node, column, self.usage[node, column])
            self.usage[node, column] = add(self.usage[node, column], amount)
            if self.parent[node] == NONE or amount <= local:
                return 0
            amount = sub(amount, local)
            node = self.parent[node]

    cdef int remove_usage(self, index_t node, index_t column, amount_t amount, Journal journal) except -1 nogil:
        """Take `amount` off a node and its stored part off its ancestors (QP-307)."""
        cdef amount_t stored
        while True:
            stored = sub(self.usage[node, column], self.local[node, column])
            journal.note(node, column, self.usage[node, column])
            self.usage[node, column] = sub(self.usage[node, column], amount)
            if stored <= 0 or self.parent[node] == NONE:
                return 0
            amount = amount if amount < stored else stored
            node = self.parent[node]

    cdef void roll_back(self, Journal journal, Py_ssize_t mark) noexcept nogil:
        """Undo, newest first, all changes noted since the journal's length was `mark`."""
        while journal.length > mark:
            journal.length -= 1
            if journal.changes[journal.length].node < NONE:
                self.topologies.undo(
                    journal.changes[journal.length].node, journal.changes[journal.length].column,
                    journal.changes[journal.length].before,
                )
                continue
            self.usage[journal.changes[journal.length].node, journal.changes[journal.length].column] = (
                journal.changes[journal.length].before
            )

    # --- the same for Python: tests, reports, the library

    def find_available(self, index_t node, index_t column):
        """Remaining capacity of a pair at a node, int64; negative after over-admission. Source: QP-305."""
        self.check_node(node)
        self.check_column(column)
        return self.available(node, column)

    def find_lowest_subtree_that_fits(self, index_t node, index_t column, amount_t amount):
        """(height, whether a smaller subtree than the whole tree fits). Source: QP-322."""
        cdef bint can_reclaim = False
        self.check_node(node)
        self.check_column(column)
        height = self.lowest_subtree_that_fits(node, column, amount, &can_reclaim)
        return height, bool(can_reclaim)

    def change_usage(self, index_t node, index_t column, amount_t amount, Journal journal not None, bint remove=False):
        """Book (or remove) usage at a node and its ancestors, noting the old values. Source: QP-306, QP-307."""
        self.check_node(node)
        self.check_column(column)
        if remove:
            self.remove_usage(node, column, amount, journal)
        else:
            self.add_usage(node, column, amount, journal)

    def undo(self, Journal journal not None, Py_ssize_t mark=0):
        """Bring usage back to where the journal's length was `mark`, bit for bit."""
        if not 0 <= mark <= journal.length:
            raise ValueError(f"mark {mark}: expected 0 to {journal.length}")
        self.roll_back(journal, mark)

    @property
    def unlimited(self):
        """The amount that means no bound."""
        return UNLIMITED
