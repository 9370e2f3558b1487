"""Requests against the levels of a tree, and what an earlier assignment means for them."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from kueuecore._leaves cimport Shape
from kueuecore._levels cimport Search, Share, Shares, append
from kueuecore._topology cimport MOST_LAYERS, BookingList, Topologies
from kueuecore._trees cimport Tree, leaf_at
from kueuecore._types cimport NONE, index_t


cdef int level_of(Tree* tree, index_t key) noexcept nogil:
    """The level of a key, NONE where the tree has none of it."""
    cdef int level
    if key == NONE:
        return NONE
    for level in range(tree.depth):
        if tree.level_key[level] == key:
            return level
    return NONE


cdef int32_t resolve(Topologies table, PlacementRequest* request, index_t leader_pods, int view, bint mixed_profile,
                     bint scored, Shape* shape, Search* search, Complaint* complaint) except -1 nogil:
    """Shape and search of a request, or the PlacementError that refuses it, in upstream's order of checks."""
    cdef Tree* tree = &table.trees[request.tree]
    cdef int level, slice_level = tree.depth - 1, layer, between, layers = min(max(request.layers, 0), MOST_LAYERS)
    cdef int32_t size = 1
    memset(shape, 0, sizeof(Shape))
    complaint.first = complaint.second = 0
    if layers:
        size = request.layer_size[0]
        if size <= 0:
            return SLICE_SIZE_MISSING
    if request.level_key == NONE:
        return LEVEL_MISSING
    level = level_of(tree, request.level_key)
    if level == NONE:
        complaint.first = request.level_key
        return LEVEL_UNKNOWN
    if layers:
        slice_level = level_of(tree, request.layer_key[0])
        if slice_level == NONE:
            complaint.first = request.layer_key[0]
            return SLICE_LEVEL_UNKNOWN
    if level > slice_level:
        complaint.first = request.layer_key[0]
        complaint.second = request.level_key
        return SLICE_ABOVE_MAIN
    shape.slice_level = slice_level
    shape.slice_size = size
    for layer in range(1, layers):
        between = level_of(tree, request.layer_key[layer])
        complaint.first = request.layer_key[layer]
        if between == NONE:
            return LAYER_UNKNOWN
        if between <= slice_level:
            complaint.second = tree.level_key[slice_level]
            return LAYER_NOT_LOWER
        if request.layer_size[layer] <= 0 or size % request.layer_size[layer] != 0:
            complaint.first = request.layer_size[layer]
            complaint.second = size
            return LAYER_NOT_DIVIDING
        size = request.layer_size[layer]
        while slice_level < between:
            slice_level += 1
            shape.inner[slice_level] = size
    complaint.first = 0
    if request.filter == NONE:
        return INVALID_FILTER
    if tree.by_host and not 0 <= request.filter < table.match.shape[0]:
        with gil:
            raise IndexError(f"filter {request.filter}: match has {table.match.shape[0]} rows")
    shape.tree = request.tree
    shape.view = view
    shape.pods = request.pods
    shape.leader = leader_pods
    # Without nodes at its leaves a tree filters nothing (TP-406): all filters are one shape.
    shape.filter = request.filter if tree.by_host else NONE
    shape.scored = scored and tree.by_host
    search.level = level
    search.need = max(request.count, 0) // shape.slice_size
    search.leaders = leader_pods != NONE
    search.required = request.required
    search.unconstrained = request.unconstrained
    search.least_free = request.unconstrained and mixed_profile
    search.fitted = 0
    return PLACED


cdef index_t read_previous(Topologies table, PlacementRequest* request, index_t without, Shares* shares, int64_t* taken,
                           index_t* stale) except -2 nogil:
    """Leaves and pods of the earlier assignment in stored order, but for one place, whose pods are counted in `taken`.

    A place that is no leaf with nodes is told by `stale`; NONE if all are. Returns how many domains there were.
    """
    cdef Tree* tree = &table.trees[request.tree]
    cdef BookingList* list = table.bookings_of(request.previous_workload)
    cdef Py_ssize_t item
    cdef index_t filed = NONE, leaf, domains = 0
    shares.length = 0
    taken[0] = 0
    stale[0] = NONE
    if list == NULL:
        return 0
    for item in range(list.length):
        if list.items[item].pod_set != request.previous_pod_set:
            continue
        # The same assignment is filed once for each flavor (TP-503).
        if filed == NONE:
            filed = list.items[item].tree
        if list.items[item].tree != filed:
            continue
        domains += 1
        if without != NONE and list.items[item].place == without:
            taken[0] = list.items[item].count
            continue
        leaf = leaf_at(tree, list.items[item].place)
        if leaf == NONE or tree.levels[tree.depth - 1].nodes[leaf] == 0:
            if stale[0] == NONE:
                stale[0] = list.items[item].place
            continue
        append(shares, leaf, 0, list.items[item].count)
    return domains


cdef index_t ancestor(Tree* tree, index_t leaf, int level) noexcept nogil:
    cdef int at = tree.depth - 1
    while at > level:
        leaf = tree.levels[at].parent[leaf]
        at -= 1
    return leaf


cdef void restrict_to(Tree* tree, int level, index_t domain, Restriction* restriction) noexcept nogil:
    """The leaves of a domain."""
    cdef index_t first = domain, end = domain + 1, last
    cdef bint bare_name = tree.by_host and level == tree.depth - 1 and level > 0
    restriction.set = True
    while level < tree.depth - 1 and first < end:
        last = end - 1
        first = tree.levels[level].first_child[first]
        end = tree.levels[level].child_end[last]
        level += 1
    # Upstream compares the name of a host with full paths here, which none matches (TP-2009).
    restriction.first = 0 if bare_name else first
    restriction.end = 0 if bare_name else end


cdef void complete_slice(Tree* tree, PlacementRequest* request, Shares* remaining, int layer,
                         Restriction* restriction) noexcept nogil:
    """The first domain that the missing pods fill up to whole slices of a layer (TP-1505)."""
    cdef int level = level_of(tree, request.layer_key[layer])
    cdef Py_ssize_t item, other
    cdef index_t domain, best = NONE
    cdef int64_t pods
    if level == NONE:
        return
    for item in range(remaining.length):
        domain = ancestor(tree, remaining.items[item].domain, level)
        if best != NONE and domain >= best:
            continue
        pods = request.count
        for other in range(remaining.length):
            if ancestor(tree, remaining.items[other].domain, level) == domain:
                pods += remaining.items[other].pods
        if pods % request.layer_size[layer] == 0:
            best = domain
    if best != NONE:
        restrict_to(tree, level, best, restriction)


cdef void restrict_replacement(Tree* tree, PlacementRequest* request, Shares* remaining,
                               Restriction* restriction) noexcept nogil:
    """Where a replacement of `request.count` pods must stand (TP-1505), and the slices asked of it (TP-1506)."""
    cdef int level = level_of(tree, request.level_key), layer, layers = min(max(request.layers, 0), MOST_LAYERS)
    cdef int broken = 0
    memset(restriction, 0, sizeof(Restriction))
    if level == NONE or remaining.length == 0 or (layers and request.layer_size[0] <= 0):
        return
    if not layers or request.count % request.layer_size[0] == 0:
        if request.required:
            restrict_to(tree, level, ancestor(tree, remaining.items[0].domain, level), restriction)
        return
    for layer in range(layers - 1, -1, -1):
        if request.layer_size[layer] > 0 and request.count % request.layer_size[layer] != 0:
            broken = layer
            break
    complete_slice(tree, request, remaining, broken, restriction)
    if not restriction.set:
        return
    for layer in range(layers - 1, -1, -1):
        if request.layer_size[layer] > 0 and request.count % request.layer_size[layer] == 0:
            request.layers = 1
            request.layer_key[0] = request.layer_key[layer]
            request.layer_size[0] = request.layer_size[layer]
            return
    request.layers = 0
    request.level_key = request.bare_level_key


cdef int compare_shares(const void* left, const void* right) noexcept nogil:
    cdef const Share* a = <const Share*> left
    cdef const Share* b = <const Share*> right
    return (a.domain > b.domain) - (a.domain < b.domain)


cdef void sort_and_merge(Shares* shares) noexcept nogil:
    """Order of level values, each leaf once (TP-812, TP-1508)."""
    cdef Py_ssize_t item, kept = 0
    if shares.length < 2:
        return
    qsort(shares.items, shares.length, sizeof(Share), compare_shares)
    for item in range(1, shares.length):
        if shares.items[item].domain == shares.items[kept].domain:
            shares.items[kept].pods += shares.items[item].pods
            shares.items[kept].leaders += shares.items[item].leaders
        else:
            kept += 1
            shares.items[kept] = shares.items[item]
    shares.length = kept + 1


cdef void truncate(Shares* shares, int64_t pods) noexcept nogil:
    """Cut from the end until so many pods are left (TP-1304)."""
    cdef Py_ssize_t item
    for item in range(shares.length):
        if pods <= 0:
            shares.length = item
            return
        if shares.items[item].pods > pods:
            shares.items[item].pods = pods
        pods -= shares.items[item].pods
