"""Heaps and parked lists of the ClusterQueues. See the .pxd."""

import numpy as np

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from kueuecore._classes cimport ClassEntry, Classes
from kueuecore._types cimport (
    HEAP, INFLIGHT, NAMESPACE_MATCHES, NONE, NOWHERE, PARKED, REQUEUE_FAILED_AFTER_NOMINATION,
    REQUEUE_NAMESPACE_MISMATCH, REQUEUE_NO_CANDIDATES, REQUEUE_NO_FIT, REQUEUE_PENDING_MIGRATION,
    REQUEUE_PENDING_PREEMPTION, REQUEUE_PREEMPTION_FAILED, Requeue, index_t,
)
from kueuecore._workloads cimport Workloads

from kueuecore._forest import _grown


cdef class Pending:
    """Pending workloads of all ClusterQueues; `queue` is a forest row, `workload` a row of Workloads."""

    def __cinit__(self):
        self.queues = NULL
        self.queue_capacity = 0

    def __init__(self, Workloads workloads not None, bint hashing=True):
        self.workloads = workloads
        self.classes = Classes()
        self.hashing = hashing
        self.strict = np.zeros(0, np.uint8)
        self.namespace_match = np.zeros((0, 0), np.uint8)

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.queue_capacity):
            free(self.queues[i].heap.items)
            free(self.queues[i].parked.items)
        free(self.queues)

    def reserve(self, Py_ssize_t nodes, Py_ssize_t namespaces):
        """Make room for so many forest rows and namespaces; new namespaces are missing ones."""
        cdef Py_ssize_t i, size
        cdef Queue* grown
        matches = np.asarray(self.namespace_match)
        if nodes > matches.shape[0] or namespaces > matches.shape[1]:
            shape = tuple(
                max(have, want if want <= have else want + want // 2 + 4)
                for have, want in zip(matches.shape, (nodes, namespaces), strict=True)
            )
            self.namespace_match = _grown(matches, shape)
        if nodes > self.queue_capacity:
            size = self.namespace_match.shape[0]
            self.strict = _grown(np.asarray(self.strict), (size,))
            grown = <Queue*> realloc(self.queues, size * sizeof(Queue))
            if grown == NULL:
                raise MemoryError("queues")
            memset(grown + self.queue_capacity, 0, (size - self.queue_capacity) * sizeof(Queue))
            for i in range(self.queue_capacity, size):
                grown[i].inflight = NONE
                grown[i].sticky = NONE
                grown[i].preemptor = NONE
                grown[i].flush_cycle = -1
            self.queues = grown
            self.queue_capacity = size
            self.classes.reserve(size)

    cdef int check(self, Py_ssize_t nodes) except -1:
        """One row for each node. Raises ValueError naming the array."""
        for name in ("strict", "namespace_match"):
            rows = np.asarray(getattr(self, name)).shape[0]
            if rows < nodes:
                raise ValueError(f"{name}: {rows} rows, expected one for each of {nodes} nodes")
        if self.queue_capacity < nodes:
            raise ValueError(f"queues: room for {self.queue_capacity}, expected {nodes}: reserve makes it")
        return 0

    cdef int check_queue(self, index_t queue) except -1:
        if not 0 <= queue < self.queue_capacity:
            raise ValueError(f"queue {queue}: expected a forest row from 0 to {self.queue_capacity - 1}")
        return 0

    cdef int check_workload(self, index_t workload) except -1:
        if not 0 <= workload < self.workloads.rows:
            raise ValueError(f"workload {workload}: expected a row from 0 to {self.workloads.rows - 1}")
        return 0

    # --- heap

    cdef bint precedes(self, Queue* queue, index_t a, index_t b) noexcept nogil:
        cdef double use_a, use_b
        if queue.usage_based:
            use_a = self.workloads.local_queue_usage[self.workloads.local_queue[a]]
            use_b = self.workloads.local_queue_usage[self.workloads.local_queue[b]]
            if use_a != use_b:
                return use_a < use_b
        if queue.sticky != NONE and (a == queue.sticky) != (b == queue.sticky):
            return a == queue.sticky
        return self.workloads.before(a, b)

    cdef void sift_up(self, Queue* queue, Py_ssize_t at) noexcept nogil:
        cdef index_t* items = queue.heap.items
        cdef index_t moving = items[at]
        cdef Py_ssize_t above
        while at > 0:
            above = (at - 1) >> 1
            if not self.precedes(queue, moving, items[above]):
                break
            items[at] = items[above]
            self.workloads.position[items[at]] = <index_t> at
            at = above
        items[at] = moving
        self.workloads.position[moving] = <index_t> at

    cdef void sift_down(self, Queue* queue, Py_ssize_t at) noexcept nogil:
        cdef index_t* items = queue.heap.items
        cdef Py_ssize_t length = queue.heap.length
        cdef index_t moving = items[at]
        cdef Py_ssize_t below = 2 * at + 1
        while below < length:
            if below + 1 < length and self.precedes(queue, items[below + 1], items[below]):
                below += 1
            if not self.precedes(queue, items[below], moving):
                break
            items[at] = items[below]
            self.workloads.position[items[at]] = <index_t> at
            at = below
            below = 2 * at + 1
        items[at] = moving
        self.workloads.position[moving] = <index_t> at

    cdef void heapify(self, Queue* queue) noexcept nogil:
        """Bring the heap in order after the order itself changed."""
        cdef Py_ssize_t i
        for i in range(queue.heap.length // 2 - 1, -1, -1):
            self.sift_down(queue, i)

    cdef int append(self, Rows* rows, index_t workload) except -1 nogil:
        cdef Py_ssize_t capacity
        cdef index_t* grown
        if rows.length == rows.capacity:
            capacity = 2 * rows.capacity + 8
            grown = <index_t*> realloc(rows.items, capacity * sizeof(index_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("pending workloads")
            rows.items = grown
            rows.capacity = capacity
        rows.items[rows.length] = workload
        self.workloads.position[workload] = <index_t> rows.length
        rows.length += 1
        return 0

    # --- moves of a whole class

    cdef int park_class(self, index_t queue, index_t shape) except -1 nogil:
        """Record a class as parked and park every workload of it that is in the heap (QC-46)."""
        cdef ClassEntry* entry = self.classes.make(queue, shape)
        cdef Queue* q = &self.queues[queue]
        cdef Py_ssize_t i, kept = 0
        cdef index_t workload
        entry.flush_count = self.classes.flush_counts[queue]
        if entry.in_heap == 0:
            return 0
        entry.in_heap = 0
        for i in range(q.heap.length):
            workload = q.heap.items[i]
            if self.workloads.counted_shape[workload] == shape:
                self.append(&q.parked, workload)
                self.workloads.place[workload] = PARKED
            else:
                q.heap.items[kept] = workload
                self.workloads.position[workload] = <index_t> kept
                kept += 1
        q.heap.length = kept
        self.heapify(q)
        return 0

    # --- moves

    cdef int push(self, index_t queue, index_t workload) except -1 nogil:
        cdef Queue* q = &self.queues[queue]
        self.append(&q.heap, workload)
        self.workloads.place[workload] = HEAP
        self.workloads.placed_in[workload] = queue
        self.workloads.counted_shape[workload] = self.workloads.shape[workload]
        if self.workloads.shape[workload] != NONE:
            self.classes.make(queue, self.workloads.shape[workload]).in_heap += 1
        self.sift_up(q, q.heap.length - 1)
        return 0

    cdef int park(self, index_t queue, index_t workload) except -1 nogil:
        self.append(&self.queues[queue].parked, workload)
        self.workloads.place[workload] = PARKED
        self.workloads.placed_in[workload] = queue
        return 0

    cdef void take_out(self, index_t workload) noexcept nogil:
        """Remove a workload from wherever it waits."""
        cdef Queue* q
        cdef Py_ssize_t at
        cdef index_t last
        cdef ClassEntry* entry
        if self.workloads.place[workload] == NOWHERE:
            return
        q = &self.queues[self.workloads.placed_in[workload]]
        at = self.workloads.position[workload]
        if self.workloads.place[workload] == HEAP:
            if self.workloads.counted_shape[workload] != NONE:
                entry = self.classes.find(self.workloads.placed_in[workload], self.workloads.counted_shape[workload])
                if entry != NULL:
                    entry.in_heap -= 1
            q.heap.length -= 1
            last = q.heap.items[q.heap.length]
            if last != workload:
                q.heap.items[at] = last
                self.workloads.position[last] = <index_t> at
                self.sift_up(q, at)
                self.sift_down(q, self.workloads.position[last])
        elif self.workloads.place[workload] == PARKED:
            q.parked.length -= 1
            last = q.parked.items[q.parked.length]
            if last != workload:
                q.parked.items[at] = last
                self.workloads.position[last] = <index_t> at
        elif q.inflight == workload:
            q.inflight = NONE
        self.workloads.place[workload] = NOWHERE
        self.workloads.placed_in[workload] = NONE

    cdef index_t pop(self, index_t queue) except -2 nogil:
        """The first of the heap, in flight from now on; NONE from an empty heap (QC-25)."""
        cdef Queue* q = &self.queues[queue]
        cdef index_t workload
        q.pop_cycle += 1
        if q.inflight != NONE:
            self.workloads.place[q.inflight] = NOWHERE
            self.workloads.placed_in[q.inflight] = NONE
            q.inflight = NONE
        if q.heap.length == 0:
            return NONE
        if q.usage_based:
            # use changes between pops; upstream may pop from a stale heap then (QC-15)
            self.heapify(q)
        workload = q.heap.items[0]
        self.take_out(workload)
        self.workloads.place[workload] = INFLIGHT
        self.workloads.placed_in[workload] = queue
        q.inflight = workload
        return workload

    cdef int settle(self, index_t queue, index_t workload) except -1 nogil:
        """An admitted head leaves its queue for good, with its marks (QC-9, QC-18)."""
        cdef Queue* q = &self.queues[queue]
        self.take_out(workload)
        if q.preemptor == workload:
            q.preemptor = NONE
        if q.sticky == workload:
            self.set_sticky(q, NONE)
        return 0

    cdef bint is_preemptor(self, index_t queue, index_t workload) noexcept nogil:
        """Whether a workload, unchanged since, waits for victims that it chose (QC-18)."""
        cdef Queue* q = &self.queues[queue]
        return q.preemptor == workload and q.preemptor_generation == self.workloads.generation[workload]

    cdef void set_sticky(self, Queue* queue, index_t workload) noexcept nogil:
        """Change who goes first; the one before it falls back to its own place in the heap."""
        cdef index_t before = queue.sticky
        queue.sticky = workload
        if before != NONE and before != workload and self.workloads.place[before] == HEAP:
            self.sift_down(queue, self.workloads.position[before])
        if workload != NONE and self.workloads.place[workload] == HEAP:
            self.sift_up(queue, self.workloads.position[workload])

    cdef int requeue(self, index_t queue, index_t workload, Requeue reason, int64_t now) except -1 nogil:
        """Place a head that was neither admitted nor evicted (QC-22, QC-23)."""
        cdef Queue* q = &self.queues[queue]
        cdef bint immediate
        if reason == REQUEUE_PENDING_PREEMPTION or reason == REQUEUE_PENDING_MIGRATION:
            q.preemptor = workload
            q.preemptor_generation = self.workloads.generation[workload]
            self.set_sticky(q, NONE if self.strict[queue] else workload)
        self.take_out(workload)
        if self.strict[queue]:
            immediate = reason != REQUEUE_NAMESPACE_MISMATCH
        else:
            immediate = (
                reason == REQUEUE_FAILED_AFTER_NOMINATION or reason == REQUEUE_PENDING_PREEMPTION
                or reason == REQUEUE_PENDING_MIGRATION or reason == REQUEUE_PREEMPTION_FAILED
            )
        if self.workloads.backoff_is_over(workload, now) and (
            immediate or q.flush_cycle >= q.pop_cycle or self.workloads.has_pending_flavors(workload)
        ):
            return self.push(queue, workload)
        self.park(queue, workload)
        if (
            self.hashing and not self.strict[queue] and self.workloads.shape[workload] != NONE
            and (reason == REQUEUE_NO_FIT or reason == REQUEUE_NO_CANDIDATES)
        ):
            self.park_class(queue, self.workloads.shape[workload])
        return 0

    # --- events, called by the border

    def put(self, index_t workload, int64_t now, bint changed=True):
        """Queue a workload that was created or updated, in the ClusterQueue of its row (QC-20).

        `changed`: something that matters to scheduling differs from the stored copy (QC-27). A workload that is in
        the heap finds its new place. Returns True if it is in the heap afterwards.
        """
        self.check_workload(workload)
        cdef index_t queue = self.workloads.queue[workload]
        self.check_queue(queue)
        if self.workloads.place[workload] == INFLIGHT:
            return False
        if self.workloads.place[workload] == PARKED and not changed:
            return False
        if self.workloads.place[workload] == HEAP:
            self.take_out(workload)
            self.push(queue, workload)
            return True
        self.take_out(workload)
        if not self.workloads.backoff_is_over(workload, now):
            self.park(queue, workload)
            return False
        if self.hashing and not self.strict[queue] and self.workloads.shape[workload] != NONE:
            if self.classes.is_parked(queue, self.workloads.shape[workload]):
                self.park(queue, workload)
                return False
        self.push(queue, workload)
        return True

    def put_new(self, index_t row, index_t queue, index_t local_queue, index_t namespace, index_t shape,
                int64_t priority, int64_t timestamp, str uid not None, index_t pod_set_start, index_t pod_set_length,
                index_t slot_start, bint invalid, int64_t generation):
        """Write the row of a workload that was just created, without status, and queue it: `write` and `put` in one.

        Raises ValueError as these do.
        """
        self.workloads.write_row(
            row, queue, local_queue, namespace, shape, priority, timestamp, 0, False, invalid, False, uid,
            pod_set_start, pod_set_length, slot_start, False,
        )
        self.workloads.generation[row] = generation
        if queue == NONE:
            return
        self.check_queue(queue)
        if (
            self.hashing and not self.strict[queue] and shape != NONE and self.classes.is_parked(queue, shape)
        ):
            self.park(queue, row)
        else:
            self.push(queue, row)

    def put_back(self, index_t workload):
        """Queue a workload of a LocalQueue that was added or resumed: no backoff, no class is looked at (QC-29)."""
        self.check_workload(workload)
        self.check_queue(self.workloads.queue[workload])
        if self.workloads.place[workload] != NOWHERE:
            return False
        self.push(self.workloads.queue[workload], workload)
        return True

    def remove(self, index_t workload):
        """Take a workload out of its queue, with its marks (QC-9)."""
        self.check_workload(workload)
        cdef index_t queue = self.workloads.placed_in[workload]
        if queue != NONE:
            self.settle(queue, workload)

    def flush(self, index_t queue, int64_t now):
        """Move parked workloads of one ClusterQueue back to its heap; returns how many (QC-37)."""
        self.check_queue(queue)
        cdef Queue* q = &self.queues[queue]
        cdef Py_ssize_t i, kept = 0, moved = 0, length = q.parked.length
        cdef index_t workload
        q.flush_cycle = q.pop_cycle
        self.classes.forget_parked(queue)
        q.parked.length = 0
        for i in range(length):
            workload = q.parked.items[i]
            if (
                self.namespace_match[queue, self.workloads.namespace[workload]] == NAMESPACE_MATCHES
                and self.workloads.backoff_is_over(workload, now)
            ):
                self.push(queue, workload)
                moved += 1
            else:
                q.parked.items[kept] = workload
                self.workloads.position[workload] = <index_t> kept
                kept += 1
        q.parked.length = kept
        return moved

    def set_usage_based(self, index_t queue, bint usage_based):
        """Whether a ClusterQueue orders its workloads by the past use of their LocalQueues (QC-13)."""
        self.check_queue(queue)
        self.queues[queue].usage_based = usage_based
        self.heapify(&self.queues[queue])

    def close_queue(self, index_t queue):
        """Empty a queue whose ClusterQueue is gone; its workloads are nowhere afterwards. Returns their rows."""
        self.check_queue(queue)
        cdef Queue* q = &self.queues[queue]
        rows = self.heap_rows(queue) + self.parked_rows(queue)
        if q.inflight != NONE:
            rows.append(q.inflight)
        for row in rows:
            self.take_out(row)
        q.sticky = NONE
        q.preemptor = NONE
        q.pop_cycle = 0
        q.flush_cycle = -1
        self.classes.forget_parked(queue)
        q.usage_based = False
        return rows

    # --- questions

    def heap_rows(self, index_t queue):
        """Rows in the heap, in heap order."""
        self.check_queue(queue)
        return [self.queues[queue].heap.items[i] for i in range(self.queues[queue].heap.length)]

    def parked_rows(self, index_t queue):
        """Rows that are parked."""
        self.check_queue(queue)
        return [self.queues[queue].parked.items[i] for i in range(self.queues[queue].parked.length)]

    def heap_length(self, index_t queue):
        """Number of workloads in the heap."""
        self.check_queue(queue)
        return self.queues[queue].heap.length

    def parked_length(self, index_t queue):
        """Number of parked workloads."""
        self.check_queue(queue)
        return self.queues[queue].parked.length

    def goes_before(self, index_t queue, index_t a, index_t b):
        """Whether `a` comes out of the heap of a ClusterQueue before `b`, if both wait there (QC-11, QC-13, QC-18)."""
        self.check_queue(queue)
        self.check_workload(a)
        self.check_workload(b)
        return self.precedes(&self.queues[queue], a, b)

    def place_of(self, index_t workload):
        """0 nowhere, 1 in the heap, 2 parked, 3 in flight."""
        self.check_workload(workload)
        return self.workloads.place[workload]
