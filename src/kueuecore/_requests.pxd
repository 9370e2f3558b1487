"""One pod set to place: what it asks for, resolved against the levels of its tree.

Source: TP-605..606, TP-802..804, TP-1501..1508.
"""

from libc.stdint cimport int32_t, int64_t

from kueuecore._leaves cimport Shape
from kueuecore._levels cimport Search, Shares
from kueuecore._topology cimport BookingList, Topologies
from kueuecore._trees cimport Tree
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
    # an earlier assignment of the pod set, to grow from (TP-1301) or to repair (TP-1501): bookings of a workload
    index_t previous_workload        # row whose bookings of the pod set are meant, NONE without
    index_t previous_pod_set
    index_t unhealthy_place          # place of unhealthyNodes[0] (TP-1504), NONE: not a repair
    bint keep                        # the stored assignment is the result (TP-1503)


cdef struct Complaint:               # the numbers of a PlacementError
    int64_t first
    int64_t second


cdef struct Restriction:             # leaves that may take a replacement (TP-1505)
    bint set
    index_t first
    index_t end


cdef int level_of(Tree* tree, index_t key) noexcept nogil
cdef int32_t resolve(Topologies table, PlacementRequest* request, index_t leader_pods, int view, bint mixed_profile,
                     bint scored, Shape* shape, Search* search, Complaint* complaint) except -1 nogil
cdef index_t read_previous(Topologies table, PlacementRequest* request, index_t without, Shares* shares, int64_t* taken,
                           index_t* stale) except -2 nogil
cdef void restrict_replacement(Tree* tree, PlacementRequest* request, Shares* remaining,
                               Restriction* restriction) noexcept nogil
cdef void sort_and_merge(Shares* shares) noexcept nogil
cdef void truncate(Shares* shares, int64_t pods) noexcept nogil
