"""Sums over a workload's slots. See the .pxd."""

from libc.stdlib cimport free, realloc

from kueuecore._amount cimport add_plain
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._journal cimport Journal
from kueuecore._topology cimport Topologies
from kueuecore._types cimport NONE, index_t
from kueuecore._workloads cimport Workloads


cdef class Usage:
    """Books and takes off what the slots of a reserved workload say; every change is noted in the journal."""

    def __cinit__(self):
        self.items = NULL
        self.count = self.capacity = 0

    def __init__(self, Forest forest not None, Flavors flavors not None, Workloads workloads not None,
                 Journal journal not None, Topologies topologies not None):
        self.forest = forest
        self.flavors = flavors
        self.workloads = workloads
        self.journal = journal
        self.topologies = topologies

    def __dealloc__(self):
        free(self.items)

    cdef int load(self, index_t workload) except -1 nogil:
        """Usage of a reserved workload, one item a column."""
        cdef Py_ssize_t start = self.workloads.slot_start[workload]
        cdef Py_ssize_t length = self.workloads.slot_length[workload]
        cdef Py_ssize_t s, i
        cdef index_t column
        cdef ColumnUsage* grown
        if length > self.capacity:
            grown = <ColumnUsage*> realloc(self.items, 2 * length * sizeof(ColumnUsage))
            if grown == NULL:
                with gil:
                    raise MemoryError("usage")
            self.items = grown
            self.capacity = 2 * length
        self.count = 0
        for s in range(start, start + length):
            if self.workloads.slot_flavor[s] < 0:
                continue
            column = self.flavors.column[self.workloads.slot_flavor[s], self.workloads.slot_resource[s]]
            if column == NONE:
                continue
            for i in range(self.count):
                if self.items[i].column == column:
                    self.items[i].amount = add_plain(self.items[i].amount, self.workloads.slot_amount[s])
                    break
            else:
                self.items[self.count].column = column
                self.items[self.count].amount = self.workloads.slot_amount[s]
                self.count += 1
        return 0

    cdef int add(self, index_t workload, index_t queue) except -1 nogil:
        """What-if: the workload holds quota and places."""
        self.add_quota(workload, queue)
        return self.topologies.add_workload(workload, self.journal)

    cdef int remove(self, index_t workload, index_t queue) except -1 nogil:
        """What-if: the workload holds neither quota nor places; only its own flavor's tree notices (TP-1202)."""
        self.remove_quota(workload, queue)
        return self.topologies.remove_workload(workload, self.journal)

    cdef int add_quota(self, index_t workload, index_t queue) except -1 nogil:
        cdef Py_ssize_t i
        self.load(workload)
        for i in range(self.count):
            self.forest.add_usage(queue, self.items[i].column, self.items[i].amount, self.journal)
        return 0

    cdef int remove_quota(self, index_t workload, index_t queue) except -1 nogil:
        cdef Py_ssize_t i
        self.load(workload)
        for i in range(self.count):
            self.forest.remove_usage(queue, self.items[i].column, self.items[i].amount, self.journal)
        return 0
