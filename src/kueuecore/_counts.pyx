"""Counting leaves, summing up to the root, and catching up with what changed."""

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from kueuecore._amount cimport saturating_add, saturating_mul, saturating_sub
from kueuecore._topology cimport Topologies
from kueuecore._trees cimport Tree
from kueuecore._types cimport NONE, amount_t, index_t


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


cdef inline void* carve(char** cursor, Py_ssize_t size) noexcept nogil:
    """The next piece of a block, 8-byte aligned; with a NULL block the cursor only measures."""
    cdef void* piece = <void*> cursor[0]
    cursor[0] += (size + 7) & ~<Py_ssize_t> 7
    return piece


cdef void lay_out(Counts* counts, Tree* tree, Py_ssize_t codes, Py_ssize_t worker_needs, Py_ssize_t leader_needs,
                  bint shared, char** cursor) noexcept nogil:
    """Give every column its piece of the block. Columns that are always equal share one, unless told not to."""
    cdef int level
    cdef Py_ssize_t count, widest = 1
    cdef bint led = counts.shape.leader != NONE
    # Slices of one pod at the leaf level: S is P everywhere, since nothing is rounded away.
    cdef bint plain = shared and counts.shape.slice_size == 1 and counts.shape.slice_level == tree.depth - 1
    cdef LevelCounts* row
    for level in range(tree.depth):
        row = &counts.levels[level]
        count = tree.levels[level].count
        widest = max(widest, count)
        row.pods = <int64_t*> carve(cursor, count * sizeof(int64_t))
        row.pods_led = <int64_t*> carve(cursor, count * sizeof(int64_t)) if led or not shared else row.pods
        row.leaders = <uint8_t*> carve(cursor, count) if led else NULL
        row.scores = <int64_t*> carve(cursor, count * sizeof(int64_t)) if counts.shape.scored else NULL
        if level > counts.shape.slice_level:
            row.slices = row.slices_led = NULL
        elif plain:
            row.slices = row.pods
            row.slices_led = row.pods_led
        else:
            row.slices = <int64_t*> carve(cursor, count * sizeof(int64_t))
            row.slices_led = <int64_t*> carve(cursor, count * sizeof(int64_t)) if led or not shared else row.slices
    counts.code = <int32_t*> carve(cursor, tree.leaves * sizeof(int32_t))
    counts.excluded = <int64_t*> carve(cursor, codes * sizeof(int64_t))
    counts.scarce = <int64_t*> carve(cursor, tree.width * sizeof(int64_t))
    counts.needs = <Need*> carve(cursor, worker_needs * sizeof(Need))
    counts.leader_needs = <Need*> carve(cursor, leader_needs * sizeof(Need))
    counts.dirty = <index_t*> carve(cursor, widest * sizeof(index_t)) if led else NULL
    counts.marked = <uint8_t*> carve(cursor, widest) if led else NULL


cdef int allocate(Counts* counts, Topologies table, bint shared) except -1 nogil:
    """Memory for a shape, all counts 0, and what a pod needs."""
    cdef Tree* tree = &table.trees[counts.shape.tree]
    cdef Py_ssize_t codes = 1, worker_needs = table.pods_length[counts.shape.pods] + 1, leader_needs = 0, column
    cdef char* cursor = NULL
    if tree.by_host and counts.shape.filter != NONE:
        for column in range(table.match.shape[1]):
            if table.match[counts.shape.filter, column] >= codes:
                codes = table.match[counts.shape.filter, column] + 1
    if counts.shape.leader != NONE:
        leader_needs = table.pods_length[counts.shape.leader] + 1
    lay_out(counts, tree, codes, worker_needs, leader_needs, shared, &cursor)
    counts.bytes = <Py_ssize_t> cursor
    counts.memory = calloc(1, counts.bytes + 8)
    if counts.memory == NULL:
        counts.bytes = 0
        with gil:
            raise MemoryError("counts of a topology")
    cursor = <char*> counts.memory
    lay_out(counts, tree, codes, worker_needs, leader_needs, shared, &cursor)
    counts.codes = codes
    counts.first = 0
    counts.end = INT32_MAX
    counts.probe_level = NONE
    counts.need_count = list_needs(counts.needs, table, counts.shape.pods)
    if counts.shape.leader != NONE:
        counts.leader_need_count = list_needs(counts.leader_needs, table, counts.shape.leader)
        for column in range(counts.need_count):
            counts.needs[column].leader = amount_of(counts.leader_needs, counts.leader_need_count,
                                                    counts.needs[column].resource)
    return 0


cdef Py_ssize_t list_needs(Need* needs, Topologies table, index_t pods) noexcept nogil:
    """What one pod of a class takes, `pods: 1` included, in order of resource names; how many entries (TP-705)."""
    cdef index_t item = table.pods_start[pods], end = item + table.pods_length[pods]
    cdef index_t pods_resource = table.pods_resource
    cdef Py_ssize_t count = 0, place
    cdef bint counted = pods_resource == NONE
    while item < end:
        needs[count].resource = table.item_resource[item]
        needs[count].amount = table.item_amount[item]
        needs[count].leader = 0
        if not counted and needs[count].resource == pods_resource:
            needs[count].amount = saturating_add(needs[count].amount, 1)
            counted = True
        count += 1
        item += 1
    if not counted:
        place = count
        while place > 0 and rank_of(table, needs[place - 1].resource) > rank_of(table, pods_resource):
            needs[place] = needs[place - 1]
            place -= 1
        needs[place].resource = pods_resource
        needs[place].amount = 1
        needs[place].leader = 0
        count += 1
    return count


cdef amount_t amount_of(Need* needs, Py_ssize_t count, index_t resource) noexcept nogil:
    cdef Py_ssize_t item
    for item in range(count):
        if needs[item].resource == resource:
            return needs[item].amount
    return 0


cdef inline index_t rank_of(Topologies table, index_t resource) noexcept nogil:
    return table.resource_rank[resource] if resource < table.resource_rank.shape[0] else resource


cdef inline int64_t fit_of(Need* needs, Py_ssize_t count, amount_t* room, amount_t* used, bint beside_leader,
                           index_t* limiting) noexcept nogil:
    """Pods that fit, 0 to 2^31-1; of the scarcest resources the one first in name order limits (TP-705)."""
    cdef Py_ssize_t item
    cdef int64_t fewest = INT32_MAX, fit
    cdef amount_t left, amount, wanted
    limiting[0] = needs[0].resource if count else NONE
    if count == 0:
        return 0
    for item in range(count):
        amount = needs[item].amount
        if amount == 0:
            continue
        left = saturating_sub(room[needs[item].resource], used[needs[item].resource])
        if beside_leader:
            left = saturating_sub(left, needs[item].leader)
        if amount > 0:
            # A product is much cheaper than a quotient, and for most resources of most leaves it is enough.
            wanted = saturating_mul(amount, fewest)
            if left >= wanted and wanted != INT64_MAX:
                continue
            fit = left // amount if left > 0 else 0
        else:
            fit = left // amount if left < 0 and left > -INT64_MAX else 0
        if fit < fewest:
            fewest = fit
            limiting[0] = needs[item].resource
            if fewest <= 0:
                return 0
    return fewest


cdef void count_leaf(Counts* counts, Topologies table, Tree* tree, Py_ssize_t leaf) noexcept nogil:
    """P, PL, Λ, S, SL and A of a leaf, and the tally of why leaves have none (TP-702..709)."""
    cdef LevelCounts* row = &counts.levels[tree.depth - 1]
    cdef amount_t* room = &tree.free[leaf * tree.width]
    cdef amount_t* used = &tree.used[counts.shape.view][leaf * tree.width]
    cdef int64_t pods = 0, pods_led = 0, score = 0
    cdef int32_t code = 0
    cdef index_t limiting, ignored
    cdef bint leads = False
    if tree.levels[tree.depth - 1].nodes[leaf] > 0:
        if tree.by_host and counts.shape.filter != NONE:
            if tree.node_class[leaf] < table.match.shape[1]:
                code = table.match[counts.shape.filter, tree.node_class[leaf]]
            if (counts.shape.scored and code == 0 and counts.shape.filter < table.score.shape[0]
                    and tree.node_class[leaf] < table.score.shape[1]):
                score = table.score[counts.shape.filter, tree.node_class[leaf]]
        if code == 0 and not counts.first <= leaf < counts.end:
            code = OUTSIDE
        if code == 0:
            pods = pods_led = fit_of(counts.needs, counts.need_count, room, used, False, &limiting)
            if pods == 0 and limiting != NONE:
                code = -1 - limiting
            if row.leaders != NULL and fit_of(counts.leader_needs, counts.leader_need_count, room, used, False,
                                              &ignored) > 0:
                leads = True
                pods_led = fit_of(counts.needs, counts.need_count, room, used, True, &ignored)
    if code != counts.code[leaf]:
        tally(counts, counts.code[leaf], -1)
        tally(counts, code, 1)
        counts.code[leaf] = code
    row.pods[leaf] = pods
    row.pods_led[leaf] = pods_led
    if row.leaders != NULL:
        row.leaders[leaf] = leads
    if row.scores != NULL:
        row.scores[leaf] = score
    if row.slices != NULL and row.slices != row.pods:
        row.slices[leaf] = pods // counts.shape.slice_size
        row.slices_led[leaf] = pods_led // counts.shape.slice_size


cdef inline void tally(Counts* counts, int32_t code, int64_t sign) noexcept nogil:
    if code == OUTSIDE:
        counts.outside += sign
    elif code < 0:
        counts.scarce[-1 - code] += sign
    elif code >= counts.codes:
        counts.short_of_codes = True
    elif code > 0:
        counts.excluded[code] += sign


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
