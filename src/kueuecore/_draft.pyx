"""What an assignment is written into: requests of a group summed, choices, usage and reasons. See the .pxd."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove

from kueuecore._amount cimport add_plain, saturating_add, saturating_mul
from kueuecore._types cimport NONE, Possibility, ReasonCode, amount_t, index_t


cdef class Draft:
    """One assignment at a time; the next one overwrites it."""

    def __cinit__(self):
        self.choices = NULL
        self.results = NULL
        self.usage = NULL
        self.reasons = NULL
        self.requests = NULL
        self.counts = NULL
        self.done = NULL
        self.attempts = NULL
        self.attempt_reasons = NULL
        self.keeps_attempts = False
        self.choice_capacity = self.result_capacity = self.reason_capacity = 0
        self.attempt_count = self.attempt_reason_count = self.attempt_capacity = self.attempt_reason_capacity = 0

    def __dealloc__(self):
        free(self.choices)
        free(self.results)
        free(self.usage)
        free(self.reasons)
        free(self.requests)
        free(self.counts)
        free(self.done)
        free(self.attempts)
        free(self.attempt_reasons)

    cdef int make_room(self, index_t workload) except -1 nogil:
        """Scratch for one workload: as many choices as it has slots."""
        cdef Py_ssize_t pod_sets = self.workloads.pod_set_length[workload]
        cdef Py_ssize_t slots = self.workloads.slot_length[workload] + 1
        cdef bint enough = True
        if pod_sets > self.result_capacity:
            self.result_capacity = 2 * pod_sets
            self.results = <PodSetResult*> realloc(self.results, self.result_capacity * sizeof(PodSetResult))
            self.counts = <int64_t*> realloc(self.counts, self.result_capacity * sizeof(int64_t))
            self.done = <unsigned char*> realloc(self.done, self.result_capacity)
            enough = self.results != NULL and self.counts != NULL and self.done != NULL
        if not enough:
            with gil:
                raise MemoryError("assignment")
        return self.make_choices(slots)

    cdef int make_choices(self, Py_ssize_t slots) except -1 nogil:
        if slots > self.choice_capacity:
            self.choice_capacity = 2 * slots
            self.choices = <Choice*> realloc(self.choices, self.choice_capacity * sizeof(Choice))
            self.usage = <ColumnUsage*> realloc(self.usage, self.choice_capacity * sizeof(ColumnUsage))
            self.requests = <Request*> realloc(self.requests, self.choice_capacity * sizeof(Request))
            if self.choices == NULL or self.usage == NULL or self.requests == NULL:
                with gil:
                    raise MemoryError("assignment")
        return 0

    cdef int collect_requests(self, index_t workload, index_t queue, index_t leader) except -1 nogil:
        """Sum the members' requests, in rank order, and open a choice for each of theirs (QP-405, QP-410)."""
        cdef Py_ssize_t first = self.workloads.pod_set_start[workload]
        cdef Py_ssize_t length = self.workloads.pod_set_length[workload]
        cdef Py_ssize_t member, row, i, r
        cdef index_t group = self.workloads.group[first + leader]
        cdef index_t pods = self.flavors.pods_resource
        cdef bint count_pods = pods != NONE and self.flavors.group_of[queue, pods] != NONE
        cdef bint has_pods
        cdef Choice* choice
        cdef int64_t count, full
        self.request_count = 0
        for member in range(leader, length):
            row = first + member
            if self.workloads.group[row] != group:
                continue
            self.done[member] = True
            self.results[member].first = self.choice_count
            self.results[member].leader = leader
            full = self.workloads.count[row]
            count = self.results[member].count
            has_pods = False
            r = self.workloads.request_start[self.workloads.request_class[row]]
            for i in range(self.workloads.request_length[self.workloads.request_class[row]]):
                choice = &self.choices[self.choice_count]
                choice.slot = self.workloads.pod_set_slot[row] + <index_t> i
                choice.resource = self.workloads.request_resource[r + i]
                choice.amount = saturating_mul(self.workloads.request_amount[r + i], full)
                if count != full and full != 0:
                    choice.amount = saturating_mul(choice.amount // full, count)
                choice.total = choice.amount
                if count_pods and choice.resource == pods:
                    choice.amount = count
                    has_pods = True
                choice.flavor = NONE
                self.choice_count += 1
                self.merge_request(choice.resource, choice.amount)
            if count_pods and not has_pods:
                choice = &self.choices[self.choice_count]
                choice.slot = self.workloads.pod_set_slot[row] + self.workloads.pod_set_slots[row] - 1
                choice.resource = pods
                choice.amount = count
                choice.total = 0
                choice.flavor = NONE
                self.choice_count += 1
                self.merge_request(pods, count)
            self.results[member].length = self.choice_count - self.results[member].first
        return 0

    cdef void merge_request(self, index_t resource, amount_t amount) noexcept nogil:
        cdef Py_ssize_t at = self.request_count
        cdef index_t rank = self.flavors.resource_rank[resource]
        while at > 0 and self.flavors.resource_rank[self.requests[at - 1].resource] > rank:
            at -= 1
        if at > 0 and self.requests[at - 1].resource == resource:
            self.requests[at - 1].amount = saturating_add(self.requests[at - 1].amount, amount)
            return
        memmove(&self.requests[at + 1], &self.requests[at], (self.request_count - at) * sizeof(Request))
        self.requests[at].resource = resource
        self.requests[at].amount = amount
        self.requests[at].flavor = NONE
        self.request_count += 1

    cdef void book(self, index_t column, amount_t amount) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.usage_count):
            if self.usage[i].column == column:
                self.usage[i].amount = add_plain(self.usage[i].amount, amount)
                return
        self.usage[self.usage_count].column = column
        self.usage[self.usage_count].amount = amount
        self.usage_count += 1

    cdef amount_t booked(self, index_t column) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.usage_count):
            if self.usage[i].column == column:
                return self.usage[i].amount
        return 0

    # --- one resource group of one group of pod sets

    cdef int note(
        self, ReasonCode code, index_t pod_set, index_t flavor, index_t resource,
        amount_t first, amount_t second, amount_t third
    ) except -1 nogil:
        cdef Py_ssize_t capacity
        cdef Reason* grown
        if self.reason_count == self.reason_capacity:
            capacity = 2 * self.reason_capacity + 32
            grown = <Reason*> realloc(self.reasons, capacity * sizeof(Reason))
            if grown == NULL:
                with gil:
                    raise MemoryError("reasons")
            self.reasons = grown
            self.reason_capacity = capacity
        self.reasons[self.reason_count].code = code
        self.reasons[self.reason_count].pod_set = pod_set
        self.reasons[self.reason_count].flavor = flavor
        self.reasons[self.reason_count].resource = resource
        self.reasons[self.reason_count].first = first
        self.reasons[self.reason_count].second = second
        self.reasons[self.reason_count].third = third
        self.reason_count += 1
        return 0

    cdef int keep_attempt(
        self, index_t leader, index_t flavor, Possibility possibility, int32_t borrow, Py_ssize_t first_reason
    ) except -1 nogil:
        """Keep how a flavor did, with the reasons that were noted from `first_reason` on (QP-465)."""
        cdef Py_ssize_t reasons = self.reason_count - first_reason
        cdef void* grown
        if self.attempt_count == self.attempt_capacity:
            grown = realloc(self.attempts, (2 * self.attempt_capacity + 16) * sizeof(Attempt))
            if grown == NULL:
                with gil:
                    raise MemoryError("attempts")
            self.attempts = <Attempt*> grown
            self.attempt_capacity = 2 * self.attempt_capacity + 16
        if self.attempt_reason_count + reasons > self.attempt_reason_capacity:
            grown = realloc(self.attempt_reasons, 2 * (self.attempt_reason_count + reasons) * sizeof(Reason))
            if grown == NULL:
                with gil:
                    raise MemoryError("reasons of attempts")
            self.attempt_reasons = <Reason*> grown
            self.attempt_reason_capacity = 2 * (self.attempt_reason_count + reasons)
        self.attempts[self.attempt_count].leader = leader
        self.attempts[self.attempt_count].flavor = flavor
        self.attempts[self.attempt_count].possibility = possibility
        self.attempts[self.attempt_count].borrow = borrow
        self.attempts[self.attempt_count].reasons = reasons
        self.attempt_count += 1
        if reasons > 0:
            memcpy(
                &self.attempt_reasons[self.attempt_reason_count], &self.reasons[first_reason], reasons * sizeof(Reason)
            )
            self.attempt_reason_count += reasons
        return 0
