"""Nomination of one head. See the .pxd."""

from libc.stdint cimport int64_t

from kueuecore._amount cimport saturating_mul
from kueuecore._assign cimport Choice, mode_of
from kueuecore._assigntopology cimport TopologyAssigner
from kueuecore._preempt cimport IN_CLUSTER_QUEUE
from kueuecore._topology cimport AS_EMPTY, AS_USED
from kueuecore._types cimport FIT, MODE_FIT, MODE_PREEMPT, NONE, amount_t, index_t


cdef class Nominator(TopologyAssigner):
    """An assigner that also asks for victims, and tries fewer pods where all of them are too many."""

    cdef int nominate(self, index_t workload, index_t queue) except -1 nogil:
        """Full assignment, or a partial one where only that can be accepted (QC-103, QC-104)."""
        self.make_room(workload)
        self.preemptor.asked_column = NONE
        self.replaced = self.replaced_by(workload, queue)
        self.assign(workload, queue, False)
        self.find_targets(workload, queue)
        if not self.is_accepted() and self.partial_admission:
            self.reduce_counts(workload, queue)
        self.put_replaced_first()
        return self.renew_topology(workload, queue)

    cdef index_t replaced_by(self, index_t workload, index_t queue) noexcept nogil:
        """The older slice, if it holds quota of the same ClusterQueue (JS-603)."""
        cdef index_t old = self.workloads.replaces[workload]
        if not self.slices or old == NONE or self.workloads.reserved_in[old] != queue:
            return NONE
        return old

    cdef int put_replaced_first(self) except -1 nogil:
        """The replaced slice counts as the first victim of whatever can be accepted (QP-905)."""
        cdef Py_ssize_t i
        if self.replaced == NONE or not self.is_accepted():
            return 0
        self.preemptor.add_target(self.replaced, self.workloads.reserved_in[self.replaced], IN_CLUSTER_QUEUE)
        for i in range(self.preemptor.target_count - 1, 0, -1):
            self.preemptor.targets[i] = self.preemptor.targets[i - 1]
        self.preemptor.targets[0].workload = self.replaced
        self.preemptor.targets[0].queue = self.workloads.reserved_in[self.replaced]
        self.has_targets = True
        return 0

    cdef amount_t beyond_replaced(self, index_t workload, Py_ssize_t pod_set, Choice* choice) noexcept nogil:
        """What victims must make room for: the pods that the replaced slice does not have."""
        cdef int64_t count = self.results[pod_set].count, old
        if self.replaced == NONE:
            return choice.total
        old = self.workloads.count[self.workloads.pod_set_start[self.replaced] + pod_set]
        if count == 0:
            return 0
        return saturating_mul(choice.total // count, count - old)

    cdef int nominate_again(self, Py_ssize_t entry, index_t workload, index_t queue) except -1 nogil:
        """Places for a workload that holds its quota: flavors stay, and quota is not asked (TP-610, TP-1603)."""
        self.make_room(workload)
        self.preemptor.asked_column = NONE
        self.replaced = NONE
        self.second_pass = True
        self.unhealthy_first = self.again.unhealthy_start[entry]
        self.unhealthy_end = self.again.unhealthy_start[entry + 1]
        self.keep_places = self.again.keep[entry]
        self.take_held(entry, workload)
        self.place_pods(workload, queue)
        self.find_targets(workload, queue)
        self.renew_topology(workload, queue)
        self.second_pass = False
        self.unhealthy_first = self.unhealthy_end = 0
        self.keep_places = False
        return 0

    cdef int take_held(self, Py_ssize_t entry, index_t workload) except -1 nogil:
        """The assignment that a workload has already, as choices that fit."""
        cdef Py_ssize_t length = self.workloads.pod_set_length[workload]
        cdef Py_ssize_t p, i, row
        cdef Choice* choice
        row = self.again.held_start[entry + 1] - self.again.held_start[entry] + 1
        self.make_choices(row)
        self.choice_count = self.usage_count = self.reason_count = 0
        self.borrowing = 0
        self.mode = MODE_FIT
        self.result_count = length
        for p in range(length):
            row = self.again.pod_set_start[entry] + p
            self.results[p].count = self.again.pods[row]
            self.results[p].delayed = self.again.delayed[row]
            self.results[p].leader = <index_t> p
            self.results[p].mode = MODE_FIT
            self.results[p].tree = NONE
            self.results[p].first_domain = self.results[p].domains = 0
            self.results[p].first = self.choice_count
            for i in range(self.again.held_start[entry], self.again.held_start[entry + 1]):
                if self.again.held_pod_set[i] != p:
                    continue
                choice = &self.choices[self.choice_count]
                choice.slot = NONE
                choice.resource = self.again.held_resource[i]
                choice.amount = choice.total = self.again.held_amount[i]
                choice.flavor = self.again.held_flavor[i]
                choice.possibility = FIT
                choice.borrow = 0
                choice.tried = NONE
                self.choice_count += 1
            self.results[p].length = self.choice_count - self.results[p].first
        return 0

    cdef int renew_topology(self, index_t workload, index_t queue) except -1 nogil:
        """Where a preemptor's pods will stand: once its victims are gone, or as if nobody were there (TP-1204)."""
        cdef Py_ssize_t mark, i
        if (
            not self.placing or self.mode != MODE_PREEMPT or self.unhealthy_first != self.unhealthy_end
            or not self.asks_any(workload, queue)
        ):
            return 0
        if not self.has_targets:
            return self.renew_places(workload, queue, AS_EMPTY)
        mark = self.preemptor.journal.length
        for i in range(self.preemptor.target_count):
            self.preemptor.usage.remove(self.preemptor.targets[i].workload, self.preemptor.targets[i].queue)
        self.renew_places(workload, queue, AS_USED)
        self.forest.roll_back(self.preemptor.journal, mark)
        return 0

    cdef bint is_accepted(self) noexcept nogil:
        return self.mode == MODE_FIT or (self.mode == MODE_PREEMPT and self.has_targets)

    cdef int find_targets(self, index_t workload, index_t queue) except -1 nogil:
        """Victims for the assignment, if it needs preemption (QP-631, QP-632)."""
        cdef Py_ssize_t i, p
        cdef index_t column
        self.has_targets = False
        if self.mode != MODE_PREEMPT:
            self.preemptor.target_count = 0
            return 0
        self.preemptor.candidates.start(workload, queue)
        for p in range(self.result_count):
            for i in range(self.results[p].first, self.results[p].first + self.results[p].length):
                if self.choices[i].flavor == NONE:
                    continue
                column = self.flavors.column[self.choices[i].flavor, self.choices[i].resource]
                if column == NONE:
                    continue
                if mode_of(self.choices[i].possibility) == MODE_PREEMPT:
                    self.preemptor.candidates.need(column)
                if self.choices[i].total != 0:
                    self.preemptor.candidates.require(column, self.beyond_replaced(workload, p, &self.choices[i]))
        self.preemptor.placements = self.placements
        self.preemptor.placement_count = self.placement_count
        if self.placement_count > 0 or not self.is_answered():
            self.preemptor.search()
        self.preemptor.placement_count = 0
        self.has_targets = self.preemptor.target_count > 0
        return 0

    cdef bint is_answered(self) noexcept nogil:
        """Whether the flavor search asked for just these victims last: nothing has changed since."""
        return (
            self.preemptor.asked_column != NONE
            and self.preemptor.candidates.needed_count == 1
            and self.preemptor.candidates.needed[0] == self.preemptor.asked_column
            and self.preemptor.candidates.required_count == 1
            and self.preemptor.candidates.required[0].column == self.preemptor.asked_column
            and self.preemptor.candidates.required[0].amount == self.preemptor.asked_value
        )

    cdef int reduce_counts(self, index_t workload, index_t queue) except -1 nogil:
        """Binary search for the least reduction of pod counts that is accepted (QP-531, QP-532).

        The probe order is upstream's, since what is accepted need not be monotone once preemption is asked.
        """
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef Py_ssize_t length = self.workloads.pod_set_length[workload]
        cdef int64_t total = 0, low = 0, high, middle, accepted = -1, last = -1
        cdef Py_ssize_t p
        for p in range(first, first + length):
            if self.workloads.min_count[p] != NONE:
                total += self.workloads.full_count[p] - self.workloads.min_count[p]
        if total <= 0:
            return 0
        high = total + 1
        while low < high:
            middle = (low + high) // 2
            self.set_counts(first, length, middle, total)
            self.assign(workload, queue, True)
            self.find_targets(workload, queue)
            last = middle
            if self.is_accepted():
                accepted = middle
                high = middle
            else:
                low = middle + 1
        if accepted == low:
            if last != accepted:
                self.set_counts(first, length, accepted, total)
                self.assign(workload, queue, True)
                self.find_targets(workload, queue)
        else:
            self.assign(workload, queue, False)
            self.has_targets = False
            self.preemptor.target_count = 0
        return 0

    cdef void set_counts(self, Py_ssize_t first, Py_ssize_t length, int64_t step, int64_t total) noexcept nogil:
        cdef Py_ssize_t p
        cdef int64_t most
        for p in range(length):
            self.counts[p] = self.workloads.full_count[first + p]
            if self.workloads.min_count[first + p] != NONE:
                most = self.workloads.full_count[first + p] - self.workloads.min_count[first + p]
                # up to 2^31 pods each way: the product of the two fits 64 bits
                self.counts[p] -= most * step // total
