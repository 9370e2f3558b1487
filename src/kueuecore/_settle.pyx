"""What remains of a cycle: the admitted workloads hold what they got. See the .pxd."""

from libc.stdlib cimport free, realloc

from kueuecore._assign cimport Choice, PodSetResult
from kueuecore._order cimport Entry
from kueuecore._placement cimport PlacedDomain
from kueuecore._process cimport Processor
from kueuecore._topology cimport Booking, BookingList
from kueuecore._types cimport ADMITTED, NONE, index_t


cdef class Settler(Processor):
    """Undoes all what-ifs of a cycle and books what was decided."""

    def __cinit__(self):
        self.bookings = NULL
        self.booking_capacity = 0

    def __dealloc__(self):
        free(self.bookings)

    cdef int settle_usage(self) except -1 nogil:
        """Leave exactly the admitted workloads booked, in processing order."""
        cdef Py_ssize_t i
        cdef Entry* entry
        if self.reserved:
            self.forest.roll_back(self.journal, 0)
        for i in range(self.nominated_count):
            entry = &self.entries[self.order[i]]
            if entry.outcome != ADMITTED:
                continue
            if entry.replaced != NONE:
                self.book_choices(entry)
            elif self.reserved:
                self.book_entry(entry)
            self.journal.length = 0
            self.assume(entry)
        self.journal.length = 0
        return 0

    cdef int assume(self, Entry* entry) except -1 nogil:
        """The workload holds its quota from now on (QC-135)."""
        cdef Choice* choices = <Choice*> (self.arena + entry.choices)
        cdef Py_ssize_t start = self.workloads.slot_start[entry.workload]
        cdef Py_ssize_t i
        self.keep_places(entry)
        if entry.again:
            return 0
        self.workloads.drop_progress(entry.workload)
        for i in range(entry.choice_count):
            self.workloads.slot_flavor[start + choices[i].slot] = choices[i].flavor
            self.workloads.slot_resource[start + choices[i].slot] = choices[i].resource
            self.workloads.slot_amount[start + choices[i].slot] = choices[i].amount
        self.workloads.reserved_in[entry.workload] = entry.queue
        self.workloads.reserved_at[entry.workload] = self.now
        self.workloads.admitted[entry.workload] = False
        self.workloads.evicted[entry.workload] = False
        self.workloads.evicting[entry.workload] = False
        self.held.add(entry.queue, entry.workload)
        return self.pending.settle(entry.queue, entry.workload)

    cdef int book_choices(self, Entry* entry) except -1 nogil:
        """All that a slice takes; what it replaces holds its own until it is seen as finished."""
        cdef Choice* choices = <Choice*> (self.arena + entry.choices)
        cdef Py_ssize_t i
        for i in range(entry.choice_count):
            if choices[i].flavor != NONE:
                self.forest.add_usage(
                    entry.queue, self.flavors.column[choices[i].flavor, choices[i].resource], choices[i].amount,
                    self.journal,
                )
        return 0

    cdef int keep_places(self, Entry* entry) except -1 nogil:
        """The workload stands where it was placed, in every tree that has the place (TP-504, TP-509)."""
        cdef PodSetResult* results = <PodSetResult*> (self.arena + entry.results)
        cdef PlacedDomain* domains = <PlacedDomain*> (self.arena + entry.domains)
        cdef Py_ssize_t first = self.workloads.pod_set_start[entry.workload]
        cdef BookingList* held
        cdef Py_ssize_t p, i, count = 0, size = entry.domain_count
        cdef Booking* booking
        cdef void* grown
        if entry.domain_count == 0:
            return 0
        held = self.topologies.bookings_of(entry.workload)
        if held != NULL:
            size += held.length
        if size > self.booking_capacity:
            grown = realloc(self.bookings, 2 * size * sizeof(Booking))
            if grown == NULL:
                with gil:
                    raise MemoryError("bookings")
            self.bookings = <Booking*> grown
            self.booking_capacity = 2 * size
        if held != NULL and entry.again:
            for i in range(held.length):
                if results[held.items[i].pod_set].tree == NONE:
                    self.bookings[count] = held.items[i]  # not placed anew
                    count += 1
        for p in range(entry.result_count):
            if results[p].tree == NONE:
                continue
            for i in range(results[p].first_domain, results[p].first_domain + results[p].domains):
                booking = &self.bookings[count]
                booking.tree = results[p].tree
                booking.pod_set = <index_t> p
                booking.place = self.topologies.trees[results[p].tree].place[domains[i].leaf]
                booking.pods = self.pod_topology.pods[first + p]
                booking.count = domains[i].count
                count += 1
        if held != NULL and entry.again:
            self.topologies.unbook(entry.workload)
        self.topologies.set_bookings(entry.workload, self.bookings, count)
        return self.topologies.book(entry.workload)
