"""Lists of held workloads with constant-time insert and removal."""

from libc.stdlib cimport free, realloc
from libc.string cimport memset

from kueuecore._types cimport index_t


cdef HeldRows _NOTHING
_NOTHING.items = NULL
_NOTHING.length = 0
_NOTHING.capacity = 0


cdef class Held:
    """Rows of the workloads whose quota is booked, by ClusterQueue row."""

    def __cinit__(self):
        self.queues = NULL
        self.queue_capacity = 0
        self.position = NULL
        self.position_capacity = 0

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.queue_capacity):
            free(self.queues[i].items)
        free(self.queues)
        free(self.position)

    cdef int add(self, index_t queue, index_t workload) except -1 nogil:
        cdef Py_ssize_t size
        cdef void* grown
        cdef HeldRows* rows
        if queue >= self.queue_capacity:
            size = 2 * <Py_ssize_t> queue + 16
            grown = realloc(self.queues, size * sizeof(HeldRows))
            if grown == NULL:
                with gil:
                    raise MemoryError("held workloads")
            self.queues = <HeldRows*> grown
            memset(self.queues + self.queue_capacity, 0, (size - self.queue_capacity) * sizeof(HeldRows))
            self.queue_capacity = size
        if workload >= self.position_capacity:
            size = 2 * <Py_ssize_t> workload + 64
            grown = realloc(self.position, size * sizeof(index_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("held workloads")
            self.position = <index_t*> grown
            self.position_capacity = size
        rows = &self.queues[queue]
        if rows.length == rows.capacity:
            size = 2 * rows.capacity + 8
            grown = realloc(rows.items, size * sizeof(index_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("held workloads")
            rows.items = <index_t*> grown
            rows.capacity = size
        rows.items[rows.length] = workload
        self.position[workload] = <index_t> rows.length
        rows.length += 1
        return 0

    cdef void remove(self, index_t queue, index_t workload) noexcept nogil:
        cdef HeldRows* rows = &self.queues[queue]
        cdef index_t at = self.position[workload]
        cdef index_t last
        rows.length -= 1
        last = rows.items[rows.length]
        rows.items[at] = last
        self.position[last] = at

    cdef HeldRows* rows_of(self, index_t queue) noexcept nogil:
        """The list of a ClusterQueue, valid until the next add."""
        if queue >= self.queue_capacity:
            return &_NOTHING
        return &self.queues[queue]

    def rows(self, index_t queue):
        """Rows of the workloads that a ClusterQueue holds, in no order."""
        cdef HeldRows* rows = self.rows_of(queue)
        return [rows.items[i] for i in range(rows.length)]
