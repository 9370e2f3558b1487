"""Shares. The order of float operations is upstream's; nothing is fused."""

from libc.stdlib cimport free, realloc

from kueuecore._amount cimport add, sub
from kueuecore._forest cimport Forest
from kueuecore._types cimport NONE, amount_t, index_t


cdef class Shares:
    """Dominant resource shares against the usage that the forest holds now."""

    def __cinit__(self):
        self.borrowed_resource = NULL
        self.borrowed_amount = NULL
        self.capacity = 0

    def __init__(self, Forest forest not None):
        self.forest = forest

    def __dealloc__(self):
        free(self.borrowed_resource)
        free(self.borrowed_amount)

    cdef int reserve(self) except -1 nogil:
        """Make room for the resources that there are; due before `of`."""
        cdef Py_ssize_t size = self.forest.lendable.shape[1]
        if size <= self.capacity:
            return 0
        self.borrowed_resource = <index_t*> realloc(self.borrowed_resource, size * sizeof(index_t))
        self.borrowed_amount = <long long*> realloc(self.borrowed_amount, size * sizeof(long long))
        if self.borrowed_resource == NULL or self.borrowed_amount == NULL:
            with gil:
                raise MemoryError("shares")
        self.capacity = size
        return 0

    cdef Share of(self, index_t node) noexcept nogil:
        """Share of a node; nothing is borrowed by one without a parent."""
        cdef Share share
        cdef index_t above = self.forest.parent[node]
        cdef index_t resource
        cdef Py_ssize_t c, i, count = 0
        cdef amount_t borrowed, lendable
        cdef double ratio
        share.ratio = 0.0
        share.weight = self.forest.weight[node]
        share.borrowing = False
        if above == NONE:
            return share
        for c in range(self.forest.columns):
            if not self.forest.has_subtree[node, c]:
                continue
            borrowed = sub(self.forest.usage[node, c], self.forest.subtree[node, c])
            if borrowed <= 0:
                continue
            share.borrowing = True
            resource = self.forest.column_resource[c]
            for i in range(count):
                if self.borrowed_resource[i] == resource:
                    self.borrowed_amount[i] = add(self.borrowed_amount[i], borrowed)
                    break
            else:
                self.borrowed_resource[count] = resource
                self.borrowed_amount[count] = borrowed
                count += 1
        for i in range(count):
            lendable = self.forest.lendable[above, self.borrowed_resource[i]]
            if lendable > 0:
                ratio = <double> self.borrowed_amount[i] * 1000.0 / <double> lendable
                if ratio > share.ratio:
                    share.ratio = ratio
        return share

    def find(self, index_t node):
        """(ratio, weight, whether the node borrows): weighted share is ratio / weight, +Inf for weight 0."""
        cdef Share share
        if not 0 <= node < self.forest.nodes:
            raise ValueError(f"node {node}: expected a row from 0 to {self.forest.nodes - 1}")
        self.reserve()
        share = self.of(node)
        return share.ratio, share.weight, bool(share.borrowing)
