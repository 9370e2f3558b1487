"""The search for flavors. See the .pxd for what it reads and leaves behind."""

from libc.stdint cimport int32_t
from libc.string cimport memmove

from kueuecore._amount cimport add_plain, floored, sub
from kueuecore._candidates cimport POLICY_NEVER
from kueuecore._preempt cimport Preemptor
from kueuecore._types cimport (
    ELIGIBILITY_ERROR, ELIGIBLE, FIT, MODE_FIT, MODE_NO_FIT, NO_CANDIDATES, NO_FIT, NONE, PREEMPT, NOT_ELIGIBLE,
    REASON_AFFINITY_ERROR, REASON_EXCEEDS_MAX_QUOTA, REASON_NOT_ELIGIBLE, REASON_NOT_NOMINATED,
    REASON_OTHER_FLAVOR_OF_SLICE, REASON_UNDECLARED_RESOURCE, REASON_WAITING_FOR_QUOTA, RECLAIM, Mode,
    ReasonCode, amount_t, index_t,
)


cdef inline bint is_better(Rank a, Rank b, bint borrowing_first) noexcept nogil:
    """Whether flavor rank `a` is preferred to `b` (QP-440)."""
    if a.possibility == NO_FIT:
        return False
    if b.possibility == NO_FIT:
        return True
    if (a.possibility == NO_CANDIDATES) != (b.possibility == NO_CANDIDATES):
        return b.possibility == NO_CANDIDATES
    if borrowing_first and a.borrow != b.borrow:
        return a.borrow < b.borrow
    if a.possibility != b.possibility:
        return a.possibility > b.possibility
    return a.borrow < b.borrow


cdef class Assigner(Draft):
    """Assigns flavors to one workload at a time, against the usage that the forest holds now."""

    def __cinit__(self):
        self.pinned_choices = NULL
        self.pinned_results = NULL
        self.replaced = NONE

    def __init__(self, Preemptor preemptor not None):
        self.preemptor = preemptor
        self.forest = preemptor.forest
        self.flavors = preemptor.flavors
        self.workloads = preemptor.workloads
        self.fungibility = True
        self.partial_admission = True
        self.ignore_undeclared = False

    cdef int assign(self, index_t workload, index_t queue, bint reduced) except -1 nogil:
        """Search flavors for all pod sets, group by group in order of first appearance (QP-410..418)."""
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef Py_ssize_t length = self.workloads.pod_set_length[workload]
        cdef Py_ssize_t p
        cdef index_t leader
        cdef bint failed = False
        self.choice_count = self.result_count = self.usage_count = self.reason_count = 0
        self.attempt_count = self.attempt_reason_count = 0
        self.borrowing = 0
        self.mode = MODE_FIT if length > 0 else MODE_NO_FIT
        for p in range(length):
            self.done[p] = False
            self.results[p].count = self.counts[p] if reduced else self.workloads.count[first + p]
            self.results[p].length = 0
            self.results[p].tree = NONE
            self.results[p].delayed = NOT_DELAYED
            self.results[p].first_domain = self.results[p].domains = 0
        for leader in range(length):
            if self.done[leader]:
                continue
            self.assign_group(workload, queue, leader, &failed)
            if failed:
                return 0
        return 0 if self.mode == MODE_NO_FIT else self.place_pods(workload, queue)

    cdef int place_pods(self, index_t workload, index_t queue) except -1 nogil:
        """Topology of the pod sets, once they have flavors; TopologyAssigner has it."""
        return 0

    cdef int topology_match(self, index_t workload, index_t queue, Py_ssize_t pod_set, index_t group,
                            index_t flavor) noexcept nogil:
        """Whether a flavor's topology suits a pod set: NONE, or the ReasonCode why not; TopologyAssigner has it."""
        return NONE

    # --- one group of pod sets

    cdef int assign_group(self, index_t workload, index_t queue, index_t leader, bint* failed) except -1 nogil:
        """Search resource group by resource group; one without a flavor fails the pod-set group (QP-411..415)."""
        cdef Py_ssize_t i, before
        cdef Py_ssize_t of_group = self.reason_count
        cdef int found
        cdef index_t resource
        self.collect_requests(workload, queue, leader)
        for i in range(self.request_count):
            resource = self.requests[i].resource
            if self.requests[i].flavor != NONE:
                continue
            before = self.reason_count
            found = 0
            if self.flavors.group_of[queue, resource] == NONE:
                if self.requests[i].amount == 0 or self.ignore_undeclared:
                    continue
                self.note(REASON_UNDECLARED_RESOURCE, leader, NONE, resource, 0, self.requests[i].amount, 0)
            else:
                self.search(workload, queue, leader, i, &found)
            if not found:
                # only the words of the search that failed are kept (QP-415)
                memmove(
                    &self.reasons[of_group], &self.reasons[before], (self.reason_count - before) * sizeof(Reason)
                )
                self.reason_count -= before - of_group
                failed[0] = True
                break
        self.finish_group(workload, leader, self.reason_count > of_group, failed[0])
        return 0

    cdef int finish_group(self, index_t workload, index_t leader, bint has_reasons, bint failed) except -1 nogil:
        """Hand the group's flavors to its members; note modes, borrow level and usage (QP-402, QP-404, QP-416)."""
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef Py_ssize_t length = self.workloads.pod_set_length[workload]
        cdef index_t group = self.workloads.group[first + leader]
        cdef Py_ssize_t member, i, k
        cdef bint any_flavor
        cdef Choice* choice
        cdef Mode mode
        for member in range(leader, length):
            if self.workloads.group[first + member] != group:
                continue
            self.result_count += 1
            mode = MODE_FIT
            any_flavor = False
            for i in range(self.results[member].first, self.results[member].first + self.results[member].length):
                choice = &self.choices[i]
                if failed:
                    continue
                for k in range(self.request_count):
                    if self.requests[k].resource == choice.resource:
                        break
                if self.requests[k].flavor == NONE:
                    continue
                any_flavor = True
                choice.flavor = self.requests[k].flavor
                choice.possibility = self.requests[k].possibility
                choice.borrow = self.requests[k].borrow
                choice.tried = self.requests[k].tried
                if mode_of(choice.possibility) < mode:
                    mode = mode_of(choice.possibility)
                if choice.borrow > self.borrowing:
                    self.borrowing = choice.borrow
                k = NONE if self.replaced == NONE else self.replaced_slot(member, choice.resource)
                self.book(
                    self.flavors.column[choice.flavor, choice.resource],
                    choice.amount if k == NONE else sub(choice.amount, self.workloads.slot_amount[k]),
                )
            if not has_reasons:
                mode = MODE_FIT
            elif not any_flavor:
                mode = MODE_NO_FIT
            self.results[member].mode = mode
            if mode < self.mode:
                self.mode = mode
        return 0

    # --- a slice that replaces another

    cdef Py_ssize_t replaced_slot(self, Py_ssize_t pod_set, index_t resource) noexcept nogil:
        """Slot of the replaced slice for a resource of its pod set with the same number, NONE without one."""
        cdef Py_ssize_t start = self.workloads.slot_start[self.replaced]
        cdef Py_ssize_t s
        for s in range(start, start + self.workloads.slot_length[self.replaced]):
            if (
                self.workloads.slot_pod_set[s] == pod_set and self.workloads.slot_resource[s] == resource
                and self.workloads.slot_flavor[s] >= 0
            ):
                return s
        return NONE

    cdef bint take_off_replaced(self, index_t workload, index_t leader, index_t flavor, Request* request,
                                amount_t* amount) except -1 nogil:
        """Ask only for what the replaced slice does not hold; whether it has the same flavor (JS-603).

        Members behind one with another flavor are not looked at any more, like upstream's.
        """
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef index_t group = self.workloads.group[first + leader]
        cdef Py_ssize_t member, s
        for member in range(leader, self.workloads.pod_set_length[workload]):
            if self.workloads.group[first + member] != group:
                continue
            s = self.replaced_slot(member, request.resource)
            if s == NONE or self.workloads.slot_flavor[s] != flavor:
                self.note(
                    REASON_OTHER_FLAVOR_OF_SLICE, leader, flavor, request.resource,
                    NONE if s == NONE else self.workloads.slot_flavor[s], 0, 0,
                )
                return False
            amount[0] = sub(amount[0], self.workloads.slot_amount[s])
        return True

    cdef index_t first_flavor(self, index_t workload, index_t leader, index_t resource) noexcept nogil:
        """Index at which the scan goes on: one after the recorded one (QP-501)."""
        cdef Py_ssize_t row = self.workloads.pod_set_start[workload] + leader
        cdef Py_ssize_t s
        if not self.fungibility or self.workloads.tried_cycle[workload] == NONE:
            return 0
        s = self.workloads.slot_start[workload] + self.workloads.pod_set_slot[row]
        for s in range(s, s + self.workloads.pod_set_slots[row]):
            if self.workloads.slot_resource[s] == resource:
                return self.workloads.slot_tried[s] + 1 if self.workloads.slot_tried[s] >= 0 else 0
        return 0

    cdef int search(self, index_t workload, index_t queue, index_t leader, Py_ssize_t lead, int* found) except -1 nogil:
        """Look for the flavor that serves all requests that the leading one's resource group covers (QP-420..446)."""
        cdef index_t group = self.flavors.group_of[queue, self.requests[lead].resource]
        cdef Py_ssize_t flavor_count = self.flavors.group_length[group]
        cdef Py_ssize_t before = self.reason_count
        cdef Py_ssize_t index = self.first_flavor(workload, leader, self.requests[lead].resource)
        cdef Py_ssize_t attempted = -1, i, first_reason
        cdef bint borrowing_first = self.flavors.borrowing_first[queue]
        cdef index_t flavor, best_flavor = NONE
        cdef int eligible, code
        cdef Rank rank, best
        cdef bint stop, better
        best.possibility = NO_FIT
        best.borrow = 0
        if index >= flavor_count:
            index = 0  # the list of flavors shrank since: starting beyond it would admit without quota (QP-902)
        while index < flavor_count:
            attempted = index
            flavor = self.flavors.group_flavors[self.flavors.group_start[group] + index]
            index += 1
            if self.pinned_choices != NULL and self.is_pinned_out(
                workload, leader, self.requests[lead].resource, flavor
            ):
                self.note(REASON_NOT_NOMINATED, leader, flavor, self.requests[lead].resource, 0, 0, 0)
                continue
            first_reason = self.reason_count
            eligible = self.eligible(workload, queue, leader, group, flavor, &code)
            if eligible == ELIGIBILITY_ERROR:
                self.note(REASON_AFFINITY_ERROR, leader, flavor, NONE, 0, 0, 0)
                return 0
            if eligible != ELIGIBLE:
                self.note(<ReasonCode> code, leader, flavor, NONE, 0, 0, 0)
                if self.keeps_attempts:
                    self.keep_attempt(leader, flavor, NO_FIT, 0, first_reason)
                continue
            self.rank_flavor(workload, queue, leader, group, flavor, &rank)
            if self.keeps_attempts:
                self.keep_attempt(
                    leader, flavor, rank.possibility, self.highest_borrow(queue, group), first_reason
                )
            if self.fungibility:
                stop = not (
                    rank.possibility == NO_FIT or rank.possibility == NO_CANDIDATES
                    or (
                        (rank.possibility == PREEMPT or rank.possibility == RECLAIM)
                        and self.flavors.next_when_preempting[queue]
                    )
                    or (rank.borrow > 0 and self.flavors.next_when_borrowing[queue])
                )
                better = stop or is_better(rank, best, borrowing_first)
            else:
                better = rank.possibility > best.possibility
                stop = better and rank.possibility == FIT
            if better:
                best = rank
                best_flavor = flavor
                for i in range(self.request_count):
                    if self.flavors.group_of[queue, self.requests[i].resource] == group:
                        self.requests[i].best_possibility = self.requests[i].try_possibility
                        self.requests[i].best_borrow = self.requests[i].try_borrow
            if stop:
                break
        if best_flavor == NONE:
            return 0
        found[0] = 1
        for i in range(self.request_count):
            if self.flavors.group_of[queue, self.requests[i].resource] == group:
                self.requests[i].flavor = best_flavor
                self.requests[i].possibility = self.requests[i].best_possibility
                self.requests[i].borrow = self.requests[i].best_borrow
                if not self.fungibility:
                    self.requests[i].tried = 0
                else:
                    self.requests[i].tried = NONE if attempted == flavor_count - 1 else <int32_t> attempted
        if best.possibility == FIT:
            self.reason_count = before
        return 0

    cdef int32_t highest_borrow(self, index_t queue, index_t group) noexcept nogil:
        """Highest borrowing level of the flavor that was just ranked, over the resources of the group."""
        cdef int32_t borrow = 0
        cdef Py_ssize_t i
        for i in range(self.request_count):
            if self.flavors.group_of[queue, self.requests[i].resource] == group:
                borrow = max(borrow, self.requests[i].try_borrow)
        return borrow

    cdef bint is_pinned_out(self, index_t workload, index_t leader, index_t resource, index_t flavor) noexcept nogil:
        """Whether no member of the group was nominated with this flavor for the leading resource (QP-424)."""
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef index_t group = self.workloads.group[first + leader]
        cdef Py_ssize_t member, i
        for member in range(leader, self.workloads.pod_set_length[workload]):
            if self.workloads.group[first + member] != group:
                continue
            for i in range(self.pinned_results[member].first,
                           self.pinned_results[member].first + self.pinned_results[member].length):
                if self.pinned_choices[i].resource == resource and self.pinned_choices[i].flavor == flavor:
                    return False
        return True

    cdef int eligible(self, index_t workload, index_t queue, index_t leader, index_t group, index_t flavor,
                      int* code) noexcept nogil:
        """Whether all members may run on a flavor; the first that may not decides (QP-421..423, TP-603)."""
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef index_t members = self.workloads.group[first + leader]
        cdef Py_ssize_t row
        cdef int answer
        code[0] = REASON_NOT_ELIGIBLE
        for row in range(first + leader, first + self.workloads.pod_set_length[workload]):
            if self.workloads.group[row] == members:
                answer = self.topology_match(workload, queue, row - first, group, flavor)
                if answer != NONE:
                    code[0] = answer
                    return NOT_ELIGIBLE
                answer = self.flavors.eligible[self.workloads.eligibility[row], flavor]
                if answer != ELIGIBLE:
                    return answer
        return ELIGIBLE

    cdef int rank_flavor(
        self, index_t workload, index_t queue, index_t leader, index_t group, index_t flavor, Rank* rank
    ) except -1 nogil:
        """The worst rank of the group's requests on one flavor (QP-436)."""
        cdef bint borrowing_first = self.flavors.borrowing_first[queue]
        cdef Py_ssize_t i
        cdef amount_t amount
        cdef Rank one
        rank.possibility = FIT
        rank.borrow = 0
        for i in range(self.request_count):
            if self.flavors.group_of[queue, self.requests[i].resource] != group:
                continue
            amount = self.requests[i].amount
            if self.replaced != NONE and not self.take_off_replaced(
                workload, leader, flavor, &self.requests[i], &amount
            ):
                rank.possibility = NO_FIT
            self.fit_quota(workload, queue, leader, flavor, &self.requests[i], amount, &one)
            self.requests[i].try_possibility = one.possibility
            self.requests[i].try_borrow = <int32_t> one.borrow
            if is_better(rank[0], one, borrowing_first):
                rank[0] = one
        return 0

    cdef int fit_quota(
        self, index_t workload, index_t queue, index_t leader, index_t flavor, Request* request, amount_t amount,
        Rank* rank
    ) except -1 nogil:
        """Quota of one flavor for `amount` of one request (QP-430..435)."""
        cdef index_t column = self.flavors.column[flavor, request.resource]
        cdef amount_t assumed = self.booked(column)
        cdef amount_t value = add_plain(assumed, amount)
        cdef amount_t available
        cdef bint can_reclaim = False
        if value > self.forest.potential[queue, column]:
            rank.possibility = NO_FIT
            rank.borrow = 0
            return self.note(
                REASON_EXCEEDS_MAX_QUOTA, leader, flavor, request.resource,
                assumed, amount, self.forest.potential[queue, column],
            )
        rank.borrow = self.forest.lowest_subtree_that_fits(queue, column, value, &can_reclaim)
        available = floored(self.forest.available(queue, column))
        if value <= available:
            rank.possibility = FIT
            return 0
        self.note(
            REASON_WAITING_FOR_QUOTA, leader, flavor, request.resource, sub(value, available), amount, available
        )
        if (
            self.forest.nominal[queue, column] >= value or can_reclaim
            or self.flavors.borrows_within_cohort[queue]
            or (self.preemptor.fair_sharing and self.flavors.reclaim_policy[queue] != POLICY_NEVER)
        ):
            self.preemptor.ask(workload, queue, column, value, &rank.possibility, &rank.borrow)
        else:
            rank.possibility = NO_FIT
        return 0
