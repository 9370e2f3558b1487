"""The kernel's entry point. See `_cycle` for the steps of a cycle."""

import numpy as np

from kueuecore._amount cimport UNLIMITED
from libc.stdint cimport int32_t

from kueuecore._assign cimport Choice, PodSetResult, Reason
from kueuecore._cycle cimport CycleRunner
from kueuecore._draft cimport Attempt
from kueuecore._order cimport Entry
from kueuecore._placement cimport PlacedDomain
from kueuecore._podtopology cimport HAS_TOPOLOGY
from kueuecore._preempt cimport Target
from kueuecore._trees cimport Tree
from kueuecore._types cimport ADMITTED, FIT, NONE, index_t


cdef enum:
    NO_AMOUNT = -1           # a flavor without a request for its resource


cdef class Scheduler(CycleRunner):
    """The tables of one cluster: run cycles, read decisions, book and release what is decided elsewhere."""

    def validate(self):
        """Check every index in the tables against its range; raises ValueError naming the array.

        The cycle trusts its tables: call this after writing rows from outside.
        """
        order = np.asarray(self.queue_order)
        nodes = self.forest.nodes
        if order.size and (order.min() < 0 or order.max() >= nodes):
            raise ValueError(f"queue_order: values from {order.min()} to {order.max()}, expected forest rows")
        if len(set(order.tolist())) != order.size:
            raise ValueError("queue_order: a row stands twice")
        if order.size and not np.asarray(self.forest.is_queue)[order].all():
            raise ValueError("queue_order: a row is a cohort, expected ClusterQueues only")
        self.forest.check()
        self.pending.check(nodes)
        self.flavors.check(nodes, self.forest.columns)
        self.workloads.check(
            nodes, self.flavors.column.shape[0], self.flavors.resource_rank.shape[0], self.flavors.eligible.shape[0],
            self.pending.namespace_match.shape[1],
        )

    # --- quota of workloads that are admitted outside the cycle, or end

    cdef int check_workload(self, index_t workload) except -1:
        if not 0 <= workload < self.workloads.rows:
            raise ValueError(f"workload {workload}: expected a row from 0 to {self.workloads.rows - 1}")
        return 0

    def book(self, index_t workload, index_t queue):
        """Book the slots of a workload whose reservation came from the API, in ClusterQueue row `queue`.

        Raises ValueError if it is booked already. Source: QP-211..213.
        """
        self.check_workload(workload)
        if not 0 <= queue < self.forest.nodes:
            raise ValueError(f"queue {queue}: expected a forest row")
        if self.workloads.reserved_in[workload] != NONE:
            raise ValueError(f"workload {workload} is booked already")
        self.usage.add_quota(workload, queue)
        self.journal.length = 0
        self.topologies.book(workload)
        self.workloads.reserved_in[workload] = queue
        self.held.add(queue, workload)

    def release(self, index_t workload):
        """Give the quota of a workload back; it stays a row, nowhere queued, and its slots say what it held.

        Source: QP-213, QP-217.
        """
        self.check_workload(workload)
        cdef index_t queue = self.workloads.reserved_in[workload]
        if queue == NONE:
            return
        self.usage.remove_quota(workload, queue)
        self.journal.length = 0
        if self.topologies.bookings_of(workload) != NULL:
            self.topologies.unbook(workload)
            self.topologies.set_bookings(workload, NULL, 0)
        self.held.remove(queue, workload)
        self.workloads.evicting[workload] = False
        self.workloads.reserved_in[workload] = NONE
        self.forest.generation[queue] += 1

    def touch(self, index_t queue):
        """A held workload of this ClusterQueue was seen again: upstream replaces it in its cache (QP-217)."""
        if not 0 <= queue < self.forest.nodes:
            raise ValueError(f"queue {queue}: expected a forest row")
        self.forest.generation[queue] += 1

    # --- decisions of the last cycle

    @property
    def scan_progressed(self):
        """Whether some flavor scan of the last cycle stopped elsewhere than before."""
        return self.progressed

    def admissions(self):
        """Admitted workloads in processing order: (workload row, ClusterQueue row, detail, places, again).

        detail: bytes that say what was assigned; equal bytes mean equal assignments. `places`: whether some of it are
        places in a topology. `again`: the workload held its quota already, and only its places are new.
        """
        cdef Py_ssize_t i
        cdef list found = []
        cdef Entry* entry
        for i in range(self.nominated_count):
            entry = &self.entries[self.order[i]]
            if entry.outcome == ADMITTED:
                found.append((
                    entry.workload, entry.queue, self.detail(entry), entry.domain_count > 0, bool(entry.again)
                ))
        return found

    def attempts(self):
        """Flavors that were looked at for each of the admissions of new quota, in the order of `admissions`.

        Attempts and the reasons of all of them one after the other, as bytes: of an attempt int32 first pod set of
        the group, flavor, Possibility, borrowing level, int64 number of its reasons; reasons as in `refusals`. Both
        empty where nothing was looked at but flavors that fit without borrowing, or `assigner.keeps_attempts` is off.
        """
        cdef Py_ssize_t i, k
        cdef list found = []
        cdef Entry* entry
        cdef Attempt* attempts
        for i in range(self.nominated_count):
            entry = &self.entries[self.order[i]]
            if entry.outcome != ADMITTED or entry.again:
                continue
            attempts = <Attempt*> (self.arena + entry.attempts)
            for k in range(entry.attempt_count):
                if attempts[k].possibility != FIT or attempts[k].borrow > 0:
                    break
            else:
                found.append((b"", b""))
                continue
            found.append((
                (self.arena + entry.attempts)[: entry.attempt_count * <Py_ssize_t> sizeof(Attempt)],
                (self.arena + entry.attempt_reasons)[: entry.attempt_reason_count * <Py_ssize_t> sizeof(Reason)]
                if entry.attempt_reason_count else b"",
            ))
        return found

    cdef bytes detail(self, Entry* entry):
        cdef PodSetResult* results = <PodSetResult*> (self.arena + entry.results)
        cdef PlacedDomain* domains
        cdef Py_ssize_t start = self.workloads.pod_set_start[entry.workload]
        cdef Py_ssize_t p, i, size = 0
        cdef DetailHead* head
        cdef DetailDomain* domain
        cdef Py_ssize_t base = self.arena_length
        cdef Tree* tree
        for p in range(entry.result_count):
            # one without requests may show the flavors of its whole group
            i = results[p].length if results[p].length > 0 else entry.choice_count
            size += sizeof(DetailHead) + i * sizeof(DetailItem) + results[p].domains * sizeof(DetailDomain)
        # built behind the arena's end, which is scratch
        self.keep(NULL, size)
        self.arena_length = base
        results = <PodSetResult*> (self.arena + entry.results)
        domains = <PlacedDomain*> (self.arena + entry.domains)
        size = 0
        for p in range(entry.result_count):
            head = <DetailHead*> (self.arena + base + size)
            size += sizeof(DetailHead)
            head.count = results[p].count
            head.name = self.workloads.pod_set_name[start + p]
            head.length = <int32_t> self.write_flavors(entry, p, <DetailItem*> (self.arena + base + size))
            head.tree = results[p].tree
            head.delayed = results[p].delayed
            size += head.length * sizeof(DetailItem)
            head.domains = 0 if head.tree == NONE else results[p].domains
            for i in range(head.domains):
                tree = &self.topologies.trees[head.tree]
                domain = <DetailDomain*> (self.arena + base + size)
                size += sizeof(DetailDomain)
                domain.place = tree.place[domains[results[p].first_domain + i].leaf]
                domain.count = domains[results[p].first_domain + i].count
        return (self.arena + base)[:size]

    cdef Py_ssize_t write_flavors(self, Entry* entry, Py_ssize_t pod_set, DetailItem* items) noexcept nogil:
        """Flavors of a pod set; one without requests has those of its group that have a topology (TP-609)."""
        cdef PodSetResult* results = <PodSetResult*> (self.arena + entry.results)
        cdef Choice* choices = <Choice*> (self.arena + entry.choices)
        cdef Py_ssize_t start = self.workloads.pod_set_start[entry.workload]
        cdef Py_ssize_t member, i, k, count = 0
        cdef bint alone = results[pod_set].length > 0
        for member in range(entry.result_count):
            if member != pod_set and (
                alone or self.workloads.group[start + member] != self.workloads.group[start + pod_set]
            ):
                continue
            for i in range(results[member].first, results[member].first + results[member].length):
                if choices[i].flavor == NONE or (
                    not alone and self.pod_topology.support_of(choices[i].flavor) != HAS_TOPOLOGY
                ):
                    continue
                if not alone:
                    for k in range(count):
                        if items[k].resource == choices[i].resource:
                            break
                    else:
                        k = count
                    if k < count:
                        continue
                items[count].resource = choices[i].resource
                items[count].flavor = choices[i].flavor
                items[count].amount = choices[i].amount if alone else NO_AMOUNT
                count += 1
        return count

    def replacements(self):
        """Slices whose place others took: (row of the old one, its ClusterQueue row, row of the new one)."""
        cdef Py_ssize_t i
        cdef list found = []
        cdef Entry* entry
        for i in range(self.nominated_count):
            entry = &self.entries[self.order[i]]
            if entry.outcome == ADMITTED and entry.replaced != NONE:
                found.append((entry.replaced, self.workloads.reserved_in[entry.replaced], entry.workload))
        return found

    def preemptions(self):
        """Evictions that the cycle issued: (workload row, ClusterQueue row, reason, preemptor's row), in that order."""
        cdef Py_ssize_t i
        cdef list found = []
        for i in range(self.victims.eviction_count):
            found.append((
                self.victims.evictions[i].workload, self.victims.evictions[i].queue,
                self.victims.evictions[i].reason, self.victims.evictions[i].preemptor,
            ))
        return found

    def targets_of(self, Py_ssize_t refusal):
        """Rows of the victims of one head, by its place in `refusals`."""
        cdef Py_ssize_t i, at = -1
        cdef Entry* entry
        cdef Target* targets
        for i in range(self.entry_count):
            entry = &self.entries[i]
            if entry.nominated and entry.outcome == ADMITTED:
                continue
            at += 1
            if at == refusal:
                targets = <Target*> (self.arena + entry.targets)
                return [targets[k].workload for k in range(entry.target_count)]
        raise ValueError(f"refusal {refusal}: expected 0 to {at}")

    def refusals(self):
        """Heads that went back: (workload, ClusterQueue, outcome, requeue reason, mode, number of victims, reasons).

        reasons: bytes of 40 each, native order: int32 code, pod set, flavor, resource; int64 first, second, third.
        """
        cdef Py_ssize_t i
        cdef list found = []
        cdef Entry* entry
        for i in range(self.entry_count):
            entry = &self.entries[i]
            if not (entry.nominated and entry.outcome == ADMITTED):
                found.append((
                    entry.workload, entry.queue, <int> entry.outcome, <int> entry.requeue, <int> entry.mode,
                    entry.target_count - (1 if entry.replaced != NONE and entry.target_count > 0 else 0),
                    (self.arena + entry.reasons)[: entry.reason_count * <Py_ssize_t> sizeof(Reason)]
                    if entry.reason_count else b"",
                ))
        return found

    @property
    def unlimited(self):
        """The amount that means no bound."""
        return UNLIMITED
