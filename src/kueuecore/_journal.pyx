"""Growing and shrinking of the undo journal; rollback itself is the forest's, which owns the values."""

from libc.stdlib cimport free, realloc

from kueuecore._types cimport amount_t, index_t


cdef class Journal:
    """A stack of old usage values."""

    def __cinit__(self):
        self.changes = NULL
        self.length = 0
        self.capacity = 0

    def __dealloc__(self):
        free(self.changes)

    def __len__(self):
        return self.length

    cdef int note(self, index_t node, index_t column, amount_t before) except -1 nogil:
        cdef Py_ssize_t capacity
        cdef Change* grown
        if self.length == self.capacity:
            capacity = 2 * self.capacity + 64
            grown = <Change*> realloc(self.changes, capacity * sizeof(Change))
            if grown == NULL:
                with gil:
                    raise MemoryError("undo journal")
            self.changes = grown
            self.capacity = capacity
        self.changes[self.length].node = node
        self.changes[self.length].column = column
        self.changes[self.length].before = before
        self.length += 1
        return 0
