"""Stable merge sort of entries: a total order, since uids differ."""

from libc.string cimport memcpy

from kueuecore._types cimport NONE, index_t
from kueuecore._workloads cimport Workloads


cdef inline bint precedes(
    Entry* a, Entry* b, Workloads workloads, bint by_priority, bint preemptors_first
) noexcept nogil:
    """Classical order: reserved first, with the gate preemptors, less borrowing, priority, timestamp, uid (QC-107)."""
    cdef bint a_reserved = workloads.reserved_in[a.workload] != NONE
    cdef bint b_reserved = workloads.reserved_in[b.workload] != NONE
    if a_reserved != b_reserved:
        return a_reserved
    if preemptors_first and a.is_preemptor != b.is_preemptor:
        return a.is_preemptor
    if a.borrowing != b.borrowing:
        return a.borrowing < b.borrowing
    if by_priority and workloads.priority[a.workload] != workloads.priority[b.workload]:
        return workloads.priority[a.workload] > workloads.priority[b.workload]
    if workloads.timestamp[a.workload] != workloads.timestamp[b.workload]:
        return workloads.timestamp[a.workload] < workloads.timestamp[b.workload]
    return workloads.uid_before(a.workload, b.workload)


cdef void sort_classical(
    Entry* entries, index_t* order, index_t* scratch, Py_ssize_t count, Workloads workloads, bint by_priority,
    bint preemptors_first
) noexcept nogil:
    """Sort the entry numbers in `order` ([count], with as much scratch)."""
    cdef Py_ssize_t width = 1, start, middle, end, i, j, k
    while width < count:
        start = 0
        while start < count:
            middle = start + width if start + width < count else count
            end = start + 2 * width if start + 2 * width < count else count
            i, j = start, middle
            for k in range(start, end):
                if i < middle and (
                    j >= end or not precedes(
                        &entries[order[j]], &entries[order[i]], workloads, by_priority, preemptors_first
                    )
                ):
                    scratch[k] = order[i]
                    i += 1
                else:
                    scratch[k] = order[j]
                    j += 1
            start = end
        memcpy(order, scratch, count * sizeof(index_t))
        width *= 2
