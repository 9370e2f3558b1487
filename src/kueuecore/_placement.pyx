"""Placing all pod sets of a workload, one tree and one group after the other."""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from kueuecore._balanced cimport forget_balancing, place_balanced
from kueuecore._counts cimport CountCache
from kueuecore._journal cimport Journal
from kueuecore._leaves cimport Counts, Shape
from kueuecore._levels cimport FOUND, NO_DOMAIN, Search, Shares, append, descend, fits, search_levels
from kueuecore._placed cimport PlacementResult, read_requests
from kueuecore._requests cimport (
    LEVEL_UNKNOWN, NO_DOMAINS, NO_REPLACEMENT, NOT_ENOUGH_ROOM, PLACED, STALE_DOMAIN, TOO_MANY_IN_GROUP,
    Complaint, PlacementRequest, Restriction, read_previous, resolve, restrict_replacement, sort_and_merge, truncate,
)
from kueuecore._topology cimport AS_USED, Topologies
from kueuecore._trees cimport Tree
from kueuecore._types cimport NONE, index_t


cdef class Placer(PlacementResult):
    """Places the pod sets of one workload at a time; keeps counts between the calls. See the .pxd."""

    def __cinit__(self, Topologies topologies not None, Journal journal not None):
        self.journal = journal
        self.cache = CountCache(topologies)
        self.mixed_profile = True
        self.overlapping = True

    def __dealloc__(self):
        free(self.heap.items)
        free(self.shares.items)
        free(self.spare.items)
        free(self.previous.items)
        free(self.leader_previous.items)
        forget_balancing(&self.balancing)

    cdef bint place(self, PlacementRequest* requests, Py_ssize_t count, int view) except -1 nogil:
        return self._run(requests, count, view, False)

    cdef bint can_place(self, PlacementRequest* requests, Py_ssize_t count, int view) except -1 nogil:
        return self._run(requests, count, view, True)

    cdef bint _run(self, PlacementRequest* requests, Py_ssize_t count, int view, bint probing) except -1 nogil:
        """All requests, and usage as before, also after an error."""
        cdef Py_ssize_t mark = self.journal.length
        cdef bint placed
        self.begin(count)
        try:
            placed = self._run_groups(requests, count, view, probing)
        finally:
            self.topologies.roll_back(self.journal, mark)
        return placed

    cdef bint _run_groups(self, PlacementRequest* requests, Py_ssize_t count, int view, bint probing) except -1 nogil:
        """Trees in order of their flavors' names, groups in order of their first pod set (TP-1101)."""
        cdef uint8_t* done = <uint8_t*> calloc(count + 1, 1)
        cdef Py_ssize_t number, left = count, members
        cdef index_t tree, second
        cdef bint placed = True, fitting
        if done == NULL:
            with gil:
                raise MemoryError("placement")
        try:
            if probing and self._cannot_fit(requests, count, view, done):
                return False
            while left:
                tree = NONE
                for number in range(count):
                    if not done[number] and (tree == NONE or comes_before(self.topologies, requests[number].tree,
                                                                          tree)):
                        tree = requests[number].tree
                fitting = True
                for number in range(count):
                    if done[number] or requests[number].tree != tree:
                        continue
                    second = NONE
                    members = gather(requests, count, number, done, &second)
                    left -= members
                    self.followed = left > 0
                    if not fitting:
                        continue
                    if not 0 <= tree < self.topologies.tree_count or not self.topologies.trees[tree].exists:
                        self._fail(<index_t> number, tree, LEVEL_UNKNOWN, requests[number].level_key, 0)
                        fitting = False
                    elif requests[number].unhealthy_place != NONE or requests[number].keep:
                        fitting = self._repair_all(requests, count, number)
                    elif members > 2:
                        self._fail(<index_t> number, tree, TOO_MANY_IN_GROUP, 0, 0)
                        fitting = False
                    elif second != NONE and requests[second].count > requests[number].count:
                        fitting = self._place_or_probe(requests, second, <index_t> number, view, probing and left == 0)
                    else:
                        fitting = self._place_or_probe(requests, <index_t> number, second, view, probing and left == 0)
                    if probing and not fitting:
                        return False
                placed = placed and fitting
        finally:
            free(done)
        return placed

    cdef bint _cannot_fit(self, PlacementRequest* requests, Py_ssize_t count, int view, uint8_t* done) except -1 nogil:
        """Whether a group would not even fit alone, which is quick to say; leaves `done` as it was, all 0.

        What other groups assume only takes room away, and less room never lets more in: for each domain the slices
        beside a leader are the most over its hosts of all slices less that host's loss, which falls with any leaf.
        """
        cdef Py_ssize_t number, members
        cdef index_t second, workers, leader
        cdef bint fitting = True
        for number in range(count):
            if done[number]:
                continue
            second = NONE
            members = gather(requests, count, number, done, &second)
            if members == count:
                break
            workers = <index_t> number
            leader = second
            if second != NONE and requests[second].count > requests[number].count:
                workers = second
                leader = <index_t> number
            if members > 2 or not is_plain(self.topologies, &requests[workers]) or (
                leader != NONE and not is_plain(self.topologies, &requests[leader])
            ):
                continue
            if not self._probe(requests, workers, leader, view):
                fitting = False
                break
        memset(done, 0, count)
        return not fitting

    cdef bint _place_or_probe(self, PlacementRequest* requests, index_t workers, index_t leader, int view,
                              bint probing) except -1 nogil:
        # Only what nothing follows can do without domains: their use would have to be assumed.
        if probing and requests[workers].previous_workload == NONE:
            return self._probe(requests, workers, leader, view)
        return self._place_group(requests, workers, leader, view)

    cdef bint _repair_all(self, PlacementRequest* requests, Py_ssize_t count, Py_ssize_t first) except -1 nogil:
        """Each pod set of the group alone (TP-1502)."""
        cdef Py_ssize_t number
        self.followed = True
        for number in range(first, count):
            if requests[number].tree == requests[first].tree and requests[number].group == requests[first].group:
                if not self._repair(requests, <index_t> number):
                    return False
        return True

    # ---- one group --------------------------------------------------------------------------------------------

    cdef bint _place_group(self, PlacementRequest* requests, index_t workers, index_t leader, int view) except -1 nogil:
        """Workers and their leader, if any (TP-1102, TP-1103, TP-1302)."""
        cdef index_t first = workers if leader == NONE else min(workers, leader), stale = NONE, leader_stale = NONE
        cdef int64_t taken
        if requests[workers].previous_workload != NONE:
            read_previous(self.topologies, &requests[workers], NONE, &self.previous, &taken, &stale)
            if leader != NONE and requests[leader].previous_workload != NONE:
                read_previous(self.topologies, &requests[leader], NONE, &self.leader_previous, &taken, &leader_stale)
            if stale == NONE and leader_stale == NONE:
                if requests[workers].count > pods_in(&self.previous):
                    return self._grow(requests, workers, leader, view)
                return self._keep_previous(requests, workers, leader, view)
        if self._find(&requests[workers], requests[leader].pods if leader != NONE else NONE, view, first, workers, 0,
                      INT32_MAX) != PLACED:
            return False
        self._emit(workers, &self.shares, False)
        self._assume_result(&requests[workers], &self.shares, False, view)
        if leader != NONE:
            self._emit(leader, &self.shares, True)
            self._assume_result(&requests[leader], &self.shares, True, view)
        return True

    cdef bint _probe(self, PlacementRequest* requests, index_t workers, index_t leader, int view) except -1 nogil:
        """Whether the group would be placed. Balanced placement changes where, never whether: the level search that it
        falls back to finds room wherever a set of siblings has it."""
        cdef Shape shape
        cdef Search search
        cdef Complaint complaint
        if resolve(self.topologies, &requests[workers], requests[leader].pods if leader != NONE else NONE, view,
                   self.mixed_profile, self.prefers_affinity, &shape, &search, &complaint) != PLACED:
            return False
        return fits(self.cache.counts_for(&shape), &self.topologies.trees[shape.tree], &search)

    cdef int32_t _find(self, PlacementRequest* request, index_t leader_pods, int view, index_t number,
                       index_t workers, index_t first, index_t end) except -1 nogil:
        """Leaves for a request into `shares`, within a range of leaves; or the failure noted for a request number."""
        cdef Shape shape
        cdef Search search
        cdef Complaint complaint
        cdef Counts* counts
        cdef Tree* tree = &self.topologies.trees[request.tree]
        cdef int32_t code = resolve(self.topologies, request, leader_pods, view, self.mixed_profile,
                                    self.prefers_affinity,
                                    &shape, &search, &complaint)
        cdef int found = 0
        self.shares.length = 0
        if code != PLACED:
            self._fail(number, request.tree, code, complaint.first, complaint.second)
            return code
        counts = self._counts_for(&shape, first, end)
        if self.balanced and not search.required and not search.unconstrained:
            found = place_balanced(self.topologies, counts, &search, &self.balancing, &self.heap, &self.shares,
                                   &self.spare)
        if not found:
            self.shares.length = 0
            found = search_levels(counts, tree, &search, &self.heap, &self.shares)
            if found == NO_DOMAIN:
                self._fail(number, request.tree, NO_DOMAINS, request.level_key, 0)
                return NO_DOMAINS
            if found != FOUND:
                self._fail_for_room(request, number, workers, counts, &search)
                return NOT_ENOUGH_ROOM
            found = descend(counts, tree, &search, False, &self.heap, &self.shares, &self.spare)
            if not found:
                with gil:
                    raise AssertionError(f"request {number}: a domain has less room than its children were counted for")
        sort_and_merge(&self.shares)
        return PLACED

    cdef Counts* _counts_for(self, Shape* shape, index_t first, index_t end) except NULL nogil:
        if end == INT32_MAX:
            return self.cache.counts_for(shape)
        return self.cache.restricted(shape, first, end)

    # ---- an earlier assignment --------------------------------------------------------------------------------

    cdef bint _grow(self, PlacementRequest* requests, index_t workers, index_t leader, int view) except -1 nogil:
        """Pods that came with a scale-up, beside those that are there (TP-1303, TP-1305)."""
        cdef PlacementRequest more = requests[workers]
        cdef Py_ssize_t item
        cdef bint leads = leader != NONE and requests[leader].previous_workload == NONE
        more.count -= pods_in(&self.previous)
        self._assume(&requests[workers], &self.previous, False, view)
        if leader != NONE and not leads:
            self._assume(&requests[leader], &self.leader_previous, False, view)
        if self._find(&more, requests[leader].pods if leads else NONE, view, workers, workers, 0, INT32_MAX) != PLACED:
            return False
        self._assume_result(&requests[workers], &self.shares, False, view)
        if leads:
            self._emit(leader, &self.shares, True)
            self._assume_result(&requests[leader], &self.shares, True, view)
        elif leader != NONE:
            self._emit(leader, &self.leader_previous, False)
        for item in range(self.previous.length):
            append(&self.shares, self.previous.items[item].domain, 0, self.previous.items[item].pods)
        sort_and_merge(&self.shares)
        self._emit(workers, &self.shares, False)
        return True

    cdef bint _keep_previous(self, PlacementRequest* requests, index_t workers, index_t leader,
                             int view) except -1 nogil:
        """The earlier assignment, cut where there are fewer pods now (TP-1304)."""
        truncate(&self.previous, requests[workers].count)
        self._assume(&requests[workers], &self.previous, False, view)
        if leader != NONE and requests[leader].previous_workload == NONE:
            # Upstream does not survive this; the leader is placed as a pod set of its own.
            if self._find(&requests[leader], NONE, view, workers, leader, 0, INT32_MAX) != PLACED:
                return False
            self._emit(leader, &self.shares, False)
            self._assume_result(&requests[leader], &self.shares, False, view)
        elif leader != NONE:
            self._emit(leader, &self.leader_previous, False)
            self._assume(&requests[leader], &self.leader_previous, False, view)
        self._emit(workers, &self.previous, False)
        return True

    cdef bint _repair(self, PlacementRequest* requests, index_t number) except -1 nogil:
        """Another place for the pods of one node (TP-1502..1508), always beside what stands there now."""
        cdef PlacementRequest request = requests[number]
        cdef Restriction restriction
        cdef index_t stale
        cdef Py_ssize_t item
        if request.previous_workload == NONE:
            return True
        if request.keep:
            read_previous(self.topologies, &request, NONE, &self.previous, &request.count, &stale)
            self._emit(number, &self.previous, False)
            return True
        read_previous(self.topologies, &request, request.unhealthy_place, &self.previous, &request.count, &stale)
        if stale != NONE:
            self._fail(number, request.tree, STALE_DOMAIN, stale, 0)
            return False
        restrict_replacement(&self.topologies.trees[request.tree], &request, &self.previous, &restriction)
        if self._find(&request, NONE, AS_USED, number, number, restriction.first if restriction.set else 0,
                      restriction.end if restriction.set else INT32_MAX) != PLACED:
            return False
        drop_empty(&self.shares)
        if self.shares.length == 0:
            self._fail(number, request.tree, NO_REPLACEMENT, request.unhealthy_place, 0)
            return False
        self._assume_result(&request, &self.shares, False, AS_USED)
        for item in range(self.previous.length):
            append(&self.shares, self.previous.items[item].domain, 0, self.previous.items[item].pods)
        sort_and_merge(&self.shares)
        self._emit(number, &self.shares, False)
        return True

    # ---- use that later pod sets see --------------------------------------------------------------------------

    cdef int _assume(self, PlacementRequest* request, Shares* shares, bint leaders, int view) except -1 nogil:
        """Let later placements see the use of these pods (TP-1101, TP-1104)."""
        cdef bint everywhere = self.overlapping and self.topologies.trees[request.tree].by_host
        cdef Py_ssize_t item
        cdef int64_t pods
        for item in range(shares.length):
            pods = shares.items[item].leaders if leaders else shares.items[item].pods
            if pods == 0:
                continue
            if everywhere:
                self.topologies.assume(request.tree, view, shares.items[item].domain, request.pods, pods, self.journal)
            else:
                self.topologies.change(request.tree, view, shares.items[item].domain, request.pods, pods, self.journal)
        return 0

    cdef int _assume_result(self, PlacementRequest* request, Shares* shares, bint leaders, int view) except -1 nogil:
        """`_assume`, unless nothing follows: changes and their undoing would only cost later counts."""
        return self._assume(request, shares, leaders, view) if self.followed else 0

    # ---- from Python ------------------------------------------------------------------------------------------

    def place_python(self, requests, int view=0):
        """Place requests given as mappings with the fields of PlacementRequest; what is left out is NONE or 0.

        Returns for each request the list of its (leaf, pods), None where it was not placed; and the failure as a
        mapping of the fields of PlacementFailure with `code` by name and `excluded` as {code: leaves}, `scarce` as
        {resource: leaves} and `outside`; None when all were placed. Raises ValueError for a row that does not exist.
        """
        cdef PlacementRequest* list = read_requests(self.topologies, requests, view)
        cdef Py_ssize_t count = len(requests), number
        try:
            with nogil:
                self.place(list, count, view)
        finally:
            free(list)
        placed = [
            [
                (self.domains[domain].leaf, self.domains[domain].count)
                for domain in range(self.placed[number].first, self.placed[number].first + self.placed[number].length)
            ] if self.placed[number].placed else None
            for number in range(count)
        ]
        return placed, self._failure()

    def can_place_python(self, requests, int view=0):
        """Whether place_python would place all."""
        cdef PlacementRequest* list = read_requests(self.topologies, requests, view)
        cdef Py_ssize_t count = len(requests)
        cdef bint placed
        try:
            with nogil:
                placed = self.can_place(list, count, view)
        finally:
            free(list)
        return bool(placed)

    def forget(self):
        """Drop all kept counts; the next placement counts everything anew."""
        self.cache.forget()


cdef bint comes_before(Topologies table, index_t a, index_t b) noexcept nogil:
    """Whether tree a is earlier in the order of flavor names; rows that do not exist come first."""
    cdef index_t rank_a = table.trees[a].rank if 0 <= a < table.tree_count else NONE
    cdef index_t rank_b = table.trees[b].rank if 0 <= b < table.tree_count else NONE
    return rank_a < rank_b or (rank_a == rank_b and a < b)


cdef bint is_plain(Topologies table, PlacementRequest* request) noexcept nogil:
    """A new placement in an existing tree, of pods that do not take less than nothing."""
    cdef index_t item, end
    if (request.previous_workload != NONE or request.unhealthy_place != NONE or request.keep
            or not 0 <= request.tree < table.tree_count or not table.trees[request.tree].exists):
        return False
    item = table.pods_start[request.pods]
    end = item + table.pods_length[request.pods]
    while item < end:
        if table.item_amount[item] < 0:
            return False
        item += 1
    return True


cdef Py_ssize_t gather(PlacementRequest* requests, Py_ssize_t count, Py_ssize_t first, uint8_t* done,
                       index_t* second) noexcept nogil:
    """Mark the members of a group; how many there are, and the second of them."""
    cdef Py_ssize_t number, members = 0
    for number in range(first, count):
        if done[number] or requests[number].tree != requests[first].tree:
            continue
        if requests[number].group == requests[first].group:
            done[number] = 1
            members += 1
            if members == 2:
                second[0] = <index_t> number
    return members


cdef int64_t pods_in(Shares* shares) noexcept nogil:
    cdef Py_ssize_t item
    cdef int64_t pods = 0
    for item in range(shares.length):
        pods += shares.items[item].pods
    return pods


cdef void drop_empty(Shares* shares) noexcept nogil:
    cdef Py_ssize_t item, kept = 0
    for item in range(shares.length):
        if shares.items[item].pods > 0:
            shares.items[kept] = shares.items[item]
            kept += 1
    shares.length = kept
