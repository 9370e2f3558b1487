"""A hash table of classes. Entries that mean nothing any more go when it grows."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, realloc

from kueuecore._types cimport index_t


cdef class Classes:
    """Parked classes and heap counts of all ClusterQueues."""

    def __cinit__(self):
        self.entries = NULL
        self.flush_counts = NULL
        self.capacity = self.count = self.queue_capacity = 0

    def __dealloc__(self):
        free(self.entries)
        free(self.flush_counts)

    cdef int reserve(self, Py_ssize_t queues) except -1:
        cdef Py_ssize_t i
        cdef int64_t* grown
        if queues <= self.queue_capacity:
            return 0
        grown = <int64_t*> realloc(self.flush_counts, queues * sizeof(int64_t))
        if grown == NULL:
            raise MemoryError("scheduling classes")
        for i in range(self.queue_capacity, queues):
            grown[i] = 0
        self.flush_counts = grown
        self.queue_capacity = queues
        return 0

    cdef Py_ssize_t place(self, int64_t key) noexcept nogil:
        """Where a key stands, or the free place where it would."""
        cdef Py_ssize_t at = (
            <Py_ssize_t> ((<unsigned long long> key * 0x9E3779B97F4A7C15ULL) >> 20) & (self.capacity - 1)
        )
        while self.entries[at].key != -1 and self.entries[at].key != key:
            at = (at + 1) & (self.capacity - 1)
        return at

    cdef ClassEntry* find(self, index_t queue, index_t shape) noexcept nogil:
        """The entry of a class in a ClusterQueue, or NULL."""
        cdef ClassEntry* entry
        if self.capacity == 0:
            return NULL
        entry = &self.entries[self.place((<int64_t> queue << 32) | shape)]
        return entry if entry.key != -1 else NULL

    cdef ClassEntry* make(self, index_t queue, index_t shape) except NULL nogil:
        """The entry of a class in a ClusterQueue, a new one if there is none."""
        cdef int64_t key = (<int64_t> queue << 32) | shape
        cdef ClassEntry* entry = self.find(queue, shape)
        if entry != NULL:
            return entry
        if 2 * self.count >= self.capacity:
            self.grow()
        entry = &self.entries[self.place(key)]
        entry.key = key
        entry.flush_count = -1
        entry.in_heap = 0
        self.count += 1
        return entry

    cdef bint is_parked(self, index_t queue, index_t shape) noexcept nogil:
        """Whether the class was parked since the last flush of the queue."""
        cdef ClassEntry* entry = self.find(queue, shape)
        return entry != NULL and entry.flush_count == self.flush_counts[queue]

    cdef void forget_parked(self, index_t queue) noexcept nogil:
        """A flush: no class of the queue is parked any more."""
        self.flush_counts[queue] += 1

    cdef bint means_something(self, ClassEntry* entry) noexcept nogil:
        return entry.key != -1 and (
            entry.in_heap > 0 or entry.flush_count == self.flush_counts[entry.key >> 32]
        )

    cdef int grow(self) except -1 nogil:
        """A larger table of the entries that still mean something."""
        cdef ClassEntry* old = self.entries
        cdef Py_ssize_t old_capacity = self.capacity
        cdef Py_ssize_t i, live = 0
        cdef Py_ssize_t capacity = 64
        cdef ClassEntry* grown
        for i in range(old_capacity):
            if self.means_something(&old[i]):
                live += 1
        while capacity < 4 * (live + 1):
            capacity *= 2
        grown = <ClassEntry*> malloc(capacity * sizeof(ClassEntry))
        if grown == NULL:
            with gil:
                raise MemoryError("scheduling classes")
        for i in range(capacity):
            grown[i].key = -1
        self.entries = grown
        self.capacity = capacity
        self.count = live
        for i in range(old_capacity):
            if self.means_something(&old[i]):
                grown[self.place(old[i].key)] = old[i]
        free(old)
        return 0
