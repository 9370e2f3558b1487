"""Tournaments. A standing depends on the usage along its own path only, so it is kept until that changes."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc

from kueuecore._amount cimport sub
from kueuecore._forest cimport Forest
from kueuecore._journal cimport Journal
from kueuecore._order cimport Entry
from kueuecore._share cimport Shares, compare
from kueuecore._types cimport NONE, index_t
from kueuecore._usage cimport ColumnUsage
from kueuecore._workloads cimport Workloads


cdef class Tournament:
    """Hands out the entries of a cycle one by one, looking at shares anew for each."""

    def __cinit__(self):
        self.entry_of = NULL
        self.changed_at = self.computed_at = NULL
        self.standings = NULL
        self.node_capacity = self.standing_capacity = self.entry_capacity = 0

    def __init__(self, Forest forest not None, Workloads workloads not None, Shares shares not None,
                 Journal journal not None):
        self.forest = forest
        self.workloads = workloads
        self.shares = shares
        self.journal = journal
        self.preemptors_first = False
        self.non_borrowing_first = True
        self.by_priority = True

    def __dealloc__(self):
        free(self.entry_of)
        free(self.changed_at)
        free(self.computed_at)
        free(self.standings)

    cdef int start(self, Entry* entries, Py_ssize_t count) except -1 nogil:
        """Take in the entries of a cycle."""
        cdef Py_ssize_t size = self.forest.parent.shape[0]
        cdef Py_ssize_t i, levels
        cdef index_t node
        cdef bint enough = True
        self.shares.reserve()
        if size > self.node_capacity:
            self.entry_of = <index_t*> realloc(self.entry_of, size * sizeof(index_t))
            self.changed_at = <int64_t*> realloc(self.changed_at, size * sizeof(int64_t))
            enough = self.entry_of != NULL and self.changed_at != NULL
            self.node_capacity = size
        self.levels = 1
        for i in range(count):
            levels = 1
            node = self.forest.parent[entries[i].queue]
            while node != NONE:
                levels += 1
                node = self.forest.parent[node]
            if levels > self.levels:
                self.levels = levels
        if count > self.entry_capacity:
            self.computed_at = <int64_t*> realloc(self.computed_at, count * sizeof(int64_t))
            enough = enough and self.computed_at != NULL
            self.entry_capacity = count
        if count * self.levels > self.standing_capacity:
            self.standings = <Standing*> realloc(self.standings, count * self.levels * sizeof(Standing))
            enough = enough and self.standings != NULL
            self.standing_capacity = count * self.levels
        if not enough:
            with gil:
                raise MemoryError("tournament")
        for i in range(self.node_capacity):
            self.entry_of[i] = NONE
            self.changed_at[i] = 0
        for i in range(count):
            self.computed_at[i] = -1
            if entries[i].nominated:
                self.entry_of[entries[i].queue] = <index_t> i
        self.clock = 0
        self.next_entry = 0
        return 0

    cdef Py_ssize_t pop(self, Entry* entries, char* arena, Py_ssize_t count) except -2 nogil:
        """The next entry to process, -1 when there is none left; trees one after the other (QC-110)."""
        cdef index_t queue, winner
        self.entries = entries
        self.arena = arena
        self.clock += 1
        while self.next_entry < count:
            queue = entries[self.next_entry].queue
            if self.entry_of[queue] == NONE:
                self.next_entry += 1
                continue
            if self.forest.parent[queue] == NONE:
                winner = self.entry_of[queue]
            else:
                winner = self.winner_below(self.forest.root_of(queue))
            self.entry_of[entries[winner].queue] = NONE
            return winner
        return -1

    cdef void note_change(self, index_t node) noexcept nogil:
        """Usage was booked in a ClusterQueue: standings that pass it or a cohort over it are stale."""
        while node != NONE:
            self.changed_at[node] = self.clock
            node = self.forest.parent[node]

    cdef index_t winner_below(self, index_t cohort) except -2 nogil:
        """The entry that wins at a cohort, NONE if none is left below it (QC-112)."""
        cdef index_t child = self.forest.first_child[cohort]
        cdef index_t best = NONE, candidate
        while child != NONE:
            if self.forest.is_queue[child]:
                candidate = self.entry_of[child]
                if candidate != NONE and self.is_stale(candidate):
                    self.compute(candidate)
            else:
                candidate = self.winner_below(child)
            if candidate != NONE and (best == NONE or self.beats(candidate, best, cohort)):
                best = candidate
            child = self.forest.next_sibling[child]
        return best

    cdef bint is_stale(self, index_t entry) noexcept nogil:
        cdef index_t node = self.entries[entry].queue
        if self.computed_at[entry] < 0:
            return True
        while self.forest.parent[node] != NONE:
            if self.changed_at[node] >= self.computed_at[entry]:
                return True
            node = self.forest.parent[node]
        return False

    cdef int compute(self, index_t entry) except -1 nogil:
        """Standings of an entry at all levels below the root, with its usage added (QC-111)."""
        cdef Entry* e = &self.entries[entry]
        cdef ColumnUsage* usage = <ColumnUsage*> (self.arena + e.usage)
        cdef Standing* standing = &self.standings[entry * self.levels]
        cdef Py_ssize_t mark = self.journal.length
        cdef Py_ssize_t i
        cdef index_t node = e.queue
        if self.workloads.reserved_in[e.workload] == NONE:
            for i in range(e.usage_count):
                self.forest.add_usage(e.queue, usage[i].column, usage[i].amount, self.journal)
        while self.forest.parent[node] != NONE:
            standing.share = self.shares.of(node)
            standing.borrows_requested = False
            for i in range(e.usage_count):
                if (
                    usage[i].amount > 0 and self.forest.has_subtree[node, usage[i].column]
                    and sub(self.forest.usage[node, usage[i].column], self.forest.subtree[node, usage[i].column]) > 0
                ):
                    standing.borrows_requested = True
            standing += 1
            node = self.forest.parent[node]
        self.forest.roll_back(self.journal, mark)
        self.computed_at[entry] = self.clock
        return 0

    cdef Standing* standing(self, index_t entry, index_t cohort) noexcept nogil:
        """Standing of an entry at the child of `cohort` on its path."""
        cdef index_t node = self.entries[entry].queue
        cdef Py_ssize_t level = 0
        while self.forest.parent[node] != cohort:
            node = self.forest.parent[node]
            level += 1
        return &self.standings[entry * self.levels + level]

    cdef bint beats(self, index_t a, index_t b, index_t cohort) noexcept nogil:
        """Whether entry `a` goes before `b` at a cohort; equals by uid."""
        cdef Standing* of_a = self.standing(a, cohort)
        cdef Standing* of_b = self.standing(b, cohort)
        cdef index_t x = self.entries[a].workload, y = self.entries[b].workload
        cdef int order
        if self.preemptors_first and self.entries[a].is_preemptor != self.entries[b].is_preemptor:
            return self.entries[a].is_preemptor
        if self.non_borrowing_first and of_a.borrows_requested != of_b.borrows_requested:
            return of_b.borrows_requested
        order = compare(of_a.share, of_b.share)
        if order != 0:
            return order < 0
        if self.by_priority and self.workloads.priority[x] != self.workloads.priority[y]:
            return self.workloads.priority[x] > self.workloads.priority[y]
        if self.workloads.timestamp[x] != self.workloads.timestamp[y]:
            return self.workloads.timestamp[x] < self.workloads.timestamp[y]
        return self.workloads.uid_before(x, y)
