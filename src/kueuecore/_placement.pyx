"""Where the pods of a workload would stand."""

from kueuecore._journal cimport Journal
from kueuecore._topology cimport Topologies


cdef class Placer:
    """Places the pod sets of one workload at a time."""

    def __cinit__(self, Topologies topologies not None, Journal journal not None):
        self.topologies = topologies
        self.journal = journal
        self.mixed_profile = True
        self.overlapping = True
        self.multi_layer = True

    cdef bint place(self, PlacementRequest* requests, Py_ssize_t count, int view) except -1 nogil:
        with gil:
            raise NotImplementedError("placement")

    cdef bint can_place(self, PlacementRequest* requests, Py_ssize_t count, int view) except -1 nogil:
        with gil:
            raise NotImplementedError("placement")
