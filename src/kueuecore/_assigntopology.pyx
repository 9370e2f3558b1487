"""Topology in flavor assignment. See the .pxd."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc

from kueuecore._assign cimport DELAY_PENDING, DELAY_READY, NOT_DELAYED, Assigner
from kueuecore._placement cimport NOT_ENOUGH_ROOM, PlacedDomain, PlacementRequest, Placer
from kueuecore._podtopology cimport (
    ASKS_NOTHING, ASKS_PREFERRED, ASKS_REQUIRED, DELAYED_ALWAYS, DELAYED_ONCE, HAS_TOPOLOGY, NO_TOPOLOGY, PodTopology,
)
from kueuecore._preempt cimport Preemptor
from kueuecore._secondpass cimport SecondPass
from kueuecore._topology cimport AS_EMPTY, AS_USED, BookingList
from kueuecore._trees cimport Tree
from kueuecore._types cimport (
    MODE_FIT, MODE_NO_FIT, MODE_PREEMPT, NONE, PREEMPT, REASON_ELASTIC_PREFERRED, REASON_ELASTIC_REQUIRED,
    REASON_LAYER_NOT_PLACED, REASON_LEVEL_MISSING,
    REASON_NO_TOPOLOGY_DATA, REASON_NO_TOPOLOGY_FLAVOR, REASON_NODES_EXCLUDED, REASON_NOT_PLACED,
    REASON_SEVERAL_TOPOLOGIES, REASON_TOPOLOGY_ONLY, REASON_TOPOLOGY_UNKNOWN, REASON_TOPOLOGY_UNSUPPORTED,
    ReasonCode, index_t,
)


cdef class TopologyAssigner(Assigner):
    """An assigner that also places the pods of flavors with a topology."""

    def __cinit__(self):
        self.placements = NULL
        self.domains = NULL
        self.placement_count = self.placement_capacity = 0
        self.domain_count = self.domain_capacity = 0

    def __init__(self, Preemptor preemptor not None, Placer placer not None, PodTopology pod_topology not None):
        Assigner.__init__(self, preemptor)
        self.placer = placer
        self.topologies = placer.topologies
        self.pod_topology = pod_topology
        self.placing = True
        self.elastic_topology = False
        self.second_pass = False
        self.unhealthy_first = self.unhealthy_end = 0
        self.again = SecondPass()
        self.keep_places = False

    def __dealloc__(self):
        free(self.placements)
        free(self.domains)

    # --- which flavors suit

    cdef bint asks(self, Py_ssize_t row, index_t queue) noexcept nogil:
        """Whether a pod set is to be placed: it says so, or all flavors of its queue have one (TP-601, TP-602)."""
        return self.pod_topology.kind_of(row) != ASKS_NOTHING or self.flavors.topology_only[queue]

    cdef bint asks_any(self, index_t workload, index_t queue) noexcept nogil:
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef Py_ssize_t p
        if self.flavors.topology_only[queue]:
            return True
        for p in range(first, first + self.workloads.pod_set_length[workload]):
            if self.pod_topology.kind_of(p) != ASKS_NOTHING:
                return True
        return False

    cdef int topology_match(self, index_t workload, index_t queue, Py_ssize_t pod_set, index_t group,
                            index_t flavor) noexcept nogil:
        """Whether a flavor's topology suits a pod set: NONE, or the ReasonCode why not (TP-603)."""
        cdef Py_ssize_t row = self.workloads.pod_set_start[workload] + pod_set
        cdef int support
        cdef Tree* tree
        cdef Py_ssize_t i
        if not self.placing:
            return NONE
        support = self.pod_topology.support_of(flavor)
        if self.pod_topology.kind_of(row) == ASKS_NOTHING:
            return NONE if support == NO_TOPOLOGY or self.flavors.topology_only[queue] else REASON_TOPOLOGY_ONLY
        if support == NO_TOPOLOGY:
            # it may still serve resources that the pods themselves do not ask for
            i = self.topologies.pods_start[self.pod_topology.pods[row]]
            for i in range(i, i + self.topologies.pods_length[self.pod_topology.pods[row]]):
                if self.flavors.group_of[queue, self.topologies.item_resource[i]] == group:
                    return REASON_TOPOLOGY_UNSUPPORTED
            return NONE
        if support != HAS_TOPOLOGY:
            return REASON_TOPOLOGY_UNKNOWN
        tree = &self.topologies.trees[flavor]
        if not self.pod_topology.has_levels(row, tree.level_key, tree.depth):
            return REASON_LEVEL_MISSING
        return NONE

    # --- what is to be placed

    cdef index_t tree_of(self, index_t workload, Py_ssize_t pod_set, ReasonCode* error) noexcept nogil:
        """The one assigned flavor with a topology; one without requests takes that of its group (TP-604, TP-609)."""
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef bint alone = self.results[pod_set].length > 0
        cdef Py_ssize_t member, i
        cdef index_t found = NONE, flavor
        for member in range(self.result_count):
            if member != pod_set and (
                alone or self.workloads.group[first + member] != self.workloads.group[first + pod_set]
            ):
                continue
            for i in range(self.results[member].first, self.results[member].first + self.results[member].length):
                flavor = self.choices[i].flavor
                if flavor == NONE or flavor == found or self.pod_topology.support_of(flavor) != HAS_TOPOLOGY:
                    continue
                if found != NONE:
                    error[0] = REASON_SEVERAL_TOPOLOGIES
                    return NONE
                found = flavor
        if found == NONE:
            error[0] = REASON_NO_TOPOLOGY_FLAVOR
        return found

    cdef bint is_placed_soundly(self, index_t workload, Py_ssize_t pod_set) noexcept nogil:
        """Whether the pod set keeps the places it has: none of them is its workload's unhealthy node (TP-604)."""
        cdef BookingList* held
        cdef Py_ssize_t i, k
        cdef bint any_place = False
        if not self.second_pass:
            return False
        held = self.topologies.bookings_of(workload)
        if held == NULL:
            return False
        for i in range(held.length):
            if held.items[i].pod_set == pod_set:
                any_place = True
                for k in range(self.unhealthy_first, self.unhealthy_end):
                    if held.items[i].place == self.again.unhealthy_place[k]:
                        return False
        return any_place

    cdef index_t replaced_place(self, index_t tree) noexcept nogil:
        """Place of the first unhealthy node as this flavor knows it, NONE without one (TP-1504)."""
        cdef Py_ssize_t k
        for k in range(self.unhealthy_first, self.unhealthy_end):
            if self.again.unhealthy_tree[k] == tree:
                return self.again.unhealthy_place[k]
        return NONE

    cdef int collect_placements(self, index_t workload, index_t queue) except -1 nogil:
        """Requests of all pod sets that are to be placed now; errors make the assignment NoFit (TP-604..608)."""
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef Py_ssize_t length = self.workloads.pod_set_length[workload]
        cdef Py_ssize_t p
        cdef ReasonCode error
        cdef index_t tree
        cdef Tree* levels
        cdef PlacementRequest* request
        cdef void* grown
        cdef int delay
        self.placement_count = 0
        if length > self.placement_capacity:
            grown = realloc(self.placements, 2 * length * sizeof(PlacementRequest))
            if grown == NULL:
                with gil:
                    raise MemoryError("placements")
            self.placements = <PlacementRequest*> grown
            self.placement_capacity = 2 * length
        for p in range(length):
            if not self.asks(first + p, queue) or self.results[p].count == 0 or self.is_placed_soundly(workload, p):
                continue
            if self.elastic_topology and self.workloads.elastic[workload] and self.refuse_elastic(workload, p):
                continue
            error = REASON_NO_TOPOLOGY_DATA
            tree = NONE
            if self.pod_topology.has_topology[queue]:
                tree = self.tree_of(workload, p, &error)
            if tree == NONE:
                self.results[p].mode = MODE_NO_FIT
                self.mode = MODE_NO_FIT
                self.note(error, <index_t> p, NONE, NONE, 0, 0, 0)
                continue
            delay = self.pod_topology.delay[queue, tree]
            if delay == DELAYED_ALWAYS or (delay == DELAYED_ONCE and not self.second_pass):
                self.results[p].delayed = DELAY_PENDING
                continue
            levels = &self.topologies.trees[tree]
            request = &self.placements[self.placement_count]
            self.pod_topology.fill(
                first + p, tree, self.pod_topology.kind_of(first + p) == ASKS_NOTHING,
                levels.level_key[levels.depth - 1], levels.level_key[0], request,
            )
            request.tree = tree
            request.pod_set = <index_t> p
            request.group = self.workloads.group[first + p]
            request.count = self.results[p].count
            if self.elastic_topology and self.workloads.elastic[workload] and self.replaced != NONE:
                if self.has_places(self.replaced, p):
                    request.previous_workload = self.replaced
                    request.previous_pod_set = <index_t> p
            if self.unhealthy_first != self.unhealthy_end:
                request.previous_workload = workload
                request.previous_pod_set = <index_t> p
                request.unhealthy_place = self.replaced_place(tree)
                request.keep = self.keep_places
            self.placement_count += 1
        if self.workloads.unhealthy[workload] and not self.second_pass:
            # what names failed nodes is only repaired, and there is nothing to repair yet: it goes without (TP-1502)
            self.placement_count = 0
        return 0

    cdef bint refuse_elastic(self, index_t workload, Py_ssize_t pod_set) except -1 nogil:
        """Whether a pod set of an elastic job asks for a level: only unconstrained ones can grow (TP-604, TP-1301)."""
        cdef int kind = self.pod_topology.kind_of(self.workloads.pod_set_start[workload] + pod_set)
        if kind != ASKS_REQUIRED and kind != ASKS_PREFERRED:
            return False
        self.results[pod_set].mode = MODE_NO_FIT
        self.mode = MODE_NO_FIT
        self.note(
            REASON_ELASTIC_REQUIRED if kind == ASKS_REQUIRED else REASON_ELASTIC_PREFERRED, <index_t> pod_set,
            NONE, NONE, 0, 0, 0,
        )
        return True

    cdef bint has_places(self, index_t workload, Py_ssize_t pod_set) noexcept nogil:
        cdef BookingList* held = self.topologies.bookings_of(workload)
        cdef Py_ssize_t i
        if held != NULL:
            for i in range(held.length):
                if held.items[i].pod_set == pod_set:
                    return True
        return False

    # --- placing

    cdef int place_pods(self, index_t workload, index_t queue) except -1 nogil:
        """Place what quota would admit; what does not fit now may fit once others are gone (TP-611)."""
        cdef Py_ssize_t i
        self.domain_count = 0
        self.placement_count = 0
        if not self.placing:
            return 0
        if self.asks_any(workload, queue):
            self.collect_placements(workload, queue)
        if self.mode == MODE_FIT and self.placement_count > 0:
            if self.placer.place(self.placements, self.placement_count, AS_USED):
                return self.store_places()
            self.note_failure()
            self.prefer_preemption(self.placements[self.placer.failure.request].pod_set)
            self.mode = MODE_PREEMPT
        if self.mode == MODE_PREEMPT and self.placement_count > 0 and self.unhealthy_first == self.unhealthy_end:
            if not self.placer.can_place(self.placements, self.placement_count, AS_EMPTY):
                self.mode = MODE_NO_FIT
                return 0
            for i in range(self.placement_count):
                self.prefer_preemption(self.placements[i].pod_set)
        return 0

    cdef void prefer_preemption(self, Py_ssize_t pod_set) noexcept nogil:
        """All flavors of the pod set count as ones that need preemption: quota may be free in pieces (TP-1203)."""
        cdef Py_ssize_t i
        self.results[pod_set].mode = MODE_PREEMPT
        for i in range(self.results[pod_set].first, self.results[pod_set].first + self.results[pod_set].length):
            if self.choices[i].flavor != NONE:
                self.choices[i].possibility = PREEMPT

    cdef int store_places(self) except -1 nogil:
        """Keep what the placer found: places of pod sets that were placed, none for the others (TP-613)."""
        cdef Py_ssize_t i, p, size
        cdef void* grown
        cdef PlacedDomain* found
        for i in range(self.placement_count):
            p = self.placements[i].pod_set
            self.results[p].tree = NONE
            self.results[p].domains = 0
            if not self.placer.placed[i].placed:
                continue
            size = self.domain_count + self.placer.placed[i].length
            if size > self.domain_capacity:
                grown = realloc(self.domains, 2 * size * sizeof(PlacedDomain))
                if grown == NULL:
                    with gil:
                        raise MemoryError("places")
                self.domains = <PlacedDomain*> grown
                self.domain_capacity = 2 * size
            self.results[p].tree = self.placements[i].tree
            self.results[p].first_domain = self.domain_count
            self.results[p].domains = self.placer.placed[i].length
            if self.results[p].delayed != NOT_DELAYED:
                self.results[p].delayed = DELAY_READY
            found = self.placer.domains + self.placer.placed[i].first
            for size in range(self.placer.placed[i].length):
                self.domains[self.domain_count] = found[size]
                self.domain_count += 1
        return 0

    cdef int renew_places(self, index_t workload, index_t queue, int view) except -1 nogil:
        """Places of one that needs preemption: as usage is now, or as if nobody were there (TP-1204)."""
        self.collect_placements(workload, queue)
        self.placer.place(self.placements, self.placement_count, view)
        return self.store_places()

    # --- why not

    cdef int note_failure(self) except -1 nogil:
        """Reasons that say how many would have fit, and what excluded leaves (TP-1001, TP-1002)."""
        cdef PlacementRequest* request = &self.placements[self.placer.failure.request]
        cdef Py_ssize_t i
        cdef int64_t* excluded = self.placer.failure.excluded
        cdef int64_t leaves = self.placer.failure.leaves
        cdef index_t p = request.pod_set, tree = self.placer.failure.tree
        cdef Py_ssize_t filters = self.placer.failure.exclusion_count
        self.note(
            REASON_NOT_PLACED, p, tree, <index_t> self.placer.failure.code, self.placer.failure.first,
            self.placer.failure.second, -1 - leaves if self.placer.failure.in_slices else leaves,
        )
        if self.placer.failure.code != NOT_ENOUGH_ROOM:
            return 0
        if request.layers > 1:
            for i in range(request.layers):
                self.note(
                    REASON_LAYER_NOT_PLACED, p, tree, NONE, self.placer.failure.layer_fitted[i],
                    self.placer.failure.layer_needed[i], i,
                )
        if excluded == NULL:
            return 0
        for i in range(filters + self.topologies.width + 1):
            if excluded[i] == 0:
                continue
            if i < filters:
                self.note(REASON_NODES_EXCLUDED, p, tree, NONE, excluded[i], i, 0)
            elif i < filters + self.topologies.width:
                self.note(REASON_NODES_EXCLUDED, p, tree, <index_t> (i - filters), excluded[i], NONE, 0)
            else:
                self.note(REASON_NODES_EXCLUDED, p, tree, NONE, excluded[i], NONE - 1, 0)
        return 0
