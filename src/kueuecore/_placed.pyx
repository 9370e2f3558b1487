"""Where the pods of a workload were placed, or why they were not. See the .pxd."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from kueuecore._leaves cimport Counts
from kueuecore._levels cimport Search, Shares
from kueuecore._requests cimport NOT_ENOUGH_ROOM, PLACED, PlacementRequest, level_of
from kueuecore._topology cimport Topologies
from kueuecore._trees cimport Tree
from kueuecore._types cimport NONE, index_t

ERRORS = (
    "PLACED", "NOT_ENOUGH_ROOM", "LEVEL_MISSING", "LEVEL_UNKNOWN", "SLICE_LEVEL_UNKNOWN", "SLICE_ABOVE_MAIN",
    "SLICE_SIZE_MISSING", "LAYER_UNKNOWN", "LAYER_NOT_LOWER", "LAYER_NOT_DIVIDING", "NO_DOMAINS", "INVALID_FILTER",
    "STALE_DOMAIN", "NO_REPLACEMENT", "TOO_MANY_IN_GROUP",
)


cdef class PlacementResult:
    """Results of one placement at a time; the next one overwrites them."""

    def __cinit__(self, Topologies topologies not None, *args):
        self.topologies = topologies

    def __dealloc__(self):
        free(self.placed)
        free(self.domains)
        free(self.failure.excluded)

    cdef int begin(self, Py_ssize_t count) except -1 nogil:
        """Room for the results of so many requests, none of them placed."""
        cdef PlacedPodSet* grown
        if count > self.placed_capacity:
            grown = <PlacedPodSet*> realloc(self.placed, count * sizeof(PlacedPodSet))
            if grown == NULL:
                with gil:
                    raise MemoryError("placement")
            self.placed = grown
            self.placed_capacity = count
        memset(self.placed, 0, count * sizeof(PlacedPodSet))
        self.domain_count = 0
        self.failure.code = PLACED
        self.failure.request = self.failure.workers = NONE
        self.failure.tree = NONE
        return 0

    cdef int _emit(self, index_t number, Shares* shares, bint leaders) except -1 nogil:
        """Shares as the result of a request: pods of the workers, or where the leader stands."""
        cdef Py_ssize_t item, capacity = self.domain_count + shares.length
        cdef PlacedDomain* grown
        cdef int64_t pods
        if capacity > self.domain_capacity:
            capacity += capacity // 2 + 64
            grown = <PlacedDomain*> realloc(self.domains, capacity * sizeof(PlacedDomain))
            if grown == NULL:
                with gil:
                    raise MemoryError("placement")
            self.domains = grown
            self.domain_capacity = capacity
        self.placed[number].first = self.domain_count
        for item in range(shares.length):
            pods = shares.items[item].leaders if leaders else shares.items[item].pods
            if pods != 0:
                self.domains[self.domain_count].leaf = shares.items[item].domain
                self.domains[self.domain_count].padding = 0
                self.domains[self.domain_count].count = pods
                self.domain_count += 1
        self.placed[number].length = self.domain_count - self.placed[number].first
        self.placed[number].placed = True
        return 0

    cdef int _fail(self, index_t number, index_t tree, int32_t code, int64_t first, int64_t second) except -1 nogil:
        """Note a failure, unless an earlier pod set has failed too (TP-612)."""
        if self.failure.code != PLACED and self.failure.request <= number:
            return 0
        self.failure.code = code
        self.failure.request = number
        self.failure.workers = number
        self.failure.tree = tree
        self.failure.first = first
        self.failure.second = second
        self.failure.in_slices = False
        self.failure.leaves = 0
        self.failure.exclusion_count = 0
        if 0 <= tree < self.topologies.tree_count:
            self.failure.leaves = self.topologies.trees[tree].live
        if self.excluded_capacity < self.topologies.width + 1:
            self._reserve_excluded(self.topologies.width + 1)
        memset(self.failure.excluded, 0, (self.topologies.width + 1) * sizeof(int64_t))
        memset(self.failure.layer_fitted, 0, sizeof(self.failure.layer_fitted))
        memset(self.failure.layer_needed, 0, sizeof(self.failure.layer_needed))
        return 1

    cdef int _reserve_excluded(self, Py_ssize_t count) except -1 nogil:
        cdef int64_t* grown = <int64_t*> realloc(self.failure.excluded, count * sizeof(int64_t))
        if grown == NULL:
            with gil:
                raise MemoryError("placement")
        self.failure.excluded = grown
        self.excluded_capacity = count
        return 0

    cdef int _fail_for_room(self, PlacementRequest* request, index_t number, index_t workers, Counts* counts,
                            Search* search) except -1 nogil:
        """Note what fitted and what stood in the way (TP-1001, TP-1002)."""
        cdef Tree* tree = &self.topologies.trees[request.tree]
        cdef Py_ssize_t width = self.topologies.width, best, layer
        if not self._fail(number, request.tree, NOT_ENOUGH_ROOM, search.fitted, search.need):
            return 0
        self.failure.workers = workers
        self.failure.in_slices = counts.shape.slice_size != 1
        if self.excluded_capacity < counts.codes + width + 1:
            self._reserve_excluded(counts.codes + width + 1)
        self.failure.exclusion_count = counts.codes
        memcpy(self.failure.excluded, counts.excluded, counts.codes * sizeof(int64_t))
        memcpy(&self.failure.excluded[counts.codes], counts.scarce, width * sizeof(int64_t))
        self.failure.excluded[counts.codes + width] = counts.outside
        if request.layers > 1:
            best = most_slices(counts, tree, search.level)
            for layer in range(min(request.layers, 3)):
                self.failure.layer_needed[layer] = max(request.count, 0) // request.layer_size[layer]
                self.failure.layer_fitted[layer] = slices_below(
                    counts, tree, search.level, best, level_of(tree,
                                                               request.layer_key[layer]), request.layer_size[layer])
        return 0

    def _failure(self):
        """The fields of PlacementFailure by name, None when all were placed."""
        cdef Py_ssize_t codes = self.failure.exclusion_count, width = self.topologies.width
        if self.failure.code == PLACED:
            return None
        return {
            "code": ERRORS[self.failure.code],
            "request": self.failure.request,
            "workers": self.failure.workers,
            "tree": self.failure.tree,
            "first": self.failure.first,
            "second": self.failure.second,
            "in_slices": bool(self.failure.in_slices),
            "leaves": self.failure.leaves,
            "excluded": {code: self.failure.excluded[code] for code in range(codes) if self.failure.excluded[code]},
            "scarce": {
                resource: self.failure.excluded[codes + resource]
                for resource in range(width) if self.failure.excluded[codes + resource]
            },
            "outside": self.failure.excluded[codes + width],
            "layer_fitted": [self.failure.layer_fitted[layer] for layer in range(3)],
            "layer_needed": [self.failure.layer_needed[layer] for layer in range(3)],
        }


cdef PlacementRequest* read_requests(Topologies topologies, requests, int view) except NULL:
    """Requests given as mappings, in memory of their own. Raises ValueError for a row that does not exist."""
    cdef Py_ssize_t number = 0
    cdef PlacementRequest* list
    cdef PlacementRequest* row
    topologies.check()
    if not 0 <= view <= 1:
        raise ValueError(f"view: {view}, expected 0 or 1")
    list = <PlacementRequest*> calloc(len(requests) + 1, sizeof(PlacementRequest))
    if list == NULL:
        raise MemoryError("placement")
    try:
        for number, request in enumerate(requests):
            row = &list[number]
            row.tree = request["tree"]
            row.pods = request["pods"]
            row.count = request["count"]
            row.pod_set = request.get("pod_set", number)
            row.group = request.get("group", -2 - number)
            row.filter = request.get("filter", 0)
            row.level_key = request.get("level_key", NONE)
            row.bare_level_key = request.get("bare_level_key", row.level_key)
            row.required = request.get("required", False)
            row.unconstrained = request.get("unconstrained", False)
            layers = request.get("layers", ())
            row.layers = len(layers)
            if row.layers > 3:
                raise ValueError(f"layers: {len(layers)}, expected at most 3")
            for layer, (key, size) in enumerate(layers):
                row.layer_key[<int> layer] = key
                row.layer_size[<int> layer] = size
            row.previous_workload = request.get("previous_workload", NONE)
            row.previous_pod_set = request.get("previous_pod_set", row.pod_set)
            row.unhealthy_place = request.get("unhealthy_place", NONE)
            row.keep = request.get("keep", False)
            if not 0 <= row.pods < topologies.pods_start.shape[0]:
                raise ValueError(f"pods: {row.pods}, expected a class of {topologies.pods_start.shape[0]}")
            topologies.tree_at(row.tree)
    except BaseException:
        free(list)
        raise
    return list


cdef Py_ssize_t most_slices(Counts* counts, Tree* tree, int level) noexcept nogil:
    """The domain of a level with most slices, the first of equals."""
    cdef Py_ssize_t domain, best = NONE
    for domain in range(tree.levels[level].count):
        if tree.levels[level].nodes[domain] > 0 and (
            best == NONE or counts.levels[level].slices[domain] > counts.levels[level].slices[best]
        ):
            best = domain
    return best


cdef int64_t slices_below(Counts* counts, Tree* tree, int level, Py_ssize_t domain, int below,
                          int64_t size) noexcept nogil:
    """Slices of a size that the domains of a lower level hold within one domain."""
    cdef Py_ssize_t first = domain, end = domain + 1, last
    cdef int64_t slices = 0
    while level < below and first < end:
        last = end - 1
        first = tree.levels[level].first_child[first]
        end = tree.levels[level].child_end[last]
        level += 1
    for domain in range(first, end):
        slices += counts.levels[below].pods[domain] // size
    return slices
