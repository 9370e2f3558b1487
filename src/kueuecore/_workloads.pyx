"""Order of workloads and the life of their scan progress. See the .pxd for the tables."""

import numpy as np

from libc.stdint cimport int64_t
from libc.string cimport memcmp

from kueuecore._types cimport NEVER_TRIED, NONE, NOWHERE, amount_t, index_t

from kueuecore._forest import _grown

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL


cdef class Workloads:
    """Rows of all workloads; the border writes them, the cycle reads and books."""

    ROWS = {
        "queue": np.int32, "reserved_in": np.int32, "replaces": np.int32, "admitted": np.uint8,
        "evicted": np.uint8, "evicting": np.uint8, "excluded": np.uint8, "unhealthy": np.uint8,
        "elastic": np.uint8, "gate_closed": np.uint8,
        "reserved_at": np.int64, "generation": np.int64,
        "local_queue": np.int32, "namespace": np.int32, "shape": np.int32,
        "priority": np.int64, "timestamp": np.int64, "requeue_at": np.int64,
        "requeue_blocked": np.uint8, "invalid": np.uint8, "checks_failed": np.uint8,
        "pod_set_start": np.int32, "pod_set_length": np.int32, "slot_start": np.int32, "slot_length": np.int32,
        "tried_cycle": np.int64, "tried_generation": np.int64, "tried_shape": np.int32,
    }
    POD_SETS = {
        "pod_set_name": np.int32, "request_class": np.int32, "eligibility": np.int32, "group": np.int32,
        "count": np.int64, "full_count": np.int64, "min_count": np.int64,
        "pod_set_slot": np.int32, "pod_set_slots": np.int32,
    }
    REQUEST_CLASSES = {"request_start": np.int32, "request_length": np.int32}
    REQUESTS = {"request_resource": np.int32, "request_amount": np.int64}
    SLOTS = {
        "slot_resource": np.int32, "slot_pod_set": np.int32, "slot_tried": np.int32, "slot_flavor": np.int32,
        "slot_amount": np.int64,
    }

    def __init__(self, Py_ssize_t uid_width=36):
        self.rows = 0
        for table in (self.ROWS, self.POD_SETS, self.REQUEST_CLASSES, self.REQUESTS, self.SLOTS):
            for name, dtype in table.items():
                setattr(self, name, np.zeros(0, dtype))
        self.uid = np.zeros((0, uid_width), np.uint8)
        self.local_queue_usage = np.zeros(0, np.float64)
        self.place = np.zeros(0, np.uint8)
        self.position = np.zeros(0, np.int32)
        self.placed_in = np.zeros(0, np.int32)
        self.counted_shape = np.zeros(0, np.int32)

    def reserve(self, Py_ssize_t rows=0, Py_ssize_t pod_sets=0, Py_ssize_t slots=0,
                Py_ssize_t request_classes=0, Py_ssize_t requests=0, Py_ssize_t uid_width=0):
        """Make room for so many rows of each table. Kept values stay, new ones are 0 (queues and places: none)."""
        for table, wanted in (
            (self.ROWS, rows), (self.POD_SETS, pod_sets), (self.SLOTS, slots),
            (self.REQUEST_CLASSES, request_classes), (self.REQUESTS, requests),
        ):
            first = np.asarray(getattr(self, next(iter(table))))
            if wanted > first.shape[0]:
                size = wanted + wanted // 4 + 16
                for name in table:
                    setattr(self, name, _grown(np.asarray(getattr(self, name)), (size,)))
        have = self.place.shape[0]
        if rows > have or uid_width > self.uid.shape[1]:
            size = self.queue.shape[0]
            self.uid = _grown(np.asarray(self.uid), (size, max(uid_width, self.uid.shape[1])))
        if rows > have:
            for name in ("queue", "reserved_in", "replaces", "tried_cycle"):
                np.asarray(getattr(self, name))[have:] = NONE
            self.place = _grown(np.asarray(self.place), (size,))
            self.position = _grown(np.asarray(self.position), (size,))
            self.placed_in = _grown(np.asarray(self.placed_in), (size,))
            self.counted_shape = _grown(np.asarray(self.counted_shape), (size,))
            np.asarray(self.placed_in)[have:] = NONE
        self.rows = max(self.rows, rows)

    cdef bint before(self, index_t a, index_t b) noexcept nogil:
        """Base order without stickiness: priority, timestamp, uid (QC-11)."""
        if self.priority[a] != self.priority[b]:
            return self.priority[a] > self.priority[b]
        if self.timestamp[a] != self.timestamp[b]:
            return self.timestamp[a] < self.timestamp[b]
        return self.uid_before(a, b)

    cdef bint uid_before(self, index_t a, index_t b) noexcept nogil:
        return memcmp(&self.uid[a, 0], &self.uid[b, 0], self.uid.shape[1]) < 0

    cdef bint has_pending_flavors(self, index_t workload) noexcept nogil:
        """Whether the recorded scan stopped before the last flavor of some resource (QC-40)."""
        cdef Py_ssize_t s
        if self.tried_cycle[workload] == NONE:
            return False
        for s in range(self.slot_start[workload], self.slot_start[workload] + self.slot_length[workload]):
            if self.slot_tried[s] >= 0:
                return True
        return False

    cdef void drop_progress(self, index_t workload) noexcept nogil:
        cdef Py_ssize_t s
        self.tried_cycle[workload] = NONE
        for s in range(self.slot_start[workload], self.slot_start[workload] + self.slot_length[workload]):
            self.slot_tried[s] = NEVER_TRIED

    cdef bint backoff_is_over(self, index_t workload, int64_t now) noexcept nogil:
        if self.requeue_blocked[workload]:
            return False
        return self.requeue_at[workload] == 0 or now >= self.requeue_at[workload]

    def write(self, index_t row, index_t queue, index_t local_queue, index_t namespace, index_t shape, int64_t priority,
              int64_t timestamp, int64_t requeue_at, bint requeue_blocked, bint invalid, bint checks_failed,
              str uid not None, index_t pod_set_start, index_t pod_set_length, index_t slot_start, bint keep_progress):
        """Write all facts of a pending workload in one call; its slots are laid out from its pod sets.

        `keep_progress`: the pod sets are as before, so the recorded flavor scan stays (QC-28).
        Raises ValueError where a row, a range or the uid does not fit its table.
        """
        self.write_row(
            row, queue, local_queue, namespace, shape, priority, timestamp, requeue_at, requeue_blocked, invalid,
            checks_failed, uid, pod_set_start, pod_set_length, slot_start, keep_progress,
        )

    cdef int write_row(
        self, index_t row, index_t queue, index_t local_queue, index_t namespace, index_t shape, int64_t priority,
        int64_t timestamp, int64_t requeue_at, bint requeue_blocked, bint invalid, bint checks_failed, str uid,
        index_t pod_set_start, index_t pod_set_length, index_t slot_start, bint keep_progress
    ) except -1:
        cdef Py_ssize_t i, p, s, r
        if not 0 <= row < self.rows:
            raise ValueError(f"workload {row}: expected a row from 0 to {self.rows - 1}")
        if not 0 <= pod_set_start <= pod_set_start + pod_set_length <= self.count.shape[0]:
            raise ValueError(f"workload {row}: pod sets reach outside their table")
        if slot_start < 0:
            raise ValueError(f"slot_start: {slot_start}, expected 0 or more")
        self.queue[row] = queue
        self.local_queue[row] = local_queue
        self.namespace[row] = namespace
        self.shape[row] = shape
        self.priority[row] = priority
        self.timestamp[row] = timestamp
        self.requeue_at[row] = requeue_at
        self.requeue_blocked[row] = requeue_blocked
        self.invalid[row] = invalid
        self.checks_failed[row] = checks_failed
        self.admitted[row] = False
        self.evicted[row] = False
        self.evicting[row] = False
        self.write_uid(row, uid)
        self.pod_set_start[row] = pod_set_start
        self.pod_set_length[row] = pod_set_length
        if keep_progress:
            return 0
        self.tried_cycle[row] = NONE
        self.slot_start[row] = slot_start
        s = slot_start
        for p in range(pod_set_start, pod_set_start + pod_set_length):
            if s + self.pod_set_slots[p] > self.slot_resource.shape[0]:
                raise ValueError(f"workload {row}: slots reach outside their table")
            r = self.request_start[self.request_class[p]]
            for i in range(self.pod_set_slots[p]):
                if i < self.request_length[self.request_class[p]]:
                    self.slot_resource[s] = self.request_resource[r + i]
                else:
                    self.slot_resource[s] = 0
                self.slot_pod_set[s] = p - pod_set_start
                self.slot_tried[s] = NEVER_TRIED
                self.slot_flavor[s] = NONE
                self.slot_amount[s] = 0
                s += 1
        self.slot_length[row] = s - slot_start

    def mark_pending(self, index_t row, int64_t generation, bint gate_closed):
        """Generation of a pending workload, and whether a preemption gate is closed."""
        if not 0 <= row < self.rows:
            raise ValueError(f"workload {row}: expected a row from 0 to {self.rows - 1}")
        self.generation[row] = generation
        self.gate_closed[row] = gate_closed

    def write_held(self, index_t row, index_t local_queue, int64_t priority, int64_t timestamp):
        """What may change of a workload while it holds its quota."""
        if not 0 <= row < self.rows:
            raise ValueError(f"workload {row}: expected a row from 0 to {self.rows - 1}")
        self.local_queue[row] = local_queue
        self.priority[row] = priority
        self.timestamp[row] = timestamp

    def mark_held(self, index_t row, bint admitted, bint evicted, int64_t reserved_at, int64_t generation,
                  bint gate_closed):
        """What preemption asks of a workload that holds quota. An eviction that is seen is no longer expected."""
        if not 0 <= row < self.rows:
            raise ValueError(f"workload {row}: expected a row from 0 to {self.rows - 1}")
        self.admitted[row] = admitted
        self.evicted[row] = evicted
        if evicted:
            self.evicting[row] = False
        self.reserved_at[row] = reserved_at
        self.generation[row] = generation
        self.gate_closed[row] = gate_closed
        return 0

    cdef int write_uid(self, index_t row, str uid) except -1:
        """A uid as the kernel compares it: its UTF-8, padded with 0. Raises ValueError for one that is too wide."""
        cdef Py_ssize_t width, i
        cdef const char* text = PyUnicode_AsUTF8AndSize(uid, &width)
        if width > self.uid.shape[1]:
            raise ValueError(f"uid: {width} bytes, expected at most {self.uid.shape[1]}")
        for i in range(self.uid.shape[1]):
            self.uid[row, i] = <unsigned char> text[i] if i < width else 0
        return 0

    def write_slot(self, index_t slot, index_t resource, index_t flavor, amount_t amount, index_t pod_set=0):
        """Write one booked (resource, flavor, amount) of an admission that came from the API. Source: QC-62."""
        if not 0 <= slot < self.slot_resource.shape[0]:
            raise ValueError(f"slot {slot}: expected 0 to {self.slot_resource.shape[0] - 1}")
        self.slot_resource[slot] = resource
        self.slot_pod_set[slot] = pod_set
        self.slot_tried[slot] = NEVER_TRIED
        self.slot_flavor[slot] = flavor
        self.slot_amount[slot] = amount

    def write_pod_set(self, index_t row, index_t name, index_t request_class, index_t eligibility, index_t group,
                      int64_t count, int64_t full_count, int64_t min_count, index_t slot, index_t slots):
        """Write one pod set of a layout."""
        if not 0 <= row < self.count.shape[0]:
            raise ValueError(f"pod set {row}: expected 0 to {self.count.shape[0] - 1}")
        if not 0 <= request_class < self.request_start.shape[0]:
            raise ValueError(f"pod set {row}: request class {request_class} is no row")
        self.pod_set_name[row] = name
        self.request_class[row] = request_class
        self.eligibility[row] = eligibility
        self.group[row] = group
        self.count[row] = count
        self.full_count[row] = full_count
        self.min_count[row] = min_count
        self.pod_set_slot[row] = slot
        self.pod_set_slots[row] = slots

    def slots_of(self, index_t row):
        """List of (resource, tried index, flavor, amount) of a workload's slots."""
        if not 0 <= row < self.rows:
            raise ValueError(f"workload {row}: expected a row from 0 to {self.rows - 1}")
        return [
            (self.slot_resource[s], self.slot_tried[s], self.slot_flavor[s], self.slot_amount[s])
            for s in range(self.slot_start[row], self.slot_start[row] + self.slot_length[row])
        ]

    def forget_progress(self, index_t workload):
        """Drop the record of the flavor scan, so that the next one starts at the first flavor. Source: QP-504."""
        if not 0 <= workload < self.rows:
            raise ValueError(f"workload {workload}: expected a row from 0 to {self.rows - 1}")
        self.drop_progress(workload)

    def clear_row(self, index_t workload):
        """Forget a workload: a free row is nowhere and belongs to no queue. Raises ValueError while it is queued."""
        if not 0 <= workload < self.rows:
            raise ValueError(f"workload {workload}: expected a row from 0 to {self.rows - 1}")
        if self.place[workload] != NOWHERE:
            raise ValueError(f"workload {workload} is still queued")
        for name in self.ROWS:
            np.asarray(getattr(self, name))[workload] = 0
        np.asarray(self.uid)[workload] = 0
        self.queue[workload] = NONE
        self.reserved_in[workload] = NONE
        self.replaces[workload] = NONE
        self.tried_cycle[workload] = NONE
        self.placed_in[workload] = NONE

    cdef int check(
        self, Py_ssize_t nodes, Py_ssize_t flavors, Py_ssize_t resources, Py_ssize_t eligibility_classes,
        Py_ssize_t namespaces
    ) except -1:
        """Every index within its table: the cycle trusts them. Raises ValueError naming the array."""
        pod_sets, slots = self.count.shape[0], self.slot_resource.shape[0]
        classes, requests = self.request_start.shape[0], self.request_resource.shape[0]
        for name, low, high in (
            ("queue", NONE, nodes), ("reserved_in", NONE, nodes), ("replaces", NONE, self.rows),
            ("eligibility", 0, eligibility_classes), ("namespace", 0, namespaces),
            ("request_class", 0, classes), ("slot_flavor", NONE, flavors),
            ("slot_resource", 0, resources), ("request_resource", 0, resources),
        ):
            array = np.asarray(getattr(self, name))
            if array.size and (array.min() < low or array.max() >= max(high, 1)):
                raise ValueError(f"{name}: values from {array.min()} to {array.max()}, expected {low} to {high - 1}")
        for start, length, end in (
            ("pod_set_start", "pod_set_length", pod_sets), ("slot_start", "slot_length", slots),
            ("request_start", "request_length", requests),
        ):
            first, number = np.asarray(getattr(self, start)), np.asarray(getattr(self, length))
            if first.size and (first.min() < 0 or number.min() < 0 or (first + number).max() > end):
                raise ValueError(f"{start}, {length}: a range reaches outside its table of {end} rows")
        cdef Py_ssize_t w, p, s
        for w in range(self.rows):
            s = 0
            for p in range(self.pod_set_start[w], self.pod_set_start[w] + self.pod_set_length[w]):
                s += self.pod_set_slots[p]
            if self.reserved_in[w] != NONE and s != self.slot_length[w]:
                continue  # its slots are those of an admission from the API
            for p in range(self.pod_set_start[w], self.pod_set_start[w] + self.pod_set_length[w]):
                if self.pod_set_slot[p] < 0 or self.pod_set_slot[p] + self.pod_set_slots[p] > self.slot_length[w]:
                    raise ValueError(f"pod_set_slot: pod set {p} reaches outside the slots of workload {w}")
        return 0
