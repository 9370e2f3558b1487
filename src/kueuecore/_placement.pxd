"""Where the pods of a workload would stand: requests in, domains or the reason why not out.

Source: TP-605, TP-802..804, TP-1101..1104, TP-1301..1305, TP-1501..1508.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._balanced cimport Balancing
from kueuecore._counts cimport CountCache
from kueuecore._journal cimport Journal
from kueuecore._leaves cimport Counts, Shape
from kueuecore._levels cimport Heap, Search, Shares
from kueuecore._requests cimport (
    INVALID_FILTER, LAYER_NOT_DIVIDING, LAYER_NOT_LOWER, LAYER_UNKNOWN, LEVEL_MISSING, LEVEL_UNKNOWN, NO_DOMAINS,
    NO_REPLACEMENT, NOT_ENOUGH_ROOM, PLACED, SLICE_ABOVE_MAIN, SLICE_LEVEL_UNKNOWN, SLICE_SIZE_MISSING, STALE_DOMAIN,
    TOO_MANY_IN_GROUP, PlacementError, PlacementRequest,
)
from kueuecore._topology cimport Topologies
from kueuecore._types cimport index_t

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
    index_t request                  # number of the request that failed, the first of its group
    index_t workers                  # number of the request whose levels and layers the numbers below are of
    index_t tree
    int64_t first                    # fitted pods or slices, or as PlacementError says
    int64_t second                   # needed ones
    bint in_slices                   # the unit of both
    Py_ssize_t leaves                # leaves with nodes (TP-703)
    # how many leaves each exclusion took: by filter code, then by limiting resource, then by restriction to a domain
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

    cdef readonly CountCache cache
    cdef Py_ssize_t placed_capacity
    cdef Py_ssize_t domain_capacity
    cdef Py_ssize_t excluded_capacity
    cdef Balancing balancing
    # scratch
    cdef Heap heap
    cdef Shares shares                   # what was found
    cdef Shares spare
    cdef Shares previous                 # an earlier assignment of the workers
    cdef Shares leader_previous
    cdef bint followed                   # something is placed after the group at hand

    # Place all requests of a workload in order of tree rank, group by group (TP-1101); usage is as before afterwards.
    # Returns whether all were placed. Results found before a failure stay.
    cdef bint place(self, PlacementRequest* requests, Py_ssize_t count, int view) except -1 nogil
    # Whether `place` would succeed, for as little work as that takes: asked after each simulated eviction.
    cdef bint can_place(self, PlacementRequest* requests, Py_ssize_t count, int view) except -1 nogil

    cdef bint _run(self, PlacementRequest* requests, Py_ssize_t count, int view, bint probing) except -1 nogil
    cdef bint _run_groups(self, PlacementRequest* requests, Py_ssize_t count, int view, bint probing) except -1 nogil
    cdef bint _place_group(self, PlacementRequest* requests, index_t workers, index_t leader, int view) except -1 nogil
    cdef bint _cannot_fit(self, PlacementRequest* requests, Py_ssize_t count, int view, uint8_t* done) except -1 nogil
    cdef bint _place_or_probe(self, PlacementRequest* requests, index_t workers, index_t leader, int view,
                              bint probing) except -1 nogil
    cdef bint _repair_all(self, PlacementRequest* requests, Py_ssize_t count, Py_ssize_t first) except -1 nogil
    cdef bint _probe(self, PlacementRequest* requests, index_t workers, index_t leader, int view) except -1 nogil
    cdef bint _repair(self, PlacementRequest* requests, index_t number) except -1 nogil
    cdef bint _grow(self, PlacementRequest* requests, index_t workers, index_t leader, int view) except -1 nogil
    cdef bint _keep_previous(self, PlacementRequest* requests, index_t workers, index_t leader,
                             int view) except -1 nogil
    cdef int32_t _find(self, PlacementRequest* request, index_t leader_pods, int view, index_t number,
                       index_t workers, index_t first, index_t end) except -1 nogil
    cdef Counts* _counts_for(self, Shape* shape, index_t first, index_t end) except NULL nogil
    cdef int _fail(self, index_t number, index_t tree, int32_t code, int64_t first, int64_t second) except -1 nogil
    cdef int _fail_for_room(self, PlacementRequest* request, index_t number, index_t workers, Counts* counts,
                            Search* search) except -1 nogil
    cdef int _emit(self, index_t number, Shares* shares, bint leaders) except -1 nogil
    cdef int _assume(self, PlacementRequest* request, Shares* shares, bint leaders, int view) except -1 nogil
    cdef int _assume_result(self, PlacementRequest* request, Shares* shares, bint leaders, int view) except -1 nogil
    cdef int _reserve_excluded(self, Py_ssize_t count) except -1 nogil
    cdef PlacementRequest* _read(self, requests, int view) except NULL
