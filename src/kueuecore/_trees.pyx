"""Memory of one topology tree. Domains of a level stand in the order of their level values, so all children of a
domain are one range, and so are all leaves below it."""

from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memmove, memset

from kueuecore._types cimport NONE, amount_t, index_t


cdef void empty_tree(Tree* tree) noexcept nogil:
    """Give back all memory; version and log ends stay, so that counts kept of it are seen to be old."""
    cdef int level, view
    for level in range(MOST_LEVELS):
        free(tree.levels[level].parent)
        free(tree.levels[level].first_child)
        free(tree.levels[level].child_end)
        free(tree.levels[level].nodes)
        memset(&tree.levels[level], 0, sizeof(Level))
    free(tree.place)
    free(tree.leaf_of_place)
    free(tree.node_class)
    free(tree.free)
    tree.place = tree.leaf_of_place = tree.node_class = NULL
    tree.free = NULL
    for view in range(VIEWS):
        free(tree.used[view])
        free(tree.log[view])
        tree.used[view] = NULL
        tree.log[view] = NULL
    tree.exists = False
    tree.leaves = tree.live = tree.places = tree.log_size = 0
    tree.depth = 0


cdef int reserve_levels(Tree* tree, int level, Py_ssize_t count) except -1:
    """Room for so many domains of one level; kept ones stay."""
    cdef Level* row = &tree.levels[level]
    cdef Py_ssize_t size = (count + 1) * sizeof(index_t)
    cdef index_t* grown = <index_t*> realloc(row.parent, size)
    if grown == NULL:
        raise MemoryError("topology domains")
    row.parent = grown
    grown = <index_t*> realloc(row.first_child, size)
    if grown == NULL:
        raise MemoryError("topology domains")
    row.first_child = grown
    grown = <index_t*> realloc(row.child_end, size)
    if grown == NULL:
        raise MemoryError("topology domains")
    row.child_end = grown
    grown = <index_t*> realloc(row.nodes, size)
    if grown == NULL:
        raise MemoryError("topology domains")
    row.nodes = <int32_t*> grown
    return 0


cdef int reserve_leaves(Tree* tree, Py_ssize_t leaves, Py_ssize_t width) except -1:
    """Room for the rows of so many leaves; kept ones stay, as long as the width is the same."""
    cdef int view
    cdef Py_ssize_t log_size = 64
    cdef index_t* grown = <index_t*> realloc(tree.place, (leaves + 1) * sizeof(index_t))
    cdef amount_t* cells
    if grown == NULL:
        raise MemoryError("topology leaves")
    tree.place = grown
    grown = <index_t*> realloc(tree.node_class, (leaves + 1) * sizeof(index_t))
    if grown == NULL:
        raise MemoryError("topology leaves")
    tree.node_class = grown
    cells = <amount_t*> realloc(tree.free, (leaves * width + 1) * sizeof(amount_t))
    if cells == NULL:
        raise MemoryError("topology leaves")
    tree.free = cells
    # A log longer than this would save nothing: counting all leaves anew is as quick.
    while log_size < leaves // 2:
        log_size *= 2
    for view in range(VIEWS):
        cells = <amount_t*> realloc(tree.used[view], (leaves * width + 1) * sizeof(amount_t))
        if cells == NULL:
            raise MemoryError("topology leaves")
        tree.used[view] = cells
        if tree.log_size < log_size:
            grown = <index_t*> realloc(tree.log[view], log_size * sizeof(index_t))
            if grown == NULL:
                raise MemoryError("topology leaves")
            tree.log[view] = grown
    if tree.log_size < log_size:
        tree.log_size = log_size
    return 0


cdef int reserve_places(Tree* tree, Py_ssize_t places) except -1:
    """Places up to this one can be looked up."""
    cdef index_t* grown
    cdef Py_ssize_t place
    if places <= tree.places:
        return 0
    grown = <index_t*> realloc(tree.leaf_of_place, places * sizeof(index_t))
    if grown == NULL:
        raise MemoryError("topology places")
    tree.leaf_of_place = grown
    for place in range(tree.places, places):
        grown[place] = NONE
    tree.places = places
    return 0


cdef int widen(amount_t** cells, Py_ssize_t rows, Py_ssize_t old_width, Py_ssize_t width) except -1:
    """Give each row of a table more columns, which start at 0."""
    cdef Py_ssize_t row, column
    cdef amount_t* wide = <amount_t*> calloc(rows * width + 1, sizeof(amount_t))
    if wide == NULL:
        raise MemoryError("topology resources")
    for row in range(rows):
        for column in range(old_width):
            wide[row * width + column] = cells[0][row * old_width + column]
    free(cells[0])
    cells[0] = wide
    return 0


cdef void link_children(Tree* tree) noexcept nogil:
    """Ranges of children from the parents."""
    cdef int level
    cdef Py_ssize_t domain, child
    cdef Level* above
    cdef Level* below
    for level in range(tree.depth - 1):
        above = &tree.levels[level]
        below = &tree.levels[level + 1]
        child = 0
        for domain in range(above.count):
            above.first_child[domain] = <index_t> child
            while child < below.count and below.parent[child] == domain:
                child += 1
            above.child_end[domain] = <index_t> child
    above = &tree.levels[tree.depth - 1]
    for domain in range(above.count):
        above.first_child[domain] = above.child_end[domain] = 0


cdef void count_nodes(Tree* tree) noexcept nogil:
    """Nodes of inner domains and the number of leaves that have any, from the nodes of the leaves."""
    cdef int level
    cdef Py_ssize_t domain
    cdef Level* row = &tree.levels[tree.depth - 1]
    tree.live = 0
    for domain in range(row.count):
        tree.live += row.nodes[domain] > 0
    for level in range(tree.depth - 2, -1, -1):
        memset(tree.levels[level].nodes, 0, tree.levels[level].count * sizeof(int32_t))
        row = &tree.levels[level + 1]
        for domain in range(row.count):
            tree.levels[level].nodes[row.parent[domain]] += row.nodes[domain]


cdef void set_nodes(Tree* tree, index_t leaf, int32_t nodes) noexcept nogil:
    """Nodes of one leaf, and of all above it."""
    cdef int level = tree.depth - 1
    cdef index_t domain = leaf
    cdef int32_t more = nodes - tree.levels[level].nodes[leaf]
    tree.live += (nodes > 0) - (tree.levels[level].nodes[leaf] > 0)
    while level >= 0:
        tree.levels[level].nodes[domain] += more
        domain = tree.levels[level].parent[domain]
        level -= 1


cdef int insert_path(Tree* tree, const index_t* positions, int new_from_level, index_t place) except -1:
    """Insert the domains of a path from one level on, at these numbers; the new leaf has no node and empty rows."""
    cdef int level, view
    cdef Py_ssize_t domain, width = tree.width, rest
    cdef index_t position, leaf = positions[tree.depth - 1]
    cdef Level* row
    for level in range(new_from_level, tree.depth):
        reserve_levels(tree, level, tree.levels[level].count + 1)
    reserve_leaves(tree, tree.leaves + 1, width)
    reserve_places(tree, place + 1)
    # From here on nothing fails.
    for level in range(new_from_level, tree.depth):
        row = &tree.levels[level]
        position = positions[level]
        rest = row.count - position
        memmove(&row.parent[position + 1], &row.parent[position], rest * sizeof(index_t))
        memmove(&row.nodes[position + 1], &row.nodes[position], rest * sizeof(int32_t))
        row.nodes[position] = 0
        row.parent[position] = positions[level - 1] if level > 0 else NONE
        row.count += 1
        if level + 1 < tree.depth:
            row = &tree.levels[level + 1]
            for domain in range(row.count):
                row.parent[domain] += row.parent[domain] >= position
    rest = tree.leaves - leaf
    memmove(&tree.place[leaf + 1], &tree.place[leaf], rest * sizeof(index_t))
    memmove(&tree.node_class[leaf + 1], &tree.node_class[leaf], rest * sizeof(index_t))
    memmove(&tree.free[(leaf + 1) * width], &tree.free[leaf * width], rest * width * sizeof(amount_t))
    memset(&tree.free[leaf * width], 0, width * sizeof(amount_t))
    for view in range(VIEWS):
        memmove(&tree.used[view][(leaf + 1) * width], &tree.used[view][leaf * width], rest * width * sizeof(amount_t))
        memset(&tree.used[view][leaf * width], 0, width * sizeof(amount_t))
    tree.leaves += 1
    tree.place[leaf] = place
    tree.node_class[leaf] = 0
    # From the end, and only what pointed at the moved row: a leaf that lost its place has another's number in `place`.
    for domain in range(tree.leaves - 1, leaf, -1):
        if tree.leaf_of_place[tree.place[domain]] == domain - 1:
            tree.leaf_of_place[tree.place[domain]] = <index_t> domain
    tree.leaf_of_place[place] = leaf
    link_children(tree)
    return 0
