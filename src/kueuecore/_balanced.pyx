"""Balanced placement: every domain gets at least a threshold of slices, on as few domains as that allows.

Sets of sibling domains are tried on copies of their counts, from which all that holds less than the threshold is
pruned.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from kueuecore._counts cimport sum_up
from kueuecore._leaves cimport Counts, LevelCounts, Shape, allocate
from kueuecore._levels cimport Heap, Search, Shares, append, descend
from kueuecore._optimal cimport Greedy, choose, sort_domains, take_greedily
from kueuecore._topology cimport Topologies
from kueuecore._trees cimport Tree
from kueuecore._types cimport NONE, index_t


cdef struct Ranges:          # the domains of a set and all below them, by level: [first, end)
    Py_ssize_t[16] first
    Py_ssize_t[16] end


cdef void forget_balancing(Balancing* balancing) noexcept nogil:
    free(balancing.pruned.memory)
    free(balancing.best.memory)
    memset(balancing, 0, sizeof(Balancing))


cdef int place_balanced(Topologies table, Counts* counts, Search* search, Balancing* balancing, Heap* heap,
                        Shares* shares, Shares* spare) except -1 nogil:
    """Shares on leaves, 1; or 0 where it does not apply or fails: level search decides then (TP-901)."""
    cdef Tree* tree = &table.trees[counts.shape.tree]
    cdef int level
    cdef Py_ssize_t widest = 1
    cdef index_t* domains
    cdef int placed = 0
    if tree.live == 0:
        return 0
    for level in range(tree.depth):
        widest = max(widest, tree.levels[level].count)
    domains = <index_t*> malloc(widest * sizeof(index_t))
    if domains == NULL:
        with gil:
            raise MemoryError("balanced placement")
    try:
        prepare(&balancing.pruned, counts, table)
        prepare(&balancing.best, counts, table)
        placed = place_best(tree, counts, search, balancing, domains, heap, shares, spare)
    finally:
        free(domains)
    return placed


cdef int prepare(Counts* copy, Counts* counts, Topologies table) except -1 nogil:
    """Columns of its own for every count of a shape."""
    free(copy.memory)
    memset(copy, 0, sizeof(Counts))
    memcpy(&copy.shape, &counts.shape, sizeof(Shape))
    return allocate(copy, table, False)


cdef int place_best(Tree* tree, Counts* counts, Search* search, Balancing* balancing, index_t* domains, Heap* heap,
                    Shares* shares, Shares* spare) except -1 nogil:
    cdef Ranges ranges, best_ranges
    cdef Py_ssize_t above, sets = 1
    cdef int64_t best = 0, best_count = 0, threshold, count
    cdef int level = search.level
    cdef Counts swap
    if level > 0:
        sets = tree.levels[level - 1].count
    memset(&best_ranges, 0, sizeof(Ranges))
    for above in range(sets):
        if level > 0 and tree.levels[level - 1].nodes[above] == 0:
            continue
        find_ranges(tree, level, above, &ranges)
        threshold = threshold_of_set(tree, counts, &balancing.pruned, search, &ranges, domains, best, &count)
        if threshold > best or (threshold == best and threshold > 0 and count < best_count):
            best = threshold
            best_count = count
            best_ranges = ranges
            swap = balancing.pruned
            balancing.pruned = balancing.best
            balancing.best = swap
    if best == 0:
        return 0
    return place_set(tree, &balancing.best, search, &best_ranges, domains, best, heap, shares, spare)


cdef void find_ranges(Tree* tree, int level, Py_ssize_t above, Ranges* ranges) noexcept nogil:
    """The children of a domain above `level` (all of level 0) and what is below them."""
    cdef int below
    if level == 0:
        ranges.first[0] = 0
        ranges.end[0] = tree.levels[0].count
    else:
        ranges.first[level] = tree.levels[level - 1].first_child[above]
        ranges.end[level] = tree.levels[level - 1].child_end[above]
    for below in range(level + 1, tree.depth):
        ranges.first[below] = ranges.end[below] = 0
        if ranges.end[below - 1] > ranges.first[below - 1]:
            ranges.first[below] = tree.levels[below - 1].first_child[ranges.first[below - 1]]
            ranges.end[below] = tree.levels[below - 1].child_end[ranges.end[below - 1] - 1]


cdef Py_ssize_t list_range(index_t* domains, Ranges* ranges, int level) noexcept nogil:
    cdef Py_ssize_t domain
    for domain in range(ranges.first[level], ranges.end[level]):
        domains[domain - ranges.first[level]] = <index_t> domain
    return ranges.end[level] - ranges.first[level]


cdef int64_t threshold_of_set(Tree* tree, Counts* counts, Counts* pruned, Search* search, Ranges* ranges,
                              index_t* domains,
                              int64_t best, int64_t* count) noexcept nogil:
    """The threshold that a set meets and on how many domains, on pruned copies; 0 when none (TP-904)."""
    cdef int level = search.level, lower = level + 1 if level < counts.shape.slice_level else level
    cdef LevelCounts* row = &counts.levels[lower]
    cdef Greedy greedy = take_greedily(counts, lower, domains, list_range(domains, ranges, lower), search.need,
                                       search.leaders)
    cdef int64_t threshold, reserving
    # Without any domain there is nothing to balance (upstream would divide by zero).
    if not greedy.fits or greedy.domains == 0:
        return 0
    threshold = search.need // greedy.domains
    if greedy.last_led != NONE:
        threshold = min(threshold, row.slices_led[greedy.last_led])
    if greedy.last != NONE:
        threshold = min(threshold, row.slices[greedy.last])
    reserving = threshold
    if search.leaders and greedy.last != NONE:
        reserving = min(threshold, row.slices_led[greedy.last])
    if threshold < best:
        return 0
    greedy = prune_and_take(tree, counts, pruned, search, ranges, domains, threshold)
    if not greedy.fits and reserving < threshold:
        # A lower threshold leaves room for the leader.
        if reserving <= 0 or reserving < best:
            return 0
        threshold = reserving
        greedy = prune_and_take(tree, counts, pruned, search, ranges, domains, threshold)
    if not greedy.fits:
        return 0
    count[0] = greedy.domains
    return threshold


cdef Greedy prune_and_take(Tree* tree, Counts* counts, Counts* pruned, Search* search, Ranges* ranges, index_t* domains,
                           int64_t threshold) noexcept nogil:
    copy_counts(tree, counts, pruned, search.level, ranges)
    prune(tree, pruned, search.level, ranges, threshold)
    return take_greedily(pruned, search.level, domains, list_range(domains, ranges, search.level), search.need,
                         search.leaders)


cdef void copy_counts(Tree* tree, Counts* counts, Counts* copy, int level, Ranges* ranges) noexcept nogil:
    cdef Py_ssize_t first, size
    cdef LevelCounts* old
    cdef LevelCounts* new
    while level < tree.depth:
        first = ranges.first[level]
        size = (ranges.end[level] - first) * sizeof(int64_t)
        old = &counts.levels[level]
        new = &copy.levels[level]
        memcpy(&new.pods[first], &old.pods[first], size)
        memcpy(&new.pods_led[first], &old.pods_led[first], size)
        if old.slices != NULL:
            memcpy(&new.slices[first], &old.slices[first], size)
            memcpy(&new.slices_led[first], &old.slices_led[first], size)
        if old.scores != NULL:
            memcpy(&new.scores[first], &old.scores[first], size)
        if old.leaders != NULL:
            memcpy(&new.leaders[first], &old.leaders[first], ranges.end[level] - first)
        level += 1


cdef void prune(Tree* tree, Counts* counts, int level, Ranges* ranges, int64_t threshold) noexcept nogil:
    """Drop what holds less than the threshold: children, then the domains by what is left (TP-905)."""
    cdef Py_ssize_t domain
    cdef LevelCounts* leaves = &counts.levels[tree.depth - 1]
    cdef int below
    if level + 1 < tree.depth:
        for domain in range(ranges.first[level + 1], ranges.end[level + 1]):
            prune_domain(tree, counts, level + 1, domain, threshold)
    if leaves.slices != NULL:
        for domain in range(ranges.first[tree.depth - 1], ranges.end[tree.depth - 1]):
            leaves.slices[domain] = leaves.pods[domain] // counts.shape.slice_size
            leaves.slices_led[domain] = leaves.pods_led[domain] // counts.shape.slice_size
    for below in range(tree.depth - 2, level - 1, -1):
        for domain in range(ranges.first[below], ranges.end[below]):
            sum_up(counts, tree, below, domain, 0)
    for domain in range(ranges.first[level], ranges.end[level]):
        prune_domain(tree, counts, level, domain, threshold)


cdef void prune_domain(Tree* tree, Counts* counts, int level, Py_ssize_t domain, int64_t threshold) noexcept nogil:
    cdef LevelCounts* row = &counts.levels[level]
    if row.slices == NULL or row.slices[domain] < threshold:
        clear(tree, counts, level, domain, False)
    elif row.leaders != NULL and row.leaders[domain] > 0 and row.slices_led[domain] < threshold:
        clear(tree, counts, level, domain, True)


cdef void clear(Tree* tree, Counts* counts, int level, Py_ssize_t first, bint only_leader) noexcept nogil:
    """Zero a domain and all below it, or only what it holds beside a leader."""
    cdef Py_ssize_t end = first + 1, domain
    cdef LevelCounts* row
    while level < tree.depth and first < end:
        row = &counts.levels[level]
        for domain in range(first, end):
            if not only_leader:
                row.pods[domain] = 0
                if row.slices != NULL:
                    row.slices[domain] = 0
            row.pods_led[domain] = 0
            if row.slices != NULL:
                row.slices_led[domain] = 0
            if row.leaders != NULL:
                row.leaders[domain] = 0
        if level + 1 < tree.depth:
            domain = end - 1
            first = tree.levels[level].first_child[first]
            end = tree.levels[level].child_end[domain]
        level += 1


cdef int place_set(Tree* tree, Counts* counts, Search* search, Ranges* ranges, index_t* domains, int64_t threshold,
                   Heap* heap, Shares* shares, Shares* spare) except -1 nogil:
    """Give each chosen domain the threshold, deal out the rest, and descend (TP-907, TP-909, TP-910)."""
    cdef int level = search.level
    cdef Py_ssize_t count = list_range(domains, ranges, level), item, child
    cdef Search below = search[0]
    cdef int64_t extra, more
    cdef int leaders = search.leaders
    cdef LevelCounts* row
    if level < counts.shape.slice_level:
        count = choose(counts, tree, level, domains, count, search.need, leaders, True)
        if count < 0:
            return 0
        spare.length = 0
        for item in range(count):
            for child in range(tree.levels[level].first_child[domains[item]],
                               tree.levels[level].child_end[domains[item]]):
                append(spare, <index_t> child, 0, 0)
        count = spare.length
        for item in range(count):
            domains[item] = spare.items[item].domain
        level += 1
    count = choose(counts, tree, level, domains, count, search.need, leaders, False)
    extra = search.need - count * threshold
    if count < 0 or extra < 0:
        return 0
    row = &counts.levels[level]
    sort_domains(counts, level, True, domains, count)
    shares.length = 0
    for item in range(count):
        more = 0
        if leaders > 0:
            more = min(row.slices_led[domains[item]] - threshold, extra)
        elif extra > 0:
            more = min(row.slices[domains[item]] - threshold, extra)
        append(shares, domains[item], 1 if leaders > 0 else 0, (threshold + more) * counts.shape.slice_size)
        leaders -= leaders > 0
        extra -= more
    if extra > 0 or leaders > 0:
        shares.length = 0
        return 0
    below.level = level
    # Sums without inner layers may promise more than the leaves hold (TP-2008): level search decides then.
    if not descend(counts, tree, &below, True, heap, shares, spare):
        shares.length = 0
        return 0
    return 1
