"""Greedy estimate and dynamic programme of balanced placement. Alpha upstream, so plain sorts do here."""

from libc.math cimport frexp, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memset

from kueuecore._leaves cimport Counts, LevelCounts
from kueuecore._levels cimport before, before_led
from kueuecore._trees cimport Tree
from kueuecore._types cimport NONE, index_t


cdef struct Ranked:          # a domain with the keys of the entropy order
    index_t domain
    int32_t leaders
    int64_t slices_led
    double entropy


cdef void sort_domains(Counts* counts, int level, bint led, index_t* domains, Py_ssize_t length) noexcept nogil:
    """Heap sort in ORDL or ORD of BestFit."""
    cdef Py_ssize_t start = length // 2, end = length
    cdef index_t moved
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            moved = domains[0]
            domains[0] = domains[end]
            domains[end] = moved
        settle(counts, level, led, domains, start, end)


cdef void settle(Counts* counts, int level, bint led, index_t* domains, Py_ssize_t hole, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t child
    cdef index_t moving = domains[hole]
    while True:
        child = 2 * hole + 1
        if child >= end:
            break
        if child + 1 < end and in_order(counts, level, led, domains[child], domains[child + 1]):
            child += 1
        if not in_order(counts, level, led, moving, domains[child]):
            break
        domains[hole] = domains[child]
        hole = child
    domains[hole] = moving


cdef inline bint in_order(Counts* counts, int level, bint led, index_t a, index_t b) noexcept nogil:
    return before_led(counts, level, False, a, b) if led else before(counts, level, False, a, b)


cdef Greedy take_greedily(Counts* counts, int level, index_t* domains, Py_ssize_t length, int64_t need,
                          int32_t leaders) noexcept nogil:
    """Take from the front of the order until all have a place (TP-902). Sorts `domains`."""
    cdef Greedy result
    cdef LevelCounts* row = &counts.levels[level]
    cdef Py_ssize_t item = 0
    result.fits = False
    result.domains = 0
    result.last_led = result.last = NONE
    if leaders > 0:
        sort_domains(counts, level, True, domains, length)
        while leaders > 0 and item < length and row.leaders[domains[item]] > 0:
            result.domains += 1
            result.last_led = domains[item]
            leaders -= row.leaders[domains[item]]
            need -= row.slices_led[domains[item]]
            item += 1
        if leaders > 0:
            return result
    sort_domains(counts, level, False, &domains[item], length - item)
    while need > 0 and item < length and row.slices[domains[item]] > 0:
        result.domains += 1
        result.last = domains[item]
        need -= row.slices[domains[item]]
        item += 1
    result.fits = need <= 0
    return result


cdef double log2_of(double value) noexcept nogil:
    """The base-2 logarithm by way of the natural one, rounded where upstream rounds."""
    cdef int exponent
    cdef double fraction = frexp(value, &exponent)
    if fraction == 0.5:
        return exponent - 1
    return log(fraction) * (1.0 / 0.693147180559945309417232121458176568) + exponent


cdef double entropy_of(Counts* counts, Tree* tree, int level, index_t domain) noexcept nogil:
    """How evenly the pods of a domain lie on its children (TP-908)."""
    cdef Py_ssize_t child
    cdef int64_t total = 0
    cdef double entropy = 0, part
    if level + 1 >= tree.depth:
        return 0
    for child in range(tree.levels[level].first_child[domain], tree.levels[level].child_end[domain]):
        total += counts.levels[level + 1].pods[child]
    if total == 0:
        return 0
    for child in range(tree.levels[level].first_child[domain], tree.levels[level].child_end[domain]):
        if counts.levels[level + 1].pods[child] > 0:
            part = counts.levels[level + 1].pods[child] / <double> total
            entropy += -part * log2_of(part)
    return entropy


cdef int compare_entropy(const void* left, const void* right) noexcept nogil:
    cdef const Ranked* a = <const Ranked*> left
    cdef const Ranked* b = <const Ranked*> right
    if a.leaders != b.leaders:
        return 1 if a.leaders < b.leaders else -1
    if a.slices_led != b.slices_led:
        return 1 if a.slices_led < b.slices_led else -1
    if a.entropy != b.entropy:
        return 1 if a.entropy < b.entropy else -1
    return (a.domain > b.domain) - (a.domain < b.domain)


cdef int compare_number(const void* left, const void* right) noexcept nogil:
    cdef index_t a = (<const index_t*> left)[0], b = (<const index_t*> right)[0]
    return (a > b) - (a < b)


cdef int order_by_entropy(Counts* counts, Tree* tree, int level, index_t* domains, Py_ssize_t length) except -1 nogil:
    cdef Ranked* ranked = <Ranked*> malloc((length + 1) * sizeof(Ranked))
    cdef Py_ssize_t item
    cdef LevelCounts* row = &counts.levels[level]
    if ranked == NULL:
        with gil:
            raise MemoryError("balanced placement")
    for item in range(length):
        ranked[item].domain = domains[item]
        ranked[item].leaders = row.leaders[domains[item]] if row.leaders != NULL else 0
        ranked[item].slices_led = row.slices_led[domains[item]]
        ranked[item].entropy = entropy_of(counts, tree, level, domains[item])
    qsort(ranked, length, sizeof(Ranked), compare_entropy)
    for item in range(length):
        domains[item] = ranked[item].domain
    free(ranked)
    return 0


cdef Py_ssize_t choose(Counts* counts, Tree* tree, int level, index_t* domains, Py_ssize_t length, int64_t need,
                       int32_t leaders, bint by_entropy) except -2 nogil:
    """Put the chosen domains to the front of `domains`; how many, -1 if nothing fits (TP-908)."""
    cdef Greedy greedy = take_greedily(counts, level, domains, length, need, leaders)
    cdef Programme programme
    cdef Py_ssize_t found
    if not greedy.fits:
        return -1
    if by_entropy:
        order_by_entropy(counts, tree, level, domains, length)
    else:
        qsort(domains, length, sizeof(index_t), compare_number)
    memset(&programme, 0, sizeof(Programme))
    programme.bucket_count = 1024
    programme.buckets = <int32_t*> malloc(programme.bucket_count * sizeof(int32_t))
    programme.heads = <int32_t*> malloc(2 * (greedy.domains + 1) * sizeof(int32_t))
    try:
        if programme.buckets == NULL or programme.heads == NULL:
            with gil:
                raise MemoryError("balanced placement")
        memset(programme.buckets, 0xff, programme.bucket_count * sizeof(int32_t))
        memset(programme.heads, 0xff, 2 * (greedy.domains + 1) * sizeof(int32_t))
        found = run_programme(&programme, counts, level, domains, length, <int32_t> greedy.domains,
                              need * counts.shape.slice_size, leaders)
    finally:
        free(programme.buckets)
        free(programme.heads)
        free(programme.states)
    return found


cdef Py_ssize_t run_programme(Programme* programme, Counts* counts, int level, index_t* domains, Py_ssize_t length,
                              int32_t most, int64_t pods, int32_t leaders) except -2 nogil:
    cdef LevelCounts* row = &counts.levels[level]
    cdef Py_ssize_t item
    cdef int32_t used, state, left, best = NONE, count
    cdef index_t domain
    add_state(programme, 0, leaders, pods, NONE, NONE)
    for item in range(length):
        domain = domains[item]
        for used in range(most, 0, -1):
            # The first writer of a state wins, and states without an open leader come first.
            for left in range(2):
                state = programme.heads[2 * (used - 1) + left]
                while state != NONE:
                    pods = programme.states[state].pods
                    if left > 0 or pods > 0:
                        if left > 0 and row.leaders[domain] > 0:
                            add_state(programme, used, 0, pods - row.pods_led[domain], domain, state)
                        if row.slices[domain] > 0:
                            add_state(programme, used, left, pods - row.pods[domain], domain, state)
                    state = programme.states[state].sibling
    state = programme.heads[2 * most]
    while state != NONE:
        if programme.states[state].pods <= 0 and (
            best == NONE or programme.states[state].pods > programme.states[best].pods
        ):
            best = state
        state = programme.states[state].sibling
    if best == NONE:
        return -1
    count = programme.states[best].used
    for used in range(count - 1, -1, -1):
        domains[used] = programme.states[best].domain
        best = programme.states[best].previous
    return count


cdef inline Py_ssize_t bucket_of(Programme* programme, int32_t used, int32_t leaders, int64_t pods) noexcept nogil:
    cdef uint64_t key = <uint64_t> pods * 0x9E3779B97F4A7C15ULL
    key += <uint64_t> (2 * used + leaders) * 0xC2B2AE3D27D4EB4FULL
    return <Py_ssize_t> ((key ^ (key >> 29)) & <uint64_t> (programme.bucket_count - 1))


cdef int add_state(Programme* programme, int32_t used, int32_t leaders, int64_t pods, index_t domain,
                   int32_t previous) except -1 nogil:
    """A state that was not reached before; else nothing."""
    cdef Py_ssize_t bucket = bucket_of(programme, used, leaders, pods), capacity
    cdef int32_t state = programme.buckets[bucket]
    cdef State* grown
    while state != NONE:
        if (programme.states[state].pods == pods and programme.states[state].used == used
                and programme.states[state].leaders == leaders):
            return 0
        state = programme.states[state].next
    if programme.length == programme.capacity:
        capacity = 2 * programme.capacity + 256
        grown = <State*> realloc(programme.states, capacity * sizeof(State))
        if grown == NULL or capacity > 2147483647:
            with gil:
                raise MemoryError("balanced placement")
        programme.states = grown
        programme.capacity = capacity
        rehash(programme)
        bucket = bucket_of(programme, used, leaders, pods)
    state = <int32_t> programme.length
    programme.length += 1
    grown = &programme.states[state]
    grown.pods = pods
    grown.domain = domain
    grown.previous = previous
    grown.used = used
    grown.leaders = leaders
    grown.next = programme.buckets[bucket]
    programme.buckets[bucket] = state
    grown.sibling = programme.heads[2 * used + leaders]
    programme.heads[2 * used + leaders] = state
    return 0


cdef int rehash(Programme* programme) except -1 nogil:
    """As many buckets as there may be states."""
    cdef Py_ssize_t count = programme.bucket_count, state, bucket
    cdef int32_t* grown
    while count < programme.capacity:
        count *= 2
    if count == programme.bucket_count:
        return 0
    grown = <int32_t*> realloc(programme.buckets, count * sizeof(int32_t))
    if grown == NULL:
        with gil:
            raise MemoryError("balanced placement")
    programme.buckets = grown
    programme.bucket_count = count
    memset(grown, 0xff, count * sizeof(int32_t))
    for state in range(programme.length):
        bucket = bucket_of(programme, programme.states[state].used, programme.states[state].leaders,
                           programme.states[state].pods)
        programme.states[state].next = grown[bucket]
        grown[bucket] = <int32_t> state
    return 0
