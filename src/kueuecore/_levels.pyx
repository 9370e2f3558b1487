"""Level search and descent.

Upstream sorts the domains of a level and takes from the front. Only a few are ever taken, so here the shortest prefix
that suffices is kept in a heap while all domains pass by once: the same domains, without a sort. Where the order of the
result matters at all, it is the order of level values, made at the very end.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport realloc

from kueuecore._counts cimport hits_at
from kueuecore._leaves cimport Counts, LevelCounts
from kueuecore._trees cimport Level, Tree
from kueuecore._types cimport NONE, index_t


cdef struct Source:          # the domains of a level that share something, and how their room is counted
    Counts* counts
    LevelCounts* row
    Level* above             # ranges of children; NULL: all domains of the level
    Share* parents           # [parent_count] whose children take part
    Py_ssize_t parent_count
    Py_ssize_t domains       # of the level
    int level
    bint least_free
    bint by_slices           # room is S, else P in whole units
    int64_t unit             # pods of a unit


cdef int append(Shares* shares, index_t domain, int32_t leaders, int64_t pods) except -1 nogil:
    cdef Py_ssize_t capacity
    cdef Share* grown
    if shares.length == shares.capacity:
        capacity = 2 * shares.capacity + 64
        grown = <Share*> realloc(shares.items, capacity * sizeof(Share))
        if grown == NULL:
            with gil:
                raise MemoryError("placement")
        shares.items = grown
        shares.capacity = capacity
    shares.items[shares.length].domain = domain
    shares.items[shares.length].leaders = leaders
    shares.items[shares.length].pods = pods
    shares.length += 1
    return 0


# ---- orders (TP-805) ----------------------------------------------------------------------------------------------

cdef bint before(Counts* counts, int level, bint least_free, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """ORD: affinity down, slices down (up with LeastFree), pods up, level values up."""
    cdef LevelCounts* row = &counts.levels[level]
    if row.scores != NULL and row.scores[a] != row.scores[b]:
        return row.scores[a] > row.scores[b]
    if row.slices != NULL and row.slices[a] != row.slices[b]:
        return (row.slices[a] < row.slices[b]) == least_free
    if row.pods[a] != row.pods[b]:
        return row.pods[a] < row.pods[b]
    return a < b


cdef bint before_led(Counts* counts, int level, bint least_free, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """ORDL: those that take the leader first, then as ORD by the counts beside a leader."""
    cdef LevelCounts* row = &counts.levels[level]
    if row.leaders != NULL and row.leaders[a] != row.leaders[b]:
        return row.leaders[a] > row.leaders[b]
    if row.scores != NULL and row.scores[a] != row.scores[b]:
        return row.scores[a] > row.scores[b]
    if row.slices_led[a] != row.slices_led[b]:
        return (row.slices_led[a] < row.slices_led[b]) == least_free
    if row.pods_led[a] != row.pods_led[b]:
        return row.pods_led[a] < row.pods_led[b]
    return a < b


cdef inline int64_t room_of(Source* source, Py_ssize_t domain) noexcept nogil:
    if source.by_slices:
        return source.row.slices[domain]
    return source.row.pods[domain] if source.unit == 1 else source.row.pods[domain] // source.unit


cdef inline int64_t led_room_of(Source* source, Py_ssize_t domain) noexcept nogil:
    if source.by_slices:
        return source.row.slices_led[domain]
    return source.row.pods_led[domain] if source.unit == 1 else source.row.pods_led[domain] // source.unit


cdef inline bint hosts(Source* source, Py_ssize_t domain) noexcept nogil:
    return source.row.leaders != NULL and source.row.leaders[domain] > 0


cdef inline bint same_score(Source* source, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return source.row.scores == NULL or source.row.scores[a] == source.row.scores[b]


cdef inline Py_ssize_t range_count(Source* source) noexcept nogil:
    return 1 if source.above == NULL else source.parent_count


cdef inline void range_of(Source* source, Py_ssize_t number, Py_ssize_t* first, Py_ssize_t* end) noexcept nogil:
    if source.above == NULL:
        first[0] = 0
        end[0] = source.domains
    else:
        first[0] = source.above.first_child[source.parents[number].domain]
        end[0] = source.above.child_end[source.parents[number].domain]


# ---- taking the shortest prefix that suffices (TP-806, TP-808.7, TP-810) ------------------------------------------

cdef void sift_down(Source* source, Heap* heap, Py_ssize_t hole) noexcept nogil:
    """The domain last in ORD to the root."""
    cdef Py_ssize_t child
    cdef index_t moving = heap.items[hole]
    while True:
        child = 2 * hole + 1
        if child >= heap.length:
            break
        if child + 1 < heap.length and before(source.counts, source.level, source.least_free,
                                              heap.items[child], heap.items[child + 1]):
            child += 1
        if not before(source.counts, source.level, source.least_free, moving, heap.items[child]):
            break
        heap.items[hole] = heap.items[child]
        hole = child
    heap.items[hole] = moving


cdef int push(Source* source, Heap* heap, index_t domain) except -1 nogil:
    cdef Py_ssize_t hole = heap.length, parent, capacity
    cdef index_t* grown
    if heap.length == heap.capacity:
        capacity = 2 * heap.capacity + 64
        grown = <index_t*> realloc(heap.items, capacity * sizeof(index_t))
        if grown == NULL:
            with gil:
                raise MemoryError("placement")
        heap.items = grown
        heap.capacity = capacity
    heap.length += 1
    while hole > 0:
        parent = (hole - 1) // 2
        if not before(source.counts, source.level, source.least_free, heap.items[parent], domain):
            break
        heap.items[hole] = heap.items[parent]
        hole = parent
    heap.items[hole] = domain
    return 0


cdef bint take_rest(Source* source, int64_t need, Py_ssize_t leader, Heap* heap, Shares* taken) except -1 nogil:
    """Share `need` units among the domains other than the leader's in ORD; whether there was room for all.

    With BestFit the last one is the one with the least room that takes all that is left then.
    """
    cdef Py_ssize_t number, first, end, domain, last, best
    cdef int64_t room, total = 0
    cdef index_t item
    if need <= 0:
        return True
    heap.length = 0
    for number in range(range_count(source)):
        range_of(source, number, &first, &end)
        for domain in range(first, end):
            room = room_of(source, domain)
            # Without room a domain adds nothing, wherever it stands in the order.
            if room <= 0 or domain == leader:
                continue
            if total >= need and not before(source.counts, source.level, source.least_free, domain, heap.items[0]):
                continue
            push(source, heap, <index_t> domain)
            total += room
            while total - room_of(source, heap.items[0]) >= need:
                total -= room_of(source, heap.items[0])
                heap.length -= 1
                heap.items[0] = heap.items[heap.length]
                sift_down(source, heap, 0)
    if total < need:
        return False
    last = heap.items[0]
    for number in range(1, heap.length):
        item = heap.items[number]
        append(taken, item, 0, room_of(source, item) * source.unit)
    need -= total - room_of(source, last)
    best = last
    if not source.least_free:
        for number in range(range_count(source)):
            range_of(source, number, &first, &end)
            for domain in range(first, end):
                room = room_of(source, domain)
                if room < need or room > room_of(source, best) or domain == leader or not same_score(source, domain,
                                                                                                     last):
                    continue
                if domain != last and before(source.counts, source.level, False, domain, last):
                    continue
                if room < room_of(source, best) or before(source.counts, source.level, False, domain, best):
                    best = domain
    append(taken, <index_t> best, 0, need * source.unit)
    if source.by_slices and source.row.leaders != NULL and (source.least_free or source.row.scores != NULL):
        take_hosts(source, last, leader, taken)
    return True


cdef int take_hosts(Source* source, Py_ssize_t last, Py_ssize_t leader, Shares* taken) except -1 nogil:
    """Domains without room that stand before the last one taken: they get no pods, but all children are looked at
    together on the next level, and the leader may go to one of theirs."""
    cdef Py_ssize_t number, first, end, domain
    for number in range(range_count(source)):
        range_of(source, number, &first, &end)
        for domain in range(first, end):
            if (hosts(source, domain) and room_of(source, domain) <= 0 and domain != leader
                    and before(source.counts, source.level, source.least_free, domain, last)):
                append(taken, <index_t> domain, 0, 0)
    return 0


cdef bint share_out(Source* source, int64_t need, int32_t leaders, Heap* heap, Shares* taken) except -1 nogil:
    """Share `need` units and the leader among the domains (TP-807, TP-810); whether there was room for all.

    The leader goes to the first domain in ORD whose loss leaves enough. If there is none, upstream's loop runs dry too:
    what it takes before and after any leader is at most all room less that loss.
    """
    cdef Py_ssize_t number, first, end, domain, chosen = NONE, front = NONE, best
    cdef int64_t total = 0, room
    if not leaders:
        return take_rest(source, need, NONE, heap, taken)
    for number in range(range_count(source)):
        range_of(source, number, &first, &end)
        for domain in range(first, end):
            total += room_of(source, domain)
    for number in range(range_count(source)):
        range_of(source, number, &first, &end)
        for domain in range(first, end):
            if source.row.scores != NULL and (
                front == NONE or before(source.counts, source.level, source.least_free, domain, front)
            ):
                front = domain
            if not hosts(source, domain) or total - (room_of(source, domain) - led_room_of(source, domain)) < need:
                continue
            if chosen == NONE or before(source.counts, source.level, source.least_free, domain, chosen):
                chosen = domain
    if chosen == NONE:
        return False
    room = led_room_of(source, chosen)
    if room < need:
        append(taken, <index_t> chosen, 1, max(room, 0) * source.unit)
        return take_rest(source, need - max(room, 0), chosen, heap, taken)
    best = chosen
    # The leader's domain was moved to the front: others have its affinity at the head only if the first one has.
    if not source.least_free and (front == NONE or same_score(source, front, chosen)):
        for number in range(range_count(source)):
            range_of(source, number, &first, &end)
            for domain in range(first, end):
                room = led_room_of(source, domain)
                if not hosts(source, domain) or room < need or not same_score(source, domain, chosen):
                    continue
                if room < led_room_of(source, best) or (
                    room == led_room_of(source, best) and best != chosen
                    and before(source.counts, source.level, False, domain, best)
                ):
                    best = domain
    append(taken, <index_t> best, 1, need * source.unit)
    return True


# ---- level search (TP-808) ----------------------------------------------------------------------------------------

cdef bint is_live(Tree* tree, int level, Py_ssize_t domain) noexcept nogil:
    return tree.levels[level].nodes[domain] > 0


cdef Py_ssize_t best_single(Counts* counts, Tree* tree, Search* search) noexcept nogil:
    """The domain that takes all: of those with most affinity the one with the least room, by pods, then level values.

    LeastFree takes the first in ORDL that suffices, BestFit the tightest of the head's affinity: both are this one.
    """
    cdef LevelCounts* row = &counts.levels[search.level]
    cdef Py_ssize_t domain, best = NONE
    cdef int64_t need = search.need, least = INT64_MAX
    for domain in range(tree.levels[search.level].count):
        if row.slices_led[domain] < need:
            continue
        if row.scores == NULL and row.slices_led[domain] > least:
            continue
        if (search.leaders and not row.leaders[domain]) or (need == 0 and not is_live(tree, search.level, domain)):
            continue
        if best == NONE or single_before(row, domain, best):
            best = domain
            least = row.slices_led[domain]
    if best == NONE or row.scores == NULL or search.least_free or search.required:
        return best
    # BestFit looks only at what has the affinity of the head of ORDL.
    for domain in range(tree.levels[search.level].count):
        if is_live(tree, search.level, domain) and row.scores[domain] > row.scores[best] and (
            not search.leaders or row.leaders[domain]
        ):
            return NONE
    return best


cdef inline bint single_before(LevelCounts* row, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    if row.scores != NULL and row.scores[a] != row.scores[b]:
        return row.scores[a] > row.scores[b]
    if row.slices_led[a] != row.slices_led[b]:
        return row.slices_led[a] < row.slices_led[b]
    if row.pods_led[a] != row.pods_led[b]:
        return row.pods_led[a] < row.pods_led[b]
    return a < b


cdef Py_ssize_t end_of_order(Counts* counts, Tree* tree, Search* search, bint last) noexcept nogil:
    """The first (or last) domain of the level in ORDL; NONE without any."""
    cdef Py_ssize_t domain, found = NONE
    for domain in range(tree.levels[search.level].count):
        if is_live(tree, search.level, domain) and (
            found == NONE or before_led(counts, search.level, search.least_free, domain, found) != last
        ):
            found = domain
    return found


cdef int search_levels(Counts* counts, Tree* tree, Search* search, Heap* heap, Shares* found) except -1 nogil:
    """The domains that take the request, from the requested level upwards, with their shares (a Found)."""
    cdef Py_ssize_t domain
    cdef LevelCounts* row
    while True:
        if tree.live == 0:
            return NO_DOMAIN
        row = &counts.levels[search.level]
        domain = best_single(counts, tree, search)
        if domain != NONE:
            append(found, <index_t> domain, search.leaders, search.need * counts.shape.slice_size)
            return FOUND
        if search.required:
            if search.least_free:
                search.fitted = row.pods[end_of_order(counts, tree, search, True)]
            else:
                search.fitted = row.slices[end_of_order(counts, tree, search, False)]
            return NOT_FOUND
        if search.level == 0 or search.unconstrained:
            return spread(counts, tree, search, heap, found)
        search.level -= 1


cdef int spread(Counts* counts, Tree* tree, Search* search, Heap* heap, Shares* found) except -1 nogil:
    """Several domains of a level together (TP-808.7)."""
    cdef Source source
    cdef Py_ssize_t domain, leader = NONE
    cdef int64_t need = search.need, total = 0, loss
    source.counts = counts
    source.row = &counts.levels[search.level]
    source.above = NULL
    source.parents = NULL
    source.parent_count = 0
    source.domains = tree.levels[search.level].count
    source.level = search.level
    source.least_free = search.least_free
    source.by_slices = True
    source.unit = counts.shape.slice_size
    for domain in range(source.domains):
        total += source.row.slices[domain]
    if search.leaders:
        for domain in range(source.domains):
            loss = source.row.slices[domain] - source.row.slices_led[domain]
            if hosts(&source, domain) and total - loss >= need and (
                leader == NONE or before_led(counts, search.level, search.least_free, domain, leader)
            ):
                leader = domain
        if leader == NONE:
            # Upstream tries the first domain of the order then, and comes out as short as its loss says.
            leader = end_of_order(counts, tree, search, False)
            search.fitted = 0
            if hosts(&source, leader):
                search.fitted = total - (source.row.slices[leader] - source.row.slices_led[leader])
            return NOT_FOUND
        need -= source.row.slices_led[leader]
        append(found, <index_t> leader, 1, min(source.row.slices_led[leader], search.need) * source.unit)
    elif total < need:
        search.fitted = total
        return NOT_FOUND
    take_rest(&source, need, leader, heap, found)
    return FOUND


cdef bint fits(Counts* counts, Tree* tree, Search* search) noexcept nogil:
    """Whether search_levels would find domains, from sums alone.

    Required: a domain of the level must take all. Else the search ends by spreading over all domains of a level at or
    above the slice level; all slices of such a level are those of level 0, so is the least loss by a leader, and a
    domain that takes all by itself implies as much for everything above it.
    """
    if tree.live == 0:
        return False
    if search.need == 0 and not search.leaders:
        return True
    if search.required:
        return hits_at(counts, tree, search.level, search.need) > 0
    if search.leaders:
        return counts.any_leader and counts.all_slices - counts.least_loss >= search.need
    return counts.all_slices >= search.need


# ---- descent (TP-811) ---------------------------------------------------------------------------------------------

cdef int descend(Counts* counts, Tree* tree, Search* search, bint balanced, Heap* heap, Shares* shares,
                 Shares* spare) except -1 nogil:
    """Share out from the found level down to the leaves; 0 when a level ran dry, which balanced placement may do."""
    cdef Source source
    cdef Py_ssize_t item
    cdef Shares swap
    cdef int level = search.level
    cdef bint enough
    source.counts = counts
    source.least_free = search.least_free
    while level < tree.depth - 1:
        source.above = &tree.levels[level]
        source.level = level + 1
        source.row = &counts.levels[level + 1]
        source.domains = tree.levels[level + 1].count
        spare.length = 0
        if level < counts.shape.slice_level and not balanced:
            # All children together: what their parents took does not bind them.
            source.parents = shares.items
            source.parent_count = shares.length
            source.by_slices = True
            source.unit = counts.shape.slice_size
            enough = share_out(&source, search.need, search.leaders, heap, spare)
            if not enough:
                return 0
        else:
            source.parent_count = 1
            source.by_slices = False
            source.unit = counts.shape.slice_size
            if level >= counts.shape.slice_level:
                source.unit = max(counts.shape.inner[level + 1], 1)
            for item in range(shares.length):
                if shares.items[item].pods == 0 and not shares.items[item].leaders:
                    continue
                source.parents = &shares.items[item]
                enough = share_out(&source, shares.items[item].pods // source.unit, shares.items[item].leaders, heap,
                                   spare)
                if not enough:
                    return 0
        swap = shares[0]
        shares[0] = spare[0]
        spare[0] = swap
        level += 1
    return 1
