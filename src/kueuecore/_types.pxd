"""Scalar types and codes of the kernel, decided in this one place."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

ctypedef int64_t amount_t    # quota, usage or request: milli-units for cpu, whole units for all else (QP-101)
ctypedef int32_t index_t     # a row or a column of a table; NONE where there is none

cdef enum:
    NONE = -1                # no row, no column, no limit on a row
    NEVER_TRIED = -2         # no recorded flavor index of a resource (QP-501)

# How one flavor can serve one resource, worst first (QP-403).
cdef enum Possibility:
    NO_FIT = 0
    NO_CANDIDATES = 1        # preemption is allowed, but finds no victims now
    PREEMPT = 2              # victims in the own ClusterQueue
    RECLAIM = 3              # all victims in the cohort
    FIT = 4

# What an assignment as a whole means, worst first (QP-403, QC-94).
cdef enum Mode:
    MODE_NO_FIT = 0
    MODE_PREEMPT = 1
    MODE_DEFERRED_FIT = 2
    MODE_FIT = 3

# Where a workload stands in its queue (QC-3).
cdef enum Place:
    NOWHERE = 0              # not queued: admitted, finished, held, unknown queue
    HEAP = 1                 # waits for a pop
    PARKED = 2               # inadmissible: waits for an event
    INFLIGHT = 3             # popped and being scheduled

# Why a workload goes back to its queue (QC-22).
cdef enum Requeue:
    REQUEUE_GENERIC = 0
    REQUEUE_FAILED_AFTER_NOMINATION = 1
    REQUEUE_NAMESPACE_MISMATCH = 2
    REQUEUE_NO_FIT = 3
    REQUEUE_NO_CANDIDATES = 4
    REQUEUE_PENDING_PREEMPTION = 5
    REQUEUE_PREEMPTION_FAILED = 6
    REQUEUE_PREEMPTION_GATED = 7
    REQUEUE_PENDING_MIGRATION = 8

# What a cycle did with a head (QC-92, QC-145).
cdef enum Outcome:
    ADMITTED = 0             # assumed: its quota is booked
    REFUSED_NO_FIT = 1       # no flavor fits (QC-122)
    REFUSED_NO_CANDIDATES = 2  # needs preemption and finds no victims (QC-123)
    SKIPPED_NO_LONGER_FITS = 3  # an earlier entry of the cycle took the quota (QC-128)
    REFUSED_CHECKS = 4       # an admission check is Retry or Rejected (QC-92.2)
    REFUSED_NAMESPACE_MISSING = 5  # QC-77.1
    REFUSED_NAMESPACE_MISMATCH = 6  # QC-77.2
    REFUSED_INVALID = 7      # requests above limits, or a LimitRange is violated (QC-78, QC-80)
    REFUSED_INACTIVE = 8     # its ClusterQueue is not in the snapshot: below a cohort cycle (QC-92.3)
    PREEMPTING = 9           # victims are being evicted for it (QC-131)
    SKIPPED_OVERLAP = 10     # its victims are already those of another entry (QC-127)
    DEFERRED = 11            # fits once the victims of others are gone (QC-126)
    REFUSED_GATED = 12       # needs preemption, and a preemption gate is closed (QC-125)
    EVICTED_NODE_FAILURE = 13  # no place instead of a failed node's: it is evicted (TP-1509)
    DISPLACED = 14           # a second pass beside a head of the same ClusterQueue, under fair sharing (TP-1109)

# Why a flavor was passed over; the fields of a Reason say with which numbers (QP-411, QP-420..435).
cdef enum ReasonCode:
    REASON_UNDECLARED_RESOURCE = 0   # resource in no resource group of the ClusterQueue
    REASON_NOT_ELIGIBLE = 1          # flavor missing, a taint, a node selector or affinity
    REASON_AFFINITY_ERROR = 2        # an affinity term cannot be evaluated: the search ends
    REASON_EXCEEDS_MAX_QUOTA = 3     # assumed, requested, capacity
    REASON_WAITING_FOR_QUOTA = 4     # missing
    REASON_NOT_NOMINATED = 5         # a recomputation keeps to the flavors of the nomination (QP-424)
    REASON_NO_TOPOLOGY_DATA = 6      # no flavor of the ClusterQueue has a topology (QP-917, TP-604)
    REASON_TOPOLOGY_UNSUPPORTED = 7  # the flavor has no topology, and the pod set asks for one (TP-603)
    REASON_TOPOLOGY_ONLY = 8         # the flavor has one, and the pod set asks for none
    REASON_TOPOLOGY_UNKNOWN = 9      # the flavor's Topology is not there
    REASON_LEVEL_MISSING = 10        # the topology lacks a level that the pod set names
    REASON_NOT_PLACED = 11           # resource: PlacementError; first, second: its numbers; third: leaves, <0 in slices
    REASON_NODES_EXCLUDED = 12       # first: how many; second: Exclusion, NONE by `resource`, NONE - 1 outside a domain
    REASON_LAYER_NOT_PLACED = 13     # first, second: fitted and needed slices of layer number `third`
    REASON_NO_TOPOLOGY_FLAVOR = 14   # none of the assigned flavors has a topology (TP-604)
    REASON_SEVERAL_TOPOLOGIES = 15   # flavors with different topologies were assigned
    REASON_OTHER_FLAVOR_OF_SLICE = 16  # the replaced slice has another flavor, number `first` (JS-603)
    REASON_ELASTIC_REQUIRED = 17     # an elastic job may not ask for a required level (TP-604)
    REASON_ELASTIC_PREFERRED = 18    # nor for a preferred one

# Whether pods of a class may run on a flavor (QP-421..423).
cdef enum Eligibility:
    NOT_ELIGIBLE = 0
    ELIGIBLE = 1
    ELIGIBILITY_ERROR = 2

# Whether the namespace of a workload may use a ClusterQueue (QC-77).
cdef enum NamespaceMatch:
    NAMESPACE_MISSING = 0
    NAMESPACE_MISMATCH = 1
    NAMESPACE_MATCHES = 2
