"""What ClusterQueues offer: resource groups in spec order, columns of flavor-resource pairs, eligible flavors.

Source: QP-204, QP-410..426.
"""

from libc.stdint cimport int64_t, uint8_t

from kueuecore._types cimport index_t


cdef class Flavors:
    cdef public index_t[:, ::1] column       # [flavor, resource] forest column, NONE where no object names the pair
    cdef public index_t[::1] resource_rank   # [resource] place in the order in which requests are looked at (QP-107)
    cdef public index_t pods_resource        # the resource `pods`, NONE until some ClusterQueue covers it (QP-405)

    # Eligible flavors of a class of pod templates: [eligibility class, flavor] of Eligibility
    cdef public uint8_t[:, ::1] eligible

    # Resource groups of a ClusterQueue; node: its forest row
    cdef public index_t[:, ::1] group_of     # [node, resource] row of the first group that covers it, NONE without
    cdef public index_t[::1] group_start     # [group] first flavor of the group in group_flavors
    cdef public index_t[::1] group_length    # [group] number of its flavors
    cdef public index_t[::1] group_flavors   # flavors in spec order, group by group

    # [node] fungibility and policies of a ClusterQueue
    cdef public uint8_t[::1] next_when_borrowing     # whenCanBorrow: TryNextFlavor
    cdef public uint8_t[::1] next_when_preempting    # whenCanPreempt: TryNextFlavor
    cdef public uint8_t[::1] borrowing_first         # 1: preference PreemptionOverBorrowing ranks by borrow level
    cdef public uint8_t[::1] within_policy           # withinClusterQueue, of _candidates.Policy
    cdef public uint8_t[::1] reclaim_policy          # reclaimWithinCohort, of _candidates.Policy
    cdef public uint8_t[::1] borrows_within_cohort   # borrowWithinCohort has a policy other than Never
    cdef public uint8_t[::1] has_threshold           # it has a maxPriorityThreshold
    cdef public int64_t[::1] threshold               # valid where has_threshold
    cdef public uint8_t[::1] topology_only           # every flavor has a topology: true also without flavors (QP-234)
    cdef public uint8_t[::1] usage_based             # admission fair sharing orders its workloads (QC-13)

    cdef int check(self, Py_ssize_t nodes, Py_ssize_t columns) except -1
