"""What remains when all entries are decided: quota and places of the admitted workloads (QC-135, TP-504)."""

from kueuecore._order cimport Entry
from kueuecore._topology cimport Booking
from kueuecore._process cimport Processor


cdef class Settler(Processor):
    cdef Booking* bookings                   # scratch
    cdef Py_ssize_t booking_capacity

    cdef int book_choices(self, Entry* entry) except -1 nogil
    cdef int keep_places(self, Entry* entry) except -1 nogil
    cdef int settle_usage(self) except -1 nogil
    cdef int assume(self, Entry* entry) except -1 nogil
