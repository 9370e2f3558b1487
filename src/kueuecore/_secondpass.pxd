"""Workloads that hold their quota and come to the next cycle for their places alone (TP-1601..1603)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._types cimport amount_t, index_t


cdef class SecondPass:
    cdef readonly Py_ssize_t count           # workloads of the next cycle

    # [entry] in the order in which they are asked
    cdef index_t[::1] workload
    cdef uint8_t[::1] keep                   # the stored assignment is the result (TP-1503)
    cdef uint8_t[::1] fails_fast             # evicted where no replacement is found (TP-1509)
    cdef index_t[::1] pod_set_start          # first row of its pod sets below
    cdef index_t[::1] held_start             # first row of what it holds; one more entry at the end of each
    cdef index_t[::1] unhealthy_start        # first row of its unhealthy nodes
    # [pod set]
    cdef int64_t[::1] pods                   # admitted
    cdef int32_t[::1] delayed                # Delay
    # [held] what one pod set holds of one resource
    cdef index_t[::1] held_pod_set
    cdef index_t[::1] held_resource
    cdef index_t[::1] held_flavor
    cdef amount_t[::1] held_amount
    # [unhealthy] in the order of status.unhealthyNodes, once for each flavor whose topology has the place
    cdef index_t[::1] unhealthy_tree
    cdef index_t[::1] unhealthy_place
