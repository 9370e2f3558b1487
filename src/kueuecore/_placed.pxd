"""Where the pods of a workload stand, or with which numbers they were refused; requests and results from Python.

Source: TP-612, TP-1001..1004.
"""

from libc.stdint cimport int32_t, int64_t

from kueuecore._leaves cimport Counts
from kueuecore._levels cimport Search, Shares
from kueuecore._requests cimport PlacementRequest
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


cdef class PlacementResult:
    cdef readonly Topologies topologies

    # result of the last placement
    cdef PlacedPodSet* placed            # [request]
    cdef PlacedDomain* domains           # [domain_count]
    cdef Py_ssize_t domain_count
    cdef PlacementFailure failure        # code PLACED when all were placed

    cdef Py_ssize_t placed_capacity
    cdef Py_ssize_t domain_capacity
    cdef Py_ssize_t excluded_capacity

    cdef int begin(self, Py_ssize_t count) except -1 nogil
    cdef int _fail(self, index_t number, index_t tree, int32_t code, int64_t first, int64_t second) except -1 nogil
    cdef int _fail_for_room(self, PlacementRequest* request, index_t number, index_t workers, Counts* counts,
                            Search* search) except -1 nogil
    cdef int _emit(self, index_t number, Shares* shares, bint leaders) except -1 nogil
    cdef int _reserve_excluded(self, Py_ssize_t count) except -1 nogil


cdef PlacementRequest* read_requests(Topologies topologies, requests, int view) except NULL
