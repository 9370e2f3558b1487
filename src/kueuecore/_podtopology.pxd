"""What pod sets ask of a topology, and which flavors can give it (TP-203, TP-204, TP-601..608).

Rows of pod sets are those of Workloads; the tables may end before them while nobody asks for a topology.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._placement cimport PlacementRequest
from kueuecore._types cimport index_t

# How a pod set asks (TP-601, TP-605, TP-606).
cdef enum TopologyKind:
    ASKS_NOTHING = 0         # only a ClusterQueue whose flavors all have a topology places it (TP-602)
    ASKS_REQUIRED = 1
    ASKS_PREFERRED = 2
    ASKS_UNCONSTRAINED = 3
    ASKS_SLICES = 4          # only that slices stay together: main level is the highest
    ASKS_UNCLEAR = 5         # explicit, but names no level: no flavor has it

# Whether a flavor has a topology.
cdef enum TopologySupport:
    NO_TOPOLOGY = 0
    TOPOLOGY_UNKNOWN = 1     # it names one that is not there
    HAS_TOPOLOGY = 2

# Why a flavor with a topology gives no assignment yet (TP-608).
cdef enum TopologyDelay:
    NO_DELAY = 0
    DELAYED_ONCE = 1         # until a ProvisioningRequest check is ready
    DELAYED_ALWAYS = 2       # MultiKueue: the worker cluster places


cdef class PodTopology:
    # [pod set]
    cdef public index_t[::1] request         # row of the request table; 0 asks for nothing
    cdef public index_t[::1] pods            # row of Topologies' pod table
    cdef public index_t[::1] pod_filter      # row of filter_row

    # [request]
    cdef public uint8_t[::1] kind            # TopologyKind
    cdef public uint8_t[::1] unconstrained   # says so itself, whatever level it names
    cdef public index_t[::1] level_key       # number of the main level's label, NONE without
    cdef public int32_t[::1] layers          # slice layers, outermost first
    cdef public index_t[:, ::1] layer_key    # [request, layer]
    cdef public int32_t[:, ::1] layer_size   # [request, layer] pods of a slice, 0 where the size is missing
    cdef readonly Py_ssize_t requests

    # [flavor]
    cdef public uint8_t[::1] support         # TopologySupport
    # [pod filter, flavor]
    cdef public index_t[:, ::1] filter_row   # row of Topologies.match, NONE where it cannot be read
    # [node]
    cdef public uint8_t[::1] has_topology    # some flavor of the ClusterQueue has a topology
    # [node, flavor]
    cdef public uint8_t[:, ::1] delay        # TopologyDelay

    cdef int kind_of(self, Py_ssize_t pod_set) noexcept nogil
    cdef int support_of(self, index_t flavor) noexcept nogil
    cdef bint has_levels(self, Py_ssize_t pod_set, index_t* level_key, int32_t depth) noexcept nogil
    cdef void fill(self, Py_ssize_t pod_set, index_t flavor, bint implied, index_t lowest_key, index_t highest_key,
                   PlacementRequest* request) noexcept nogil
