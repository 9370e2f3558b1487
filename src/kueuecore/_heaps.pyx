"""Heaps of children. See the .pxd."""

from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from kueuecore._forest cimport Forest
from kueuecore._types cimport NONE, index_t


cdef class ChildHeaps:
    """Clear, add leaves, lay out, then push the nodes in the order of `nodes`."""

    def __cinit__(self):
        self.live = NULL
        self.position = self.first_place = self.length = self.nodes = self.items = NULL
        self.node_capacity = self.node_count = 0

    def __init__(self, Forest forest not None):
        self.forest = forest

    def __dealloc__(self):
        free(self.live)
        free(self.position)
        free(self.first_place)
        free(self.length)
        free(self.nodes)
        free(self.items)

    cdef int clear(self) except -1 nogil:
        """Forget all nodes."""
        cdef Py_ssize_t size = self.forest.parent.shape[0]
        cdef Py_ssize_t i
        cdef bint enough
        if size > self.node_capacity:
            self.live = <unsigned char*> realloc(self.live, size)
            self.position = <index_t*> realloc(self.position, size * sizeof(index_t))
            self.first_place = <index_t*> realloc(self.first_place, size * sizeof(index_t))
            self.length = <index_t*> realloc(self.length, size * sizeof(index_t))
            self.nodes = <index_t*> realloc(self.nodes, size * sizeof(index_t))
            self.items = <index_t*> realloc(self.items, size * sizeof(index_t))
            enough = (
                self.live != NULL and self.position != NULL and self.first_place != NULL
                and self.length != NULL and self.nodes != NULL and self.items != NULL
            )
            if not enough:
                with gil:
                    raise MemoryError("heaps of children")
            memset(self.live, 0, size)
            self.node_capacity = size
        for i in range(self.node_count):
            self.live[self.nodes[i]] = False
        self.node_count = 0
        return 0

    cdef void add_leaf(self, index_t node) noexcept nogil:
        """A ClusterQueue takes part, and with it all cohorts over it."""
        while node != NONE and not self.live[node]:
            self.live[node] = True
            self.nodes[self.node_count] = node
            self.node_count += 1
            self.position[node] = NONE
            self.length[node] = 0
            node = self.forest.parent[node]

    cdef void lay_out(self) noexcept nogil:
        """Give each cohort its stretch of `items`, and bring the nodes in an order of children before parents."""
        cdef Py_ssize_t i
        cdef index_t node, above, end = 0
        # a parent may have been added by an earlier leaf than its child: order by distance from the root
        self.order_by_depth()
        for i in range(self.node_count):
            node = self.nodes[i]
            above = self.forest.parent[node]
            if above != NONE:
                self.length[above] += 1
        for i in range(self.node_count):
            node = self.nodes[i]
            self.first_place[node] = end
            end += self.length[node]
            self.length[node] = 0

    cdef void order_by_depth(self) noexcept nogil:
        """Stable insertion by depth, deepest first; trees are a few levels deep, so passes are few."""
        cdef Py_ssize_t i, kept, total = self.node_count
        cdef int32_t depth, deepest = 0
        for i in range(total):
            depth = self.depth_of(self.nodes[i])
            if depth > deepest:
                deepest = depth
        kept = 0
        while deepest >= 0:
            for i in range(kept, total):
                if self.depth_of(self.nodes[i]) == deepest:
                    self.nodes[i], self.nodes[kept] = self.nodes[kept], self.nodes[i]
                    kept += 1
            deepest -= 1

    cdef int32_t depth_of(self, index_t node) noexcept nogil:
        cdef int32_t depth = 0
        while self.forest.parent[node] != NONE:
            depth += 1
            node = self.forest.parent[node]
        return depth

    cdef bint goes_before(self, index_t a, index_t b) noexcept nogil:
        """Whether child `a` goes before its sibling `b`."""
        return a < b

    cdef index_t top(self, index_t cohort) noexcept nogil:
        """The first child of a cohort, NONE without any."""
        return self.items[self.first_place[cohort]] if self.length[cohort] > 0 else NONE

    cdef void push(self, index_t node) noexcept nogil:
        """Put a node in the heap of its parent; a root is in none."""
        cdef index_t above = self.forest.parent[node]
        if above == NONE:
            return
        self.items[self.first_place[above] + self.length[above]] = node
        self.position[node] = self.length[above]
        self.length[above] += 1
        self.sift_up(above, self.position[node])

    cdef void remove(self, index_t node) noexcept nogil:
        """Take a node out of the heap of its parent."""
        cdef index_t above = self.forest.parent[node]
        cdef index_t at, last
        if above == NONE or self.position[node] == NONE:
            return
        at = self.position[node]
        self.position[node] = NONE
        self.length[above] -= 1
        last = self.items[self.first_place[above] + self.length[above]]
        if last != node:
            self.items[self.first_place[above] + at] = last
            self.position[last] = at
            self.reorder(last)

    cdef void reorder(self, index_t node) noexcept nogil:
        """What a node is compared by changed: find its new place."""
        cdef index_t above = self.forest.parent[node]
        if above == NONE or self.position[node] == NONE:
            return
        self.sift_up(above, self.position[node])
        self.sift_down(above, self.position[node])

    cdef void sift_up(self, index_t cohort, index_t at) noexcept nogil:
        cdef index_t* items = self.items + self.first_place[cohort]
        cdef index_t moving = items[at]
        cdef index_t above
        while at > 0:
            above = (at - 1) >> 1
            if not self.goes_before(moving, items[above]):
                break
            items[at] = items[above]
            self.position[items[at]] = at
            at = above
        items[at] = moving
        self.position[moving] = at

    cdef void sift_down(self, index_t cohort, index_t at) noexcept nogil:
        cdef index_t* items = self.items + self.first_place[cohort]
        cdef index_t length = self.length[cohort]
        cdef index_t moving = items[at]
        cdef index_t below = 2 * at + 1
        while below < length:
            if below + 1 < length and self.goes_before(items[below + 1], items[below]):
                below += 1
            if not self.goes_before(items[below], moving):
                break
            items[at] = items[below]
            self.position[items[at]] = at
            at = below
            below = 2 * at + 1
        items[at] = moving
        self.position[moving] = at
