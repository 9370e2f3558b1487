"""Balanced placement of preferred requests (TP-901..910, gate TASBalancedPlacement)."""

from kueuecore._leaves cimport Counts
from kueuecore._levels cimport Heap, Search, Shares
from kueuecore._topology cimport Topologies


cdef struct Balancing:       # memory of it, kept from one placement to the next
    Counts pruned            # the set at hand
    Counts best              # the best one so far


cdef int place_balanced(Topologies table, Counts* counts, Search* search, Balancing* balancing, Heap* heap,
                        Shares* shares, Shares* spare) except -1 nogil
cdef void forget_balancing(Balancing* balancing) noexcept nogil
