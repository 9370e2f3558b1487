"""Where the pods of a workload would stand: counts of leaves and domains, level search, descent (TP-701..813)."""

from libc.stdint cimport int32_t, int64_t

from kueuecore._journal cimport Journal
from kueuecore._topology cimport Topologies
from kueuecore._types cimport index_t

# Why pods were not placed; with which numbers, a PlacementFailure says (TP-1001..1004).
cdef enum PlacementError:
    PLACED = 0
    NOT_ENOUGH_ROOM = 1      # fitted, needed
    LEVEL_MISSING = 2        # the request names no level (TP-802)
    LEVEL_UNKNOWN = 3        # first: number of the key
    SLICE_LEVEL_UNKNOWN = 4  # first: number of the key
    SLICE_ABOVE_MAIN = 5     # first, second: both keys (TP-803)
    SLICE_SIZE_MISSING = 6
    LAYER_UNKNOWN = 7        # first: number of the key
    LAYER_NOT_LOWER = 8      # first, second: both keys
    LAYER_NOT_DIVIDING = 9   # first, second: both sizes
    NO_DOMAINS = 10          # first: number of the key
    INVALID_FILTER = 11      # selector, affinity or PodSet update cannot be read (TP-701, TP-702)
    STALE_DOMAIN = 12        # first: place that is no leaf any more (TP-1504)
    NO_REPLACEMENT = 13      # first: place of the node (TP-1507)
    TOO_MANY_IN_GROUP = 14   # three or more pod sets in a group (TP-2011)


cdef struct PlacementRequest:        # one pod set
    index_t tree                     # row of its flavor
    index_t pod_set                  # within the workload; requests stand in this order
    index_t group                    # pod sets with the same number are placed together
    index_t pods                     # row of the pod table
    index_t filter                   # row of `match`; NONE: it cannot be read (INVALID_FILTER)
    int64_t count
    index_t level_key                # main level (TP-605), NONE without
    index_t bare_level_key           # main level were there no slices (TP-1506), NONE without; only read in a repair
    bint required
    bint unconstrained               # in the sense of profiles (TP-606)
    int32_t layers                   # of slices, outermost first (TP-204)
    index_t[3] layer_key
    int32_t[3] layer_size            # 0: the size is missing
    # a previous assignment of the pod set (elastic, TP-1301) or the one to repair (TP-1501): ranges of the caller's bookings
    index_t previous_workload        # row whose bookings of the pod set are meant, NONE without
    index_t previous_pod_set
    index_t unhealthy_place          # place of unhealthyNodes[0] (TP-1504), NONE: not a repair
    bint keep                        # the stored assignment is the result (TP-1503)


cdef struct PlacedDomain:
    index_t leaf
    int32_t padding
    int64_t count


cdef struct PlacedPodSet:            # [request]
    Py_ssize_t first                 # its domains in `domains`, in order of level values
    Py_ssize_t length
    bint placed


cdef struct PlacementFailure:
    int32_t code                     # PlacementError
    index_t request                  # number of the request that failed
    index_t tree
    int64_t first                    # fitted pods or slices, or as PlacementError says
    int64_t second                   # needed ones
    bint in_slices                   # the unit of both
    Py_ssize_t leaves                # leaves with nodes (TP-703)
    # how many leaves each exclusion took: by filter code, then by limiting resource, then by the restriction to a domain
    int64_t* excluded                # [exclusion_count + width + 1], valid until the next placement
    Py_ssize_t exclusion_count
    # fitted and needed slices of each layer, for the words of several layers (TP-1002)
    int64_t[3] layer_fitted
    int64_t[3] layer_needed


cdef class Placer:
    cdef readonly Topologies topologies
    cdef readonly Journal journal
    cdef public bint mixed_profile       # gate TASProfileMixed
    cdef public bint balanced            # gate TASBalancedPlacement
    cdef public bint overlapping         # gate TASHandleOverlappingFlavors (assumptions within a workload, TP-1104)
    cdef public bint multi_layer         # gate TASMultiLayerTopology
    cdef public bint prefers_affinity    # gate TASRespectNodeAffinityPreferred

    # result of the last placement
    cdef PlacedPodSet* placed            # [request]
    cdef PlacedDomain* domains           # [domain_count]
    cdef Py_ssize_t domain_count
    cdef PlacementFailure failure        # code PLACED when all were placed

    # Place all requests of a workload in order of tree rank, group by group (TP-1101); usage is as before afterwards.
    # Returns whether all were placed. Results found before a failure stay.
    cdef bint place(self, PlacementRequest* requests, Py_ssize_t count, int view) except -1 nogil
    # Whether `place` would succeed, for as little work as that takes: asked after each simulated eviction.
    cdef bint can_place(self, PlacementRequest* requests, Py_ssize_t count, int view) except -1 nogil
