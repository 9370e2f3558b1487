"""Summing up to the root, catching up with what changed, and keeping counts from one placement to the next."""

from libc.stdint cimport INT64_MAX, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from kueuecore._leaves cimport Counts, LevelCounts, Shape, allocate, count_leaf
from kueuecore._topology cimport Topologies
from kueuecore._trees cimport Tree
from kueuecore._types cimport NONE, index_t


cdef class CountCache:
    """Counts by shape; the least recently used ones go when memory or entries run out."""

    def __cinit__(self, Topologies topologies not None):
        self.topologies = topologies
        self.most_bytes = 48 << 20
        self.entries = <Counts*> calloc(MOST_ENTRIES + 1, sizeof(Counts))
        if self.entries == NULL:
            raise MemoryError("counts")

    def __dealloc__(self):
        if self.entries != NULL:
            self.forget()
            free(self.entries)

    cdef void forget(self) noexcept nogil:
        """Drop all counts."""
        while self.length:
            self.drop_entry(self.length - 1)
        free(self.entries[MOST_ENTRIES].memory)
        memset(&self.entries[MOST_ENTRIES], 0, sizeof(Counts))

    cdef void drop_entry(self, Py_ssize_t entry) noexcept nogil:
        self.bytes -= self.entries[entry].bytes
        free(self.entries[entry].memory)
        self.length -= 1
        self.entries[entry] = self.entries[self.length]
        memset(&self.entries[self.length], 0, sizeof(Counts))

    cdef Counts* counts_for(self, Shape* shape) except NULL nogil:
        """Counts of a shape, up to date. Valid until the next call."""
        cdef Py_ssize_t entry, oldest
        cdef Counts* counts = NULL
        self.clock += 1
        for entry in range(self.length):
            if memcmp(&self.entries[entry].shape, shape, sizeof(Shape)) == 0:
                counts = &self.entries[entry]
                break
        if counts == NULL:
            while self.length == MOST_ENTRIES or (self.bytes > self.most_bytes and self.length >= LEAST_ENTRIES):
                oldest = 0
                for entry in range(1, self.length):
                    if self.entries[entry].last_use < self.entries[oldest].last_use:
                        oldest = entry
                self.drop_entry(oldest)
            counts = &self.entries[self.length]
            memset(counts, 0, sizeof(Counts))
            memcpy(&counts.shape, shape, sizeof(Shape))
            self.length += 1
        counts.last_use = self.clock
        self.bring_up(counts)
        return counts

    cdef Counts* restricted(self, Shape* shape, index_t first, index_t end) except NULL nogil:
        """Counts in which only the leaves of a range take part (TP-704); not kept."""
        cdef Counts* counts = &self.entries[MOST_ENTRIES]
        free(counts.memory)
        memset(counts, 0, sizeof(Counts))
        memcpy(&counts.shape, shape, sizeof(Shape))
        allocate(counts, self.topologies, True)
        counts.first = first
        counts.end = end
        count_all(counts, self.topologies)
        self.recounted += self.topologies.trees[shape.tree].leaves
        return counts

    cdef int bring_up(self, Counts* counts) except -1 nogil:
        """Count again what changed since."""
        cdef Tree* tree = &self.topologies.trees[counts.shape.tree]
        cdef int64_t end = tree.log_end[counts.shape.view], changed = end - counts.seen
        if counts.version != tree.version or counts.generation != self.topologies.generation:
            self.bytes -= counts.bytes
            free(counts.memory)
            counts.memory = NULL
            counts.bytes = 0
            counts.version = 0
            allocate(counts, self.topologies, True)
            self.bytes += counts.bytes
            changed = INT64_MAX
        if changed == 0:
            return 0
        # Beyond this the detour by single leaves costs more than one sweep over all.
        if changed > tree.log_size or changed > tree.leaves // 4 + 8:
            count_all(counts, self.topologies)
            self.recounted += tree.leaves
        elif counts.shape.leader == NONE:
            catch_up(counts, self.topologies, counts.seen, end)
            self.recounted += changed
        else:
            catch_up_with_leader(counts, self.topologies, counts.seen, end)
            self.recounted += changed
        counts.seen = end
        counts.version = tree.version
        counts.generation = self.topologies.generation
        if counts.short_of_codes:
            # A node class that came later is excluded for a reason that no class had before.
            counts.short_of_codes = False
            counts.version = -1
            return self.bring_up(counts)
        return 0


cdef void sum_up(Counts* counts, Tree* tree, int level, Py_ssize_t domain, int64_t inner) noexcept nogil:
    """Counts of an inner domain from its children, which give whole slices of the inner size, if any (TP-709)."""
    cdef LevelCounts* row = &counts.levels[level]
    cdef LevelCounts* below = &counts.levels[level + 1]
    cdef Py_ssize_t child, end = tree.levels[level].child_end[domain]
    cdef int64_t pods = 0, slices = 0, score = 0, least_pods = INT64_MAX, least_slices = INT64_MAX, whole, whole_led
    cdef bint may_host = False, leads = False
    for child in range(tree.levels[level].first_child[domain], end):
        whole = below.pods[child]
        whole_led = below.pods_led[child]
        if inner > 0:
            whole = whole // inner * inner
            whole_led = whole_led // inner * inner
        pods += whole
        if below.slices != NULL:
            slices += below.slices[child]
        if below.scores != NULL:
            score += below.scores[child]
        if below.leaders != NULL:
            if not below.leaders[child]:
                continue
            leads = True
        may_host = True
        if whole - whole_led < least_pods:
            least_pods = whole - whole_led
        if below.slices != NULL and below.slices[child] - below.slices_led[child] < least_slices:
            least_slices = below.slices[child] - below.slices_led[child]
    row.pods[domain] = pods
    row.pods_led[domain] = pods - least_pods if may_host else 0
    if row.scores != NULL:
        row.scores[domain] = score
    if row.leaders != NULL:
        row.leaders[domain] = leads
    if row.slices == NULL or row.slices == row.pods:
        return
    if level == counts.shape.slice_level:
        row.slices[domain] = pods // counts.shape.slice_size
        row.slices_led[domain] = row.pods_led[domain] // counts.shape.slice_size
    else:
        row.slices[domain] = slices
        row.slices_led[domain] = slices - least_slices if may_host else 0


cdef void count_all(Counts* counts, Topologies table) noexcept nogil:
    """Count every leaf and sum up."""
    cdef Tree* tree = &table.trees[counts.shape.tree]
    cdef Py_ssize_t leaf, domain
    cdef int level
    for leaf in range(tree.leaves):
        count_leaf(counts, table, tree, leaf)
    for level in range(tree.depth - 2, -1, -1):
        for domain in range(tree.levels[level].count):
            sum_up(counts, tree, level, domain, counts.shape.inner[level + 1])
    sum_roots(counts, tree)
    counts.probe_level = NONE


cdef void sum_roots(Counts* counts, Tree* tree) noexcept nogil:
    """What all domains of level 0 hold together, as if they had one domain above them."""
    cdef LevelCounts* row = &counts.levels[0]
    cdef Py_ssize_t domain
    counts.all_slices = 0
    counts.least_loss = INT64_MAX
    counts.any_leader = False
    for domain in range(tree.levels[0].count):
        counts.all_slices += row.slices[domain]
        if row.leaders != NULL and row.leaders[domain]:
            counts.any_leader = True
            counts.least_loss = min(counts.least_loss, row.slices[domain] - row.slices_led[domain])


cdef void catch_up(Counts* counts, Topologies table, int64_t seen, int64_t end) noexcept nogil:
    """Count logged leaves again and carry each difference up to where nothing changes any more.

    Without a leader PL is P and SL is S, and all sums are linear in the (rounded) counts of the children.
    """
    cdef Tree* tree = &table.trees[counts.shape.tree]
    cdef LevelCounts* row
    cdef Py_ssize_t domain
    cdef int level
    cdef int64_t old_pods, new_pods, old_slices, new_slices, inner, pods, slices, score
    cdef bint plain = counts.levels[0].slices == counts.levels[0].pods
    while seen < end:
        domain = tree.log[counts.shape.view][seen & (tree.log_size - 1)]
        seen += 1
        level = tree.depth - 1
        row = &counts.levels[level]
        old_pods = row.pods[domain]
        old_slices = row.slices[domain] if row.slices != NULL else 0
        score = -row.scores[domain] if row.scores != NULL else 0
        count_leaf(counts, table, tree, domain)
        new_pods = row.pods[domain]
        new_slices = row.slices[domain] if row.slices != NULL else 0
        if row.scores != NULL:
            score += row.scores[domain]
        while True:
            if level == counts.probe_level:
                counts.probe_hits += (new_slices >= counts.probe_need) - (old_slices >= counts.probe_need)
            if level == 0:
                counts.all_slices += new_slices - old_slices
                break
            if new_pods == old_pods and new_slices == old_slices and score == 0:
                break
            inner = counts.shape.inner[level]
            pods = new_pods - old_pods if inner <= 0 else new_pods // inner * inner - old_pods // inner * inner
            slices = new_slices - old_slices
            domain = tree.levels[level].parent[domain]
            level -= 1
            row = &counts.levels[level]
            if row.scores != NULL:
                row.scores[domain] += score
            old_pods = row.pods[domain]
            new_pods = old_pods + pods
            row.pods[domain] = new_pods
            if plain:
                old_slices = old_pods
                new_slices = new_pods
            elif level > counts.shape.slice_level:
                old_slices = new_slices = 0
            else:
                old_slices = row.slices[domain]
                if level == counts.shape.slice_level:
                    new_slices = new_pods // counts.shape.slice_size
                else:
                    new_slices = old_slices + slices
                row.slices[domain] = new_slices


cdef void catch_up_with_leader(Counts* counts, Topologies table, int64_t seen, int64_t end) noexcept nogil:
    """Count logged leaves again, then each domain above them once: a least loss is not linear."""
    cdef Tree* tree = &table.trees[counts.shape.tree]
    cdef Py_ssize_t length = 0, item, parents
    cdef index_t domain, parent
    cdef int level = tree.depth - 1
    cdef bint hit
    while seen < end:
        domain = tree.log[counts.shape.view][seen & (tree.log_size - 1)]
        seen += 1
        if not counts.marked[domain]:
            counts.marked[domain] = 1
            counts.dirty[length] = domain
            length += 1
    while True:
        parents = 0
        for item in range(length):
            domain = counts.dirty[item]
            counts.marked[domain] = 0
            hit = level == counts.probe_level and is_hit(counts, level, domain, counts.probe_need)
            if level == tree.depth - 1:
                count_leaf(counts, table, tree, domain)
            else:
                sum_up(counts, tree, level, domain, counts.shape.inner[level + 1])
            if level == counts.probe_level:
                counts.probe_hits += is_hit(counts, level, domain, counts.probe_need) - <Py_ssize_t> hit
        if level == 0:
            break
        for item in range(length):
            parent = tree.levels[level].parent[counts.dirty[item]]
            if not counts.marked[parent]:
                counts.marked[parent] = 1
                counts.dirty[parents] = parent
                parents += 1
        length = parents
        level -= 1
    sum_roots(counts, tree)


cdef inline bint is_hit(Counts* counts, int level, Py_ssize_t domain, int64_t need) noexcept nogil:
    cdef LevelCounts* row = &counts.levels[level]
    return row.slices_led[domain] >= need and (row.leaders == NULL or row.leaders[domain] > 0)


cdef Py_ssize_t hits_at(Counts* counts, Tree* tree, int level, int64_t need) noexcept nogil:
    """Domains of a level that take so many slices (at least 1) and the leader; kept up to date from then on."""
    cdef Py_ssize_t domain
    if counts.probe_level != level or counts.probe_need != need:
        counts.probe_level = level
        counts.probe_need = need
        counts.probe_hits = 0
        for domain in range(tree.levels[level].count):
            counts.probe_hits += is_hit(counts, level, domain, need)
    return counts.probe_hits
