"""The order in which the entries of a cycle are processed (QC-106..108)."""

from libc.stdint cimport int32_t, int64_t

from kueuecore._types cimport Mode, Outcome, Requeue, index_t
from kueuecore._workloads cimport Workloads


cdef struct Entry:           # one head of a cycle
    index_t workload
    index_t queue            # forest row of its ClusterQueue
    Outcome outcome
    Requeue requeue          # why it goes back, unless admitted
    Mode mode
    int64_t borrowing        # largest borrow level of its assignment
    int64_t scan_before      # fingerprint of its recorded flavor scan before the cycle
    bint is_preemptor        # waits for victims that it chose in an earlier cycle (QC-18)
    bint nominated           # has an assignment: processed in order; others only go back
    Py_ssize_t again_number  # of those that come again: place in SecondPass
    bint again               # holds its quota and comes for its places (TP-1601)
    index_t replaced         # row of the slice that it takes the place of, NONE without
    bint fails_fast          # of those: evicted where it finds none (TP-1509)
    Py_ssize_t results       # offset of its PodSetResults in the arena of the cycle
    Py_ssize_t result_count
    Py_ssize_t choices       # offset of its Choices
    Py_ssize_t choice_count
    Py_ssize_t usage         # offset of its ColumnUsages
    Py_ssize_t usage_count
    Py_ssize_t targets       # offset of its Targets
    Py_ssize_t target_count
    Py_ssize_t domains       # offset of its PlacedDomains
    Py_ssize_t domain_count
    Py_ssize_t reasons       # offset of its Reasons
    Py_ssize_t reason_count
    Py_ssize_t attempts      # offset of its Attempts, and then of their Reasons
    Py_ssize_t attempt_count
    Py_ssize_t attempt_reasons
    Py_ssize_t attempt_reason_count


cdef void sort_classical(
    Entry* entries, index_t* order, index_t* scratch, Py_ssize_t count, Workloads workloads, bint by_priority,
    bint preemptors_first
) noexcept nogil
