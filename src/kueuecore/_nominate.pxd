"""What a head would be admitted with: the full assignment or a reduced one, and its victims (QC-97, QC-103, QC-104)."""

from libc.stdint cimport int64_t

from kueuecore._assigntopology cimport TopologyAssigner
from kueuecore._assign cimport Choice
from kueuecore._types cimport amount_t, index_t


cdef class Nominator(TopologyAssigner):
    cdef public bint slices               # gate ElasticJobsViaWorkloadSlices
    cdef bint has_targets                 # the last search for victims found some; they are the preemptor's targets

    cdef int nominate(self, index_t workload, index_t queue) except -1 nogil
    cdef int nominate_again(self, Py_ssize_t entry, index_t workload, index_t queue) except -1 nogil
    cdef int take_held(self, Py_ssize_t entry, index_t workload) except -1 nogil
    cdef int renew_topology(self, index_t workload, index_t queue) except -1 nogil
    cdef bint is_accepted(self) noexcept nogil
    cdef int find_targets(self, index_t workload, index_t queue) except -1 nogil
    cdef index_t replaced_by(self, index_t workload, index_t queue) noexcept nogil
    cdef int put_replaced_first(self) except -1 nogil
    cdef amount_t beyond_replaced(self, index_t workload, Py_ssize_t pod_set, Choice* choice) noexcept nogil
    cdef bint is_answered(self) noexcept nogil
    cdef int reduce_counts(self, index_t workload, index_t queue) except -1 nogil
    cdef void set_counts(self, Py_ssize_t first, Py_ssize_t length, int64_t step, int64_t total) noexcept nogil
