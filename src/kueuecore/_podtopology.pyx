"""Rows of what pod sets ask of a topology. See the .pxd."""

import numpy as np

from libc.stdint cimport int32_t

from kueuecore._placement cimport PlacementRequest
from kueuecore._topology cimport MOST_LAYERS
from kueuecore._types cimport NONE, index_t

from kueuecore._forest import _grown


cdef class PodTopology:
    """Written by the border, read when pods are placed."""

    def __init__(self):
        for name in ("request", "pods", "pod_filter", "level_key", "layers"):
            setattr(self, name, np.zeros(0, np.int32))
        for name in ("kind", "unconstrained", "support", "has_topology"):
            setattr(self, name, np.zeros(0, np.uint8))
        self.layer_key = np.zeros((0, MOST_LAYERS), np.int32)
        self.layer_size = np.zeros((0, MOST_LAYERS), np.int32)
        self.filter_row = np.zeros((0, 0), np.int32)
        self.delay = np.zeros((0, 0), np.uint8)
        self.requests = 0
        self.add_request(ASKS_NOTHING, False, NONE, [])

    def reserve(self, Py_ssize_t pod_sets=0, Py_ssize_t nodes=0, Py_ssize_t flavors=0, Py_ssize_t pod_filters=0):
        """Make room for so many rows of each table; kept values stay, new ones are 0 and new filters unreadable."""
        for names, wanted in (
            (("request", "pods", "pod_filter"), pod_sets), (("support",), flavors), (("has_topology",), nodes),
        ):
            if wanted > getattr(self, names[0]).shape[0]:
                for name in names:
                    setattr(self, name, _grown(np.asarray(getattr(self, name)), (wanted + wanted // 2 + 4,)))
        for name, shape, fill in (
            ("filter_row", (pod_filters, flavors), NONE), ("delay", (nodes, flavors), NO_DELAY),
        ):
            old = np.asarray(getattr(self, name))
            if shape[0] > old.shape[0] or shape[1] > old.shape[1]:
                new = np.full([max(have, want + want // 2 + 4) if want > have else have
                               for have, want in zip(old.shape, shape, strict=True)], fill, old.dtype)
                new[: old.shape[0], : old.shape[1]] = old
                setattr(self, name, new)

    def add_request(self, int kind, bint unconstrained, index_t level_key, layers):
        """A new row of the request table: a TopologyKind, the main level's key and (key, size) of each slice layer.

        Returns its number. Raises ValueError for too many layers.
        """
        cdef Py_ssize_t row = self.requests, i
        if len(layers) > MOST_LAYERS:
            raise ValueError(f"layers: {len(layers)}, expected at most {MOST_LAYERS}")
        if row == self.kind.shape[0]:
            size = 2 * row + 8
            for name in ("kind", "unconstrained", "level_key", "layers"):
                setattr(self, name, _grown(np.asarray(getattr(self, name)), (size,)))
            for name in ("layer_key", "layer_size"):
                setattr(self, name, _grown(np.asarray(getattr(self, name)), (size, MOST_LAYERS)))
        self.kind[row] = kind
        self.unconstrained[row] = unconstrained
        self.level_key[row] = level_key
        self.layers[row] = <int32_t> len(layers)
        for i, (key, size) in enumerate(layers):
            self.layer_key[row, i] = key
            self.layer_size[row, i] = size
        self.requests += 1
        return row

    def write_pod_set(self, index_t row, index_t request, index_t pods, index_t pod_filter):
        """What one pod set of Workloads' table asks for."""
        if not 0 <= row < self.request.shape[0]:
            raise ValueError(f"pod set {row}: expected 0 to {self.request.shape[0] - 1}")
        if not 0 <= request < self.requests:
            raise ValueError(f"pod set {row}: topology request {request} is no row")
        self.request[row] = request
        self.pods[row] = pods
        self.pod_filter[row] = pod_filter

    cdef int kind_of(self, Py_ssize_t pod_set) noexcept nogil:
        if pod_set >= self.request.shape[0]:
            return ASKS_NOTHING
        return self.kind[self.request[pod_set]]

    cdef int support_of(self, index_t flavor) noexcept nogil:
        return self.support[flavor] if flavor < self.support.shape[0] else NO_TOPOLOGY

    cdef bint has_levels(self, Py_ssize_t pod_set, index_t* level_key, int32_t depth) noexcept nogil:
        """Whether a topology with these levels has every level that the pod set names (TP-603)."""
        cdef index_t row = self.request[pod_set]
        cdef Py_ssize_t i
        if self.kind[row] == ASKS_UNCLEAR:
            return False
        if self.level_key[row] != NONE and not has_key(self.level_key[row], level_key, depth):
            return False
        for i in range(self.layers[row]):
            if not has_key(self.layer_key[row, i], level_key, depth):
                return False
        return True

    cdef void fill(self, Py_ssize_t pod_set, index_t flavor, bint implied, index_t lowest_key, index_t highest_key,
                   PlacementRequest* request) noexcept nogil:
        """What the pod set asks, as placement takes it; tree, group and count are the caller's (TP-605..607)."""
        cdef index_t row = self.request[pod_set]
        cdef int kind = self.kind[row]
        cdef Py_ssize_t i
        request.pods = self.pods[pod_set]
        request.filter = self.filter_row[self.pod_filter[pod_set], flavor]
        request.level_key = self.level_key[row]
        if request.level_key == NONE and (implied or self.unconstrained[row]):
            request.level_key = lowest_key
        request.bare_level_key = request.level_key
        if kind == ASKS_SLICES:
            request.level_key = highest_key
        request.required = kind == ASKS_REQUIRED
        request.unconstrained = implied or self.unconstrained[row] or kind == ASKS_SLICES
        request.layers = self.layers[row]
        for i in range(request.layers):
            request.layer_key[i] = self.layer_key[row, i]
            request.layer_size[i] = self.layer_size[row, i]
        request.previous_workload = NONE
        request.previous_pod_set = NONE
        request.unhealthy_place = NONE
        request.keep = False


cdef bint has_key(index_t key, index_t* keys, int32_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        if keys[i] == key:
            return True
    return False
