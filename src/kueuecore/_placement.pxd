"""Where the pods of a workload would stand: requests in, domains or the reason why not out.

Source: TP-605, TP-802..804, TP-1101..1104, TP-1301..1305, TP-1501..1508.
"""

from libc.stdint cimport int32_t, uint8_t

from kueuecore._balanced cimport Balancing
from kueuecore._counts cimport CountCache
from kueuecore._journal cimport Journal
from kueuecore._leaves cimport Counts, Shape
from kueuecore._levels cimport Heap, Search, Shares
from kueuecore._placed cimport PlacedDomain, PlacedPodSet, PlacementFailure, PlacementResult
from kueuecore._requests cimport (
    INVALID_FILTER, LAYER_NOT_DIVIDING, LAYER_NOT_LOWER, LAYER_UNKNOWN, LEVEL_MISSING, LEVEL_UNKNOWN, NO_DOMAINS,
    NO_REPLACEMENT, NOT_ENOUGH_ROOM, PLACED, SLICE_ABOVE_MAIN, SLICE_LEVEL_UNKNOWN, SLICE_SIZE_MISSING, STALE_DOMAIN,
    TOO_MANY_IN_GROUP, PlacementError, PlacementRequest,
)
from kueuecore._topology cimport Topologies
from kueuecore._types cimport index_t

cdef class Placer(PlacementResult):
    cdef readonly Journal journal
    cdef public bint mixed_profile       # gate TASProfileMixed
    cdef public bint balanced            # gate TASBalancedPlacement
    cdef public bint overlapping         # gate TASHandleOverlappingFlavors (assumptions within a workload, TP-1104)
    cdef public bint prefers_affinity    # gate TASRespectNodeAffinityPreferred

    cdef readonly CountCache cache
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
    cdef int _assume(self, PlacementRequest* request, Shares* shares, bint leaders, int view) except -1 nogil
    cdef int _assume_result(self, PlacementRequest* request, Shares* shares, bint leaders, int view) except -1 nogil
