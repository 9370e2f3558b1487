"""The order of target ClusterQueues. Shares change along one way up at a time, so heaps of children follow them."""

from libc.stdlib cimport free, realloc
from libc.string cimport memset

from kueuecore._candidates cimport Candidate, Candidates
from kueuecore._heaps cimport ChildHeaps
from kueuecore._share cimport Share, Shares, compare
from kueuecore._types cimport NONE, index_t


cdef class FairOrder(ChildHeaps):
    """ClusterQueues with candidates, by the shares of the nodes on the way to them."""

    def __cinit__(self):
        self.head = self.tail = NULL
        self.share = NULL
        self.on_path = NULL
        self.capacity = 0

    def __init__(self, Candidates candidates not None, Shares shares not None):
        ChildHeaps.__init__(self, candidates.forest)
        self.candidates = candidates
        self.shares = shares

    def __dealloc__(self):
        free(self.head)
        free(self.tail)
        free(self.share)
        free(self.on_path)

    cdef int start(self) except -1 nogil:
        """Take in a preemptor and its candidates, which stand queue by queue."""
        cdef Py_ssize_t size = self.forest.parent.shape[0]
        cdef index_t node
        if size > self.capacity:
            self.head = <Py_ssize_t*> realloc(self.head, size * sizeof(Py_ssize_t))
            self.tail = <Py_ssize_t*> realloc(self.tail, size * sizeof(Py_ssize_t))
            self.share = <Share*> realloc(self.share, size * sizeof(Share))
            self.on_path = <unsigned char*> realloc(self.on_path, size)
            if self.head == NULL or self.tail == NULL or self.share == NULL or self.on_path == NULL:
                with gil:
                    raise MemoryError("fair sharing")
            memset(self.on_path, 0, size)
            self.capacity = size
        self.shares.reserve()
        node = self.forest.parent[self.candidates.queue]
        while node != NONE:
            self.on_path[node] = True
            node = self.forest.parent[node]
        return 0

    cdef void finish(self) noexcept nogil:
        """Forget the preemptor."""
        cdef index_t node = self.forest.parent[self.candidates.queue]
        while node != NONE:
            self.on_path[node] = False
            node = self.forest.parent[node]

    cdef int line_up(self) except -1 nogil:
        """Line the candidates up behind their ClusterQueues, and look at all shares; nothing is dropped yet."""
        cdef Py_ssize_t i
        cdef index_t queue, node
        self.clear()
        self.own_is_dropped = False
        queue = NONE
        for i in range(self.candidates.count):
            if self.candidates.items[i].queue != queue:
                queue = self.candidates.items[i].queue
                self.head[queue] = i
                self.add_leaf(queue)
            self.tail[queue] = i + 1
        self.lay_out()
        for i in range(self.node_count):
            node = self.nodes[i]
            self.share[node] = self.shares.of(node)
            self.push(node)
        return 0

    cdef bint has_candidate(self, index_t queue) noexcept nogil:
        return self.live[queue] and self.head[queue] < self.tail[queue]

    cdef Candidate* peek(self, index_t queue) noexcept nogil:
        return &self.candidates.items[self.head[queue]]

    cdef void advance(self, index_t queue) noexcept nogil:
        """The queue's first candidate is used up, taken or not."""
        self.head[queue] += 1
        if self.head[queue] < self.tail[queue]:
            self.reorder(queue)
        else:
            self.remove(queue)

    cdef void drop(self, index_t queue) noexcept nogil:
        """The queue yields nothing any more."""
        self.remove(queue)
        if queue == self.candidates.queue:
            self.own_is_dropped = True

    cdef void usage_changed(self, index_t queue) noexcept nogil:
        """Usage of a ClusterQueue changed, and with it that of all cohorts over it."""
        cdef index_t node = queue
        while node != NONE:
            if self.live[node]:
                self.share[node] = self.shares.of(node)
                self.reorder(node)
            node = self.forest.parent[node]

    cdef index_t next_queue(self) noexcept nogil:
        """The ClusterQueue to take the next victim from, NONE when there is none left.

        What yields nothing any more is dropped on the way: usage only falls during a search, so who does not borrow now
        will not later.
        """
        cdef index_t own = self.candidates.queue
        cdef index_t root, node, child
        if self.forest.parent[own] == NONE:
            return own if not self.own_is_dropped and self.has_candidate(own) else NONE
        root = self.forest.root_of(own)
        if not self.live[root]:
            return NONE
        node = root
        while True:
            child = self.top(node)
            if child == NONE:
                if node == root:
                    return NONE
                self.remove(node)
                node = root
            elif self.forest.is_queue[child]:
                if self.share[child].borrowing or child == own:
                    return child
                self.remove(child)
            elif self.share[child].borrowing or self.on_path[child]:
                node = child
            else:
                self.remove(child)

    cdef bint goes_before(self, index_t a, index_t b) noexcept nogil:
        """Higher share first; among equals cohorts, then the ClusterQueue whose next candidate comes first.

        Among equal cohorts any is right for upstream; the lowest row makes runs repeatable (QP-906).
        """
        cdef int order = compare(self.share[a], self.share[b])
        if order != 0:
            return order > 0
        if self.forest.is_queue[a] != self.forest.is_queue[b]:
            return self.forest.is_queue[b]
        if not self.forest.is_queue[a]:
            return a < b
        return self.candidates.precedes(self.peek(a), self.peek(b))

    cdef void below_common_ancestor(self, index_t target, index_t* own_side, index_t* target_side) noexcept nogil:
        """The two nodes just below the lowest common cohort of the preemptor's and a target queue (QP-734)."""
        cdef index_t node = target
        cdef index_t common
        while not self.on_path[self.forest.parent[node]]:
            node = self.forest.parent[node]
        target_side[0] = node
        common = self.forest.parent[node]
        node = self.candidates.queue
        while self.forest.parent[node] != common:
            node = self.forest.parent[node]
        own_side[0] = node
