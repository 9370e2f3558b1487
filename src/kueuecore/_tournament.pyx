"""Tournaments. After an entry is processed only nodes over its ClusterQueue have new standings: one way up a pop."""

from libc.stdlib cimport free, realloc

from kueuecore._amount cimport sub
from kueuecore._forest cimport Forest
from kueuecore._heaps cimport ChildHeaps
from kueuecore._journal cimport Journal
from kueuecore._order cimport Entry
from kueuecore._share cimport Shares, compare
from kueuecore._types cimport NONE, index_t
from kueuecore._usage cimport ColumnUsage
from kueuecore._workloads cimport Workloads


cdef class Tournament(ChildHeaps):
    """Hands out the entries of a cycle one by one, each after a look at the usage that the earlier ones left."""

    def __cinit__(self):
        self.entry_of = NULL
        self.standing = NULL
        self.capacity = 0

    def __init__(self, Forest forest not None, Workloads workloads not None, Shares shares not None,
                 Journal journal not None):
        ChildHeaps.__init__(self, forest)
        self.workloads = workloads
        self.shares = shares
        self.journal = journal
        self.preemptors_first = False
        self.non_borrowing_first = True
        self.by_priority = True

    def __dealloc__(self):
        free(self.entry_of)
        free(self.standing)

    cdef int start(self, Entry* entries, char* arena, Py_ssize_t count) except -1 nogil:
        """Take in the nominated entries of a cycle: each stands for its ClusterQueue, winners for their cohorts."""
        cdef Py_ssize_t size = self.forest.parent.shape[0]
        cdef Py_ssize_t i
        cdef index_t node
        self.shares.reserve()
        self.clear()
        if size > self.capacity:
            self.entry_of = <index_t*> realloc(self.entry_of, size * sizeof(index_t))
            self.standing = <Standing*> realloc(self.standing, size * sizeof(Standing))
            if self.entry_of == NULL or self.standing == NULL:
                with gil:
                    raise MemoryError("tournament")
            self.capacity = size
        self.entries = entries
        self.arena = arena
        self.last = NONE
        self.next_entry = 0
        for i in range(count):
            if entries[i].nominated:
                self.add_leaf(entries[i].queue)
            else:
                self.entry_of[entries[i].queue] = NONE
        self.lay_out()
        for i in range(self.node_count):
            self.entry_of[self.nodes[i]] = NONE
        for i in range(count):
            if entries[i].nominated:
                self.entry_of[entries[i].queue] = <index_t> i
        for i in range(self.node_count):
            node = self.nodes[i]
            if not self.forest.is_queue[node]:
                self.entry_of[node] = self.entry_of[self.top(node)]
            self.compute(node)
            self.push(node)
        return 0

    cdef Py_ssize_t pop(self, Entry* entries, char* arena, Py_ssize_t count) except -2 nogil:
        """The next entry to process, -1 when there is none left; trees one after the other (QC-110)."""
        cdef index_t queue
        self.entries = entries
        self.arena = arena
        if self.last != NONE:
            self.step_down(self.last)
        while self.next_entry < count:
            queue = entries[self.next_entry].queue
            if self.entry_of[queue] == NONE:
                self.next_entry += 1
                continue
            queue = self.entry_of[self.forest.root_of(queue)]
            self.last = entries[queue].queue
            return queue
        self.last = NONE
        return -1

    cdef int step_down(self, index_t queue) except -1 nogil:
        """The entry of a ClusterQueue was processed: others stand for cohorts over it, on the new usage (QC-111)."""
        cdef index_t node = queue
        cdef index_t above
        self.entry_of[node] = NONE
        while True:
            above = self.forest.parent[node]
            if above == NONE:
                return 0
            if self.entry_of[node] == NONE:
                self.remove(node)
            else:
                self.compute(node)
                self.reorder(node)
            node = above
            self.entry_of[node] = self.entry_of[self.top(node)] if self.length[node] > 0 else NONE

    cdef int compute(self, index_t node) except -1 nogil:
        """Standing of the entry that stands for a node: the node's share with the entry's usage added."""
        cdef Entry* entry = &self.entries[self.entry_of[node]]
        cdef ColumnUsage* usage = <ColumnUsage*> (self.arena + entry.usage)
        cdef Standing* standing = &self.standing[node]
        cdef Py_ssize_t mark = self.journal.length
        cdef Py_ssize_t i
        if self.workloads.reserved_in[entry.workload] == NONE:
            for i in range(entry.usage_count):
                self.forest.add_usage(entry.queue, usage[i].column, usage[i].amount, self.journal)
        standing.share = self.shares.of(node)
        standing.borrows_requested = False
        for i in range(entry.usage_count):
            if (
                usage[i].amount > 0 and self.forest.has_subtree[node, usage[i].column]
                and sub(self.forest.usage[node, usage[i].column], self.forest.subtree[node, usage[i].column]) > 0
            ):
                standing.borrows_requested = True
        self.forest.roll_back(self.journal, mark)
        return 0

    cdef bint goes_before(self, index_t a, index_t b) noexcept nogil:
        """Whether the entry of child `a` goes before that of its sibling `b` (QC-112); equals by uid."""
        cdef Entry* of_a = &self.entries[self.entry_of[a]]
        cdef Entry* of_b = &self.entries[self.entry_of[b]]
        cdef index_t x = of_a.workload, y = of_b.workload
        cdef int order
        if self.preemptors_first and of_a.is_preemptor != of_b.is_preemptor:
            return of_a.is_preemptor
        if self.non_borrowing_first and self.standing[a].borrows_requested != self.standing[b].borrows_requested:
            return self.standing[b].borrows_requested
        order = compare(self.standing[a].share, self.standing[b].share)
        if order != 0:
            return order < 0
        if self.by_priority and self.workloads.priority[x] != self.workloads.priority[y]:
            return self.workloads.priority[x] > self.workloads.priority[y]
        if self.workloads.timestamp[x] != self.workloads.timestamp[y]:
            return self.workloads.timestamp[x] < self.workloads.timestamp[y]
        return self.workloads.uid_before(x, y)
