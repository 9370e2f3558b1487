"""Counting one leaf, and the memory of counts."""

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc

from kueuecore._amount cimport saturating_add, saturating_mul, saturating_sub
from kueuecore._topology cimport Topologies
from kueuecore._trees cimport Tree
from kueuecore._types cimport NONE, amount_t, index_t


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
