"""Workloads, pending and admitted: one row each, rows are reused. Pod sets and slots are ranges of flat tables.

A slot is one resource of one pod set: while pending it carries the progress of the flavor scan, while reserved the
flavor and the amount that are booked. Source: QC-2, QC-10..12, QC-55..63, QP-104, QP-501..504.
"""

from libc.stdint cimport int64_t, uint8_t

from kueuecore._types cimport amount_t, index_t


cdef class Workloads:
    cdef readonly Py_ssize_t rows            # rows in use, free ones included

    # [workload]
    cdef public index_t[::1] queue           # forest row of its ClusterQueue by way of its LocalQueue, NONE if unknown
    cdef public index_t[::1] reserved_in     # forest row where its quota is booked, NONE while it has none
    cdef public index_t[::1] replaces        # row of the older slice that it takes the place of, NONE without (JS-603)
    cdef public uint8_t[::1] evicted         # condition Evicted of one that still holds quota: it stops
    cdef public uint8_t[::1] evicting        # its eviction was issued, and is not seen yet (QC-146)
    cdef public uint8_t[::1] excluded        # no candidate for the moment, kept by the cycle (QC-118)
    cdef public uint8_t[::1] elastic         # annotated as an elastic job: slices replace it (TP-1301)
    cdef public uint8_t[::1] unhealthy       # status.unhealthyNodes is not empty (TP-1502)
    cdef public uint8_t[::1] gate_closed     # some preemption gate is closed (QC-58)
    cdef public int64_t[::1] reserved_at     # transition of QuotaReserved, ns; NONE where the object lacks it (QP-611)
    cdef public int64_t[::1] generation      # metadata.generation
    cdef public uint8_t[::1] admitted        # condition Admitted: holds quota, and no check is open
    cdef public index_t[::1] local_queue     # number that the border gave its LocalQueue
    cdef public index_t[::1] namespace       # column of Pending.namespace_match
    cdef public index_t[::1] shape           # class of scheduling equivalence, NONE if unknown (QC-42)
    cdef public int64_t[::1] priority        # effective priority (QC-10)
    cdef public int64_t[::1] timestamp       # queue-order timestamp, ns since the epoch (QC-12)
    cdef public int64_t[::1] requeue_at      # status.requeueState.requeueAt, ns, 0 without (QC-26)
    cdef public uint8_t[::1] requeue_blocked  # condition Requeued is False
    cdef public uint8_t[::1] invalid         # requests above limits or outside a LimitRange (QC-78, QC-80)
    cdef public uint8_t[::1] checks_failed   # an admission check is Retry or Rejected (QC-92.2)
    cdef public uint8_t[:, ::1] uid          # [workload, byte] metadata.uid, padded with 0: the last tie-break
    cdef public index_t[::1] pod_set_start   # first pod set of the workload
    cdef public index_t[::1] pod_set_length
    cdef public index_t[::1] slot_start      # first slot of the workload
    cdef public index_t[::1] slot_length

    # [local queue]
    cdef public double[::1] local_queue_usage  # past use, by which usage-based ClusterQueues order (QC-14)

    # progress of the flavor scan (QP-502)
    cdef public int64_t[::1] tried_cycle     # cycle in which it was recorded, NONE without a record
    cdef public int64_t[::1] tried_generation  # allocatable generation of the ClusterQueue then
    cdef public index_t[::1] tried_shape

    # where it is queued, kept by Pending
    cdef uint8_t[::1] place                  # Place
    cdef index_t[::1] position               # index in the heap or in the parked list of its ClusterQueue
    cdef index_t[::1] placed_in              # ClusterQueue whose heap or list holds it
    cdef index_t[::1] counted_shape          # class under which the heap counts it

    # [pod set]: facts of the spec alone, so workloads of one layout share one range
    cdef public index_t[::1] pod_set_name    # interned name, for decisions
    cdef public index_t[::1] request_class   # row of the request table
    cdef public index_t[::1] eligibility     # row of Flavors.eligible
    cdef public index_t[::1] group           # pod sets of a workload with the same number are placed as one (QP-410)
    cdef public int64_t[::1] count           # pods, after reclaim (QC-61)
    cdef public int64_t[::1] full_count      # pods in the spec
    cdef public int64_t[::1] min_count       # least pods for partial admission, NONE without (QP-531)
    cdef public index_t[::1] pod_set_slot    # its first slot, counted from slot_start of the workload
    cdef public index_t[::1] pod_set_slots   # its number of slots: one a request, and one for `pods`

    # [request class]: requests of one pod, in the order of resource_rank
    cdef public index_t[::1] request_start
    cdef public index_t[::1] request_length
    cdef public index_t[::1] request_resource
    cdef public amount_t[::1] request_amount  # of one pod, never negative (QP-104)

    # [slot]
    cdef public index_t[::1] slot_resource
    cdef public index_t[::1] slot_pod_set    # its pod set, counted within the workload
    cdef public index_t[::1] slot_tried      # recorded flavor index, START_OVER at the last, NEVER_TRIED without
    cdef public index_t[::1] slot_flavor     # flavor that is booked, NONE while pending or without one
    cdef public amount_t[::1] slot_amount    # amount that is booked

    cdef int write_row(
        self, index_t row, index_t queue, index_t local_queue, index_t namespace, index_t shape, int64_t priority,
        int64_t timestamp, int64_t requeue_at, bint requeue_blocked, bint invalid, bint checks_failed, str uid,
        index_t pod_set_start, index_t pod_set_length, index_t slot_start, bint keep_progress
    ) except -1
    cdef int write_uid(self, index_t row, str uid) except -1
    cdef bint uid_before(self, index_t a, index_t b) noexcept nogil
    cdef bint before(self, index_t a, index_t b) noexcept nogil
    cdef bint has_pending_flavors(self, index_t workload) noexcept nogil
    cdef void drop_progress(self, index_t workload) noexcept nogil
    cdef bint backoff_is_over(self, index_t workload, int64_t now) noexcept nogil
    cdef int check(
        self, Py_ssize_t nodes, Py_ssize_t flavors, Py_ssize_t resources, Py_ssize_t eligibility_classes,
        Py_ssize_t namespaces
    ) except -1
