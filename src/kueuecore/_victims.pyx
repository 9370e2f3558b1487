"""Victims of a cycle, one list a tree: only entries of the same tree see their quota as free."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc

from kueuecore._forest cimport Forest
from kueuecore._preempt cimport Target
from kueuecore._types cimport NONE, index_t
from kueuecore._usage cimport Usage
from kueuecore._workloads cimport Workloads


cdef class Victims:
    """Who was chosen in the cycle, by tree, and which evictions are to be carried out."""

    def __cinit__(self):
        self.victims = NULL
        self.last_of_tree = NULL
        self.chosen_in = NULL
        self.evictions = NULL
        self.count = self.capacity = self.root_capacity = self.row_capacity = 0
        self.eviction_count = self.eviction_capacity = 0

    def __init__(self, Forest forest not None, Workloads workloads not None, Usage usage not None):
        self.forest = forest
        self.workloads = workloads
        self.usage = usage
        self.cycle = 0

    def __dealloc__(self):
        free(self.victims)
        free(self.last_of_tree)
        free(self.chosen_in)
        free(self.evictions)

    cdef int start(self, int64_t cycle) except -1 nogil:
        """A cycle begins: no victims yet."""
        cdef Py_ssize_t i
        cdef Py_ssize_t nodes = self.forest.parent.shape[0]
        cdef Py_ssize_t rows = self.workloads.queue.shape[0]
        cdef void* grown
        self.cycle = cycle
        if nodes > self.root_capacity:
            grown = realloc(self.last_of_tree, nodes * sizeof(index_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("victims")
            self.last_of_tree = <index_t*> grown
            self.root_capacity = nodes
            for i in range(nodes):
                self.last_of_tree[i] = NONE
        if rows > self.row_capacity:
            grown = realloc(self.chosen_in, rows * sizeof(int64_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("victims")
            self.chosen_in = <int64_t*> grown
            for i in range(self.row_capacity, rows):
                self.chosen_in[i] = 0
            self.row_capacity = rows
        for i in range(self.count):
            self.last_of_tree[self.victims[i].root] = NONE
        self.count = self.eviction_count = 0
        return 0

    cdef bint has(self, index_t workload) noexcept nogil:
        return self.chosen_in[workload] == self.cycle

    cdef bint has_any(self, Target* targets, Py_ssize_t count) noexcept nogil:
        """Whether one of these targets already is a victim of an earlier entry (QC-127)."""
        cdef Py_ssize_t i
        for i in range(count):
            if self.has(targets[i].workload):
                return True
        return False

    cdef int add(self, index_t root, Target* targets, Py_ssize_t count) except -1 nogil:
        """Targets of an accepted entry join the victims of its tree (QC-129)."""
        cdef Py_ssize_t i, size
        cdef Victim* grown
        if self.count + count > self.capacity:
            size = 2 * (self.count + count) + 16
            grown = <Victim*> realloc(self.victims, size * sizeof(Victim))
            if grown == NULL:
                with gil:
                    raise MemoryError("victims")
            self.victims = grown
            self.capacity = size
        for i in range(count):
            self.chosen_in[targets[i].workload] = self.cycle
            self.victims[self.count].workload = targets[i].workload
            self.victims[self.count].queue = targets[i].queue
            self.victims[self.count].root = root
            self.victims[self.count].before = self.last_of_tree[root]
            self.last_of_tree[root] = <index_t> self.count
            self.count += 1
        return 0

    cdef int take_off(self, index_t root) except -1 nogil:
        """Take the quota of a tree's victims off; the caller rolls back."""
        cdef index_t at = self.last_of_tree[root]
        while at != NONE:
            self.usage.remove(self.victims[at].workload, self.victims[at].queue)
            at = self.victims[at].before
        return 0

    cdef void exclude(self, index_t root, bint excluded) noexcept nogil:
        """Whether a tree's victims are no candidates for the moment (QC-118)."""
        cdef index_t at = self.last_of_tree[root]
        while at != NONE:
            self.workloads.excluded[self.victims[at].workload] = excluded
            at = self.victims[at].before

    cdef int issue(self, index_t preemptor, Target* targets, Py_ssize_t count) except -1 nogil:
        """Note the evictions to carry out; one that is under way is not issued again (QC-146)."""
        cdef Py_ssize_t i, size
        cdef Eviction* grown
        cdef Eviction* eviction
        if self.eviction_count + count > self.eviction_capacity:
            size = 2 * (self.eviction_count + count) + 16
            grown = <Eviction*> realloc(self.evictions, size * sizeof(Eviction))
            if grown == NULL:
                with gil:
                    raise MemoryError("evictions")
            self.evictions = grown
            self.eviction_capacity = size
        for i in range(count):
            if self.workloads.evicted[targets[i].workload] or self.workloads.evicting[targets[i].workload]:
                continue
            self.workloads.evicting[targets[i].workload] = True
            eviction = &self.evictions[self.eviction_count]
            eviction.workload = targets[i].workload
            eviction.queue = targets[i].queue
            eviction.preemptor = preemptor
            eviction.reason = targets[i].reason
            self.eviction_count += 1
        return 0
