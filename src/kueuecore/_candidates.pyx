"""Collecting and sorting of preemption candidates. See the .pxd."""

from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from kueuecore._amount cimport add, floored, sub
from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._held cimport Held, HeldRows
from kueuecore._types cimport NONE, amount_t, index_t
from kueuecore._usage cimport ColumnUsage
from kueuecore._workloads cimport Workloads

cdef enum:
    BUFFER_SECONDS = 300     # SchedulerTimestampPreemptionBuffer


cdef class Candidates:
    """The candidates for one preemptor, against the usage that the forest holds now."""

    def __cinit__(self):
        self.needed = NULL
        self.is_needed = NULL
        self.required = NULL
        self.items = NULL
        self.remaining = NULL
        self.scratch = NULL
        self.group = NULL
        self.group_capacity = 0
        self.capacity = self.scratch_capacity = self.column_capacity = 0
        self.needed_count = self.required_count = self.count = 0

    def __init__(self, Forest forest not None, Flavors flavors not None, Workloads workloads not None,
                 Held held not None):
        self.forest = forest
        self.flavors = flavors
        self.workloads = workloads
        self.held = held
        self.timestamp_buffer = False
        self.now = 0

    def __dealloc__(self):
        free(self.needed)
        free(self.is_needed)
        free(self.required)
        free(self.items)
        free(self.remaining)
        free(self.scratch)
        free(self.group)

    # --- what is searched for

    cdef int start(self, index_t preemptor, index_t queue) except -1 nogil:
        """Begin the description of a search: nothing needed, nothing required yet."""
        cdef Py_ssize_t i
        self.reserve_columns()
        for i in range(self.needed_count):
            self.is_needed[self.needed[i]] = False
        self.preemptor = preemptor
        self.queue = queue
        self.needed_count = self.required_count = self.count = 0
        return 0

    cdef int reserve_columns(self) except -1 nogil:
        cdef Py_ssize_t size = self.forest.usage.shape[1]
        cdef bint enough
        if size <= self.column_capacity:
            return 0
        self.needed = <index_t*> realloc(self.needed, size * sizeof(index_t))
        self.is_needed = <uint8_t*> realloc(self.is_needed, size)
        self.required = <ColumnUsage*> realloc(self.required, size * sizeof(ColumnUsage))
        self.remaining = <amount_t*> realloc(self.remaining, size * sizeof(amount_t))
        enough = (
            self.needed != NULL and self.is_needed != NULL and self.required != NULL and self.remaining != NULL
        )
        if not enough:
            with gil:
                raise MemoryError("preemption")
        memset(self.is_needed + self.column_capacity, 0, size - self.column_capacity)
        self.column_capacity = size
        return 0

    cdef int need(self, index_t column) except -1 nogil:
        if not self.is_needed[column]:
            self.is_needed[column] = True
            self.needed[self.needed_count] = column
            self.needed_count += 1
        return 0

    cdef int require(self, index_t column, amount_t amount) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(self.required_count):
            if self.required[i].column == column:
                self.required[i].amount = add(self.required[i].amount, amount)
                return 0
        self.required[self.required_count].column = column
        self.required[self.required_count].amount = amount
        self.required_count += 1
        return 0

    # --- classical

    cdef int collect_classical(self) except -1 nogil:
        """Candidates of the own queue and of the cohort tree, in search order (QP-701..705)."""
        cdef uint8_t within = self.flavors.within_policy[self.queue]
        cdef uint8_t reclaim = self.flavors.reclaim_policy[self.queue]
        cdef index_t cohort = self.forest.parent[self.queue]
        cdef index_t visited = self.queue
        cdef Py_ssize_t i
        cdef bint advantage
        self.count = 0
        if within != POLICY_NEVER:
            self.collect_queue(self.queue, NONE, SAME_QUEUE, within)
        if cohort != NONE and reclaim != POLICY_NEVER:
            for i in range(self.required_count):
                self.remaining[i] = self.required[i].amount
            advantage = self.leave_remainder(self.queue)
            while cohort != NONE:
                self.collect_below(cohort, visited, cohort, HIERARCHY if advantage else PRIORITY)
                if self.leave_remainder(cohort):
                    advantage = True
                visited = cohort
                cohort = self.forest.parent[cohort]
        self.sort(self.items, self.count, False)
        return self.sort_by_use(0, self.count)

    cdef bint leave_remainder(self, index_t node) noexcept nogil:
        """Whether the remaining request fits a node's subtree quota; what exceeds its local part remains (QP-310)."""
        cdef Py_ssize_t i
        cdef index_t column
        cdef bint fits = True
        for i in range(self.required_count):
            column = self.required[i].column
            if self.forest.subtree[node, column] < add(self.forest.usage[node, column], self.remaining[i]):
                fits = False
            self.remaining[i] = floored(sub(self.remaining[i], self.forest.local_available(node, column)))
        return fits

    cdef int collect_below(self, index_t node, index_t visited, index_t ancestor, int32_t list) except -1 nogil:
        """Candidates below a cohort, without the subtree that was visited; who is within nominal is protected."""
        cdef index_t child = self.forest.first_child[node]
        while child != NONE:
            if child != visited:
                if not self.forest.is_queue[child]:
                    if not self.is_within_nominal(child):
                        self.collect_below(child, visited, ancestor, list)
                elif self.forest.in_snapshot[child] and child != self.queue and not self.is_within_nominal(child):
                    self.collect_queue(child, ancestor, list, self.flavors.reclaim_policy[self.queue])
            child = self.forest.next_sibling[child]
        return 0

    cdef int collect_queue(self, index_t queue, index_t ancestor, int32_t list, uint8_t policy) except -1 nogil:
        """Workloads of one ClusterQueue that use what is needed and that the policy allows to preempt."""
        cdef HeldRows* rows = self.held.rows_of(queue)
        cdef Py_ssize_t i, size
        cdef index_t workload
        cdef Candidate* grown
        cdef Candidate* candidate
        for i in range(rows.length):
            workload = rows.items[i]
            if self.workloads.excluded[workload] or not self.satisfies(policy, workload):
                continue
            if not self.uses_needed(workload):
                continue
            if self.count == self.capacity:
                size = 2 * self.capacity + 64
                grown = <Candidate*> realloc(self.items, size * sizeof(Candidate))
                if grown == NULL:
                    with gil:
                        raise MemoryError("candidates")
                self.items = grown
                self.capacity = size
            candidate = &self.items[self.count]
            self.count += 1
            candidate.workload = workload
            candidate.queue = queue
            candidate.ancestor = ancestor
            candidate.list = list
            candidate.evicted = self.workloads.evicted[workload]
            candidate.priority = self.workloads.priority[workload]
            candidate.reserved_at = self.workloads.reserved_at[workload]
            if candidate.reserved_at == NONE:
                candidate.reserved_at = self.now
        return 0

    # --- fair sharing

    cdef int collect_fair(self) except -1 nogil:
        """Candidates ClusterQueue by ClusterQueue, each in search order, the queues in tree order (QP-721)."""
        cdef uint8_t within = self.flavors.within_policy[self.queue]
        cdef index_t root
        self.count = 0
        if within != POLICY_NEVER:
            self.collect_queue(self.queue, NONE, SAME_QUEUE, within)
            self.sort(self.items, self.count, False)
            self.sort_by_use(0, self.count)
        if self.forest.parent[self.queue] != NONE and self.flavors.reclaim_policy[self.queue] != POLICY_NEVER:
            root = self.forest.root_of(self.queue)
            self.collect_borrowers(root, root)
        return 0

    cdef int collect_borrowers(self, index_t node, index_t root) except -1 nogil:
        cdef index_t child = self.forest.first_child[node]
        cdef Py_ssize_t first
        while child != NONE:
            if not self.forest.is_queue[child]:
                self.collect_borrowers(child, root)
            elif self.forest.in_snapshot[child] and child != self.queue and self.is_borrowing(child):
                first = self.count
                self.collect_queue(child, root, PRIORITY, self.flavors.reclaim_policy[self.queue])
                self.sort(self.items + first, self.count - first, False)
                self.sort_by_use(first, self.count - first)
            child = self.forest.next_sibling[child]
        return 0

    # --- tests

    cdef bint is_within_nominal(self, index_t node) noexcept nogil:
        """Whether a node uses no more than its quota of all that is needed (QP-311)."""
        cdef Py_ssize_t i
        for i in range(self.needed_count):
            if self.forest.subtree[node, self.needed[i]] < self.forest.usage[node, self.needed[i]]:
                return False
        return True

    cdef bint is_borrowing(self, index_t node) noexcept nogil:
        """Whether a ClusterQueue borrows any of what is needed (QP-312)."""
        cdef Py_ssize_t i
        for i in range(self.needed_count):
            if self.forest.is_borrowing_with(node, self.needed[i], 0):
                return True
        return False

    cdef bint uses_needed(self, index_t workload) noexcept nogil:
        """Whether the admission assigns a needed flavor to its resource, whatever the amount (QP-610)."""
        cdef Py_ssize_t start = self.workloads.slot_start[workload]
        cdef Py_ssize_t s
        cdef index_t column
        for s in range(start, start + self.workloads.slot_length[workload]):
            if self.workloads.slot_flavor[s] >= 0:
                column = self.flavors.column[self.workloads.slot_flavor[s], self.workloads.slot_resource[s]]
                if column != NONE and self.is_needed[column]:
                    return True
        return False

    cdef bint satisfies(self, uint8_t policy, index_t candidate) noexcept nogil:
        """Whether a preemption policy lets the preemptor take a candidate (QP-601)."""
        cdef index_t preemptor = self.preemptor
        if policy == POLICY_ANY:
            return True
        if policy != POLICY_LOWER_PRIORITY and policy != POLICY_LOWER_OR_NEWER_EQUAL_PRIORITY:
            return False
        if self.workloads.priority[preemptor] != self.workloads.priority[candidate]:
            return self.workloads.priority[preemptor] > self.workloads.priority[candidate]
        if policy == POLICY_LOWER_PRIORITY:
            return False
        if self.timestamp_buffer:
            return (
                self.workloads.timestamp[candidate] - self.workloads.timestamp[preemptor]
                > <long long> BUFFER_SECONDS * 1000000000
            )
        return self.workloads.timestamp[preemptor] < self.workloads.timestamp[candidate]

    # --- order

    cdef bint precedes(self, Candidate* a, Candidate* b) noexcept nogil:
        """Search order: stopping already, list, low priority, reserved late, uid (QP-611, QP-705)."""
        if a.evicted != b.evicted:
            return a.evicted
        if a.list != b.list:
            return a.list < b.list
        if a.priority != b.priority:
            return a.priority < b.priority
        if a.reserved_at != b.reserved_at:
            return a.reserved_at > b.reserved_at
        return self.workloads.uid_before(a.workload, b.workload)

    cdef bint precedes_by_use(self, Candidate* a, Candidate* b) noexcept nogil:
        """Order of two candidates of one usage-based ClusterQueue: more used LocalQueues lose first (QP-611.3)."""
        cdef index_t queue_a = self.workloads.local_queue[a.workload]
        cdef index_t queue_b = self.workloads.local_queue[b.workload]
        cdef double use_a, use_b
        if queue_a != queue_b:
            use_a = self.workloads.local_queue_usage[queue_a]
            use_b = self.workloads.local_queue_usage[queue_b]
            if use_a != use_b:
                return use_a > use_b
        return self.precedes(a, b)

    cdef int sort_by_use(self, Py_ssize_t first, Py_ssize_t count) except -1 nogil:
        """Among the places that one usage-based ClusterQueue's candidates hold, order them by use.

        Upstream compares by use within a ClusterQueue only, which is no order over several; this is the one that equals
        it wherever it is one (QP-920).
        """
        cdef Py_ssize_t i, j, size
        cdef Candidate* items = self.items + first
        cdef Candidate* grown
        if count > self.group_capacity:
            grown = <Candidate*> realloc(self.group, 2 * count * sizeof(Candidate))
            if grown == NULL:
                with gil:
                    raise MemoryError("candidates")
            self.group = grown
            self.group_capacity = 2 * count
        for i in range(count):
            items[i].sorted_by_use = not self.flavors.usage_based[items[i].queue]
        for i in range(count):
            if items[i].sorted_by_use:
                continue
            size = 0
            for j in range(i, count):
                if self.is_same_group(&items[i], &items[j]):
                    self.group[size] = items[j]
                    size += 1
            self.sort(self.group, size, True)
            size = 0
            for j in range(i, count):
                if j == i or (not items[j].sorted_by_use and self.is_same_group(&self.group[0], &items[j])):
                    items[j] = self.group[size]
                    items[j].sorted_by_use = True
                    size += 1
        return 0

    cdef bint is_same_group(self, Candidate* a, Candidate* b) noexcept nogil:
        return a.queue == b.queue and a.list == b.list and a.evicted == b.evicted

    cdef int sort(self, Candidate* items, Py_ssize_t count, bint by_use) except -1 nogil:
        """Merge sort."""
        cdef Py_ssize_t width = 1, start, middle, end, i, j, k
        cdef Candidate* grown
        cdef bint later
        if count > self.scratch_capacity:
            grown = <Candidate*> realloc(self.scratch, 2 * count * sizeof(Candidate))
            if grown == NULL:
                with gil:
                    raise MemoryError("candidates")
            self.scratch = grown
            self.scratch_capacity = 2 * count
        while width < count:
            start = 0
            while start < count:
                middle = start + width if start + width < count else count
                end = start + 2 * width if start + 2 * width < count else count
                i, j = start, middle
                for k in range(start, end):
                    if i >= middle:
                        later = True
                    elif j >= end:
                        later = False
                    elif by_use:
                        later = self.precedes_by_use(&items[j], &items[i])
                    else:
                        later = self.precedes(&items[j], &items[i])
                    if later:
                        self.scratch[k] = items[j]
                        j += 1
                    else:
                        self.scratch[k] = items[i]
                        i += 1
                start = end
            memcpy(items, self.scratch, count * sizeof(Candidate))
            width *= 2
        return 0
