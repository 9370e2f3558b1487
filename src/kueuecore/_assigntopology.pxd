"""From flavors to places: which pod sets of an assignment need a topology, and where they would stand (TP-602..613)."""

from kueuecore._assign cimport Assigner
from kueuecore._placement cimport PlacedDomain, PlacementRequest, Placer
from kueuecore._podtopology cimport PodTopology
from kueuecore._secondpass cimport SecondPass
from kueuecore._topology cimport Topologies
from kueuecore._types cimport ReasonCode, index_t


cdef class TopologyAssigner(Assigner):
    cdef readonly Placer placer
    cdef readonly Topologies topologies
    cdef readonly PodTopology pod_topology
    cdef public bint placing                  # gate TopologyAwareScheduling
    cdef public bint elastic_topology         # gate ElasticJobsViaWorkloadSlicesWithTAS

    # the workload at hand
    cdef bint second_pass                     # it holds its quota, and only places are looked for (TP-1601)
    cdef Py_ssize_t unhealthy_first, unhealthy_end  # its unhealthy nodes in `again`, none where both are equal
    cdef readonly SecondPass again
    cdef bint keep_places                     # its stored assignment is the result (TP-1503)

    cdef PlacementRequest* placements         # [placement_count] what is to be placed
    cdef Py_ssize_t placement_count, placement_capacity
    cdef PlacedDomain* domains                # [domain_count] of the results
    cdef Py_ssize_t domain_count, domain_capacity

    cdef bint asks(self, Py_ssize_t row, index_t queue) noexcept nogil
    cdef bint asks_any(self, index_t workload, index_t queue) noexcept nogil
    cdef bint has_places(self, index_t workload, Py_ssize_t pod_set) noexcept nogil
    cdef bint refuse_elastic(self, index_t workload, Py_ssize_t pod_set) except -1 nogil
    cdef int collect_placements(self, index_t workload, index_t queue) except -1 nogil
    cdef index_t tree_of(self, index_t workload, Py_ssize_t pod_set, ReasonCode* error) noexcept nogil
    cdef index_t replaced_place(self, index_t tree) noexcept nogil
    cdef bint is_placed_soundly(self, index_t workload, Py_ssize_t pod_set) noexcept nogil
    cdef int store_places(self) except -1 nogil
    cdef int renew_places(self, index_t workload, index_t queue, int view) except -1 nogil
    cdef void prefer_preemption(self, Py_ssize_t pod_set) noexcept nogil
    cdef int note_failure(self) except -1 nogil
