"""The decision on one entry of a cycle: does it still fit, whom does it preempt, what does it reserve (QC-115..131)."""

from libc.stdint cimport int64_t

from kueuecore._fairpreempt cimport FairPreemptor
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held
from kueuecore._journal cimport Journal
from kueuecore._nominate cimport Nominator
from kueuecore._order cimport Entry
from kueuecore._pending cimport Pending
from kueuecore._placement cimport Placer
from kueuecore._podtopology cimport PodTopology
from kueuecore._secondpass cimport SecondPass
from kueuecore._topology cimport Topologies
from kueuecore._tournament cimport Tournament
from kueuecore._types cimport index_t
from kueuecore._usage cimport Usage
from kueuecore._victims cimport Victims
from kueuecore._workloads cimport Workloads


cdef class Processor:
    cdef readonly Forest forest
    cdef readonly Flavors flavors
    cdef readonly Workloads workloads
    cdef readonly Pending pending
    cdef readonly Nominator assigner
    cdef readonly Journal journal
    cdef readonly Held held
    cdef readonly FairPreemptor preemptor
    cdef readonly Tournament tournament
    cdef readonly Topologies topologies
    cdef readonly PodTopology pod_topology
    cdef readonly Placer placer
    cdef readonly SecondPass second_pass
    cdef Usage usage
    cdef readonly int64_t cycle              # cycles so far; the first is 1
    cdef public index_t[::1] queue_order     # forest rows of active ClusterQueues, in the order they are asked
    cdef public bint preserve_scan_progress  # gate FlavorFungibilityPreserveScanProgress
    cdef public bint sort_by_priority        # gate PrioritySortingWithinCohort
    cdef public bint preemptors_first        # gate PrioritizePreemptorWorkloads
    cdef public bint recompute_on_overlap    # gate RecomputeAssignmentUponPreemptionTargetsOverlap
    cdef public bint recompute_for_topology  # gate TASRecomputeAssignmentWithinSchedulingCycle
    cdef public bint preemption_gates        # gate ConcurrentAdmission or MultiKueueOrchestratedPreemption

    cdef Entry* entries                      # [head] of the last cycle
    cdef index_t* order                      # [nominated] entry numbers in processing order
    cdef index_t* scratch
    cdef Py_ssize_t entry_count, entry_capacity, nominated_count
    cdef char* arena                         # results, choices, usage and reasons of the entries
    cdef Py_ssize_t arena_length, arena_capacity
    cdef bint reserved                       # the cycle booked quota for one that was not admitted
    cdef bint progressed                     # some recorded flavor scan moved in the cycle
    cdef int64_t now                         # ns since the epoch

    cdef readonly Victims victims            # chosen in the cycle so far

    cdef void record_progress(self, index_t workload, index_t queue) noexcept nogil
    cdef int process(self, Entry* entry) except -1 nogil
    cdef int take_assignment(self, Entry* entry) except -1 nogil
    cdef int recompute(self, Entry* entry, bint without_victims) except -1 nogil
    cdef int check_fit(self, Entry* entry) except -1 nogil
    cdef bint has_quota(self, Entry* entry) noexcept nogil
    cdef bint has_places(self, Entry* entry) noexcept nogil
    cdef int64_t new_pods(self, Entry* entry, Py_ssize_t pod_set, index_t place, int64_t count) noexcept nogil
    cdef int book_entry(self, Entry* entry) except -1 nogil
    cdef int book_places(self, Entry* entry) except -1 nogil
    cdef int reserve_capacity(self, Entry* entry) except -1 nogil
    cdef Py_ssize_t keep(self, const void* data, Py_ssize_t size) except -1 nogil
