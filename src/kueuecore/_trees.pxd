"""Memory of one topology tree: building it whole, a leaf written, a leaf inserted. Source: TP-401..408."""

from libc.stdint cimport int32_t, int64_t

from kueuecore._types cimport amount_t, index_t

cdef enum:
    MOST_LEVELS = 16         # of a Topology (TP-201)
    VIEWS = 2                # of usage: see View in _topology


cdef struct Level:
    Py_ssize_t count         # domains, those without nodes included
    index_t* parent          # [domain] at the level above, NONE at level 0; ascending
    index_t* first_child     # [domain] first domain of it at the level below
    index_t* child_end       # [domain] one after its last
    int32_t* nodes           # [domain] member nodes in it


cdef struct Tree:
    bint exists              # flavor and Topology are both there (TP-505)
    bint by_host             # the lowest level is the hostname
    index_t rank             # place of the flavor in name order (TP-1101)
    int32_t depth            # levels; the leaf level H is depth - 1
    index_t[16] level_key    # [level] number of its node label
    Level[16] levels
    Py_ssize_t leaves        # domains of the leaf level
    Py_ssize_t live          # leaves with nodes (TP-703)
    Py_ssize_t width         # resources of a row
    index_t* place           # [leaf] identity that bookings keep
    Py_ssize_t places        # entries of leaf_of_place
    index_t* leaf_of_place   # [place] NONE where the tree has no such leaf
    index_t* node_class      # [leaf] column of `match`; only by_host
    amount_t* free           # [leaf * width + resource] allocatable less what other pods use (TP-509)
    amount_t* used[2]        # [view][leaf * width + resource] in this tree
    index_t* log[2]          # [view] ring of leaves that changed, for whoever keeps counts
    int64_t[2] log_end       # [view] leaves ever logged
    Py_ssize_t log_size      # entries of each ring, a power of two
    int64_t version          # changes when leaves are numbered anew


cdef inline void log_leaf(Tree* tree, int view, index_t leaf) noexcept nogil:
    """Say that free, usage or nodes of a leaf are other ones now."""
    tree.log[view][tree.log_end[view] & (tree.log_size - 1)] = leaf
    tree.log_end[view] += 1


cdef inline index_t leaf_at(Tree* tree, index_t place) noexcept nogil:
    """The leaf of a place, NONE where the tree has none."""
    if place < 0 or place >= tree.places:
        return -1
    return tree.leaf_of_place[place]


cdef void empty_tree(Tree* tree) noexcept nogil
cdef int reserve_levels(Tree* tree, int level, Py_ssize_t count) except -1
cdef int reserve_leaves(Tree* tree, Py_ssize_t leaves, Py_ssize_t width) except -1
cdef int reserve_places(Tree* tree, Py_ssize_t places) except -1
cdef int widen(amount_t** cells, Py_ssize_t rows, Py_ssize_t old_width, Py_ssize_t width) except -1
cdef void link_children(Tree* tree) noexcept nogil
cdef void count_nodes(Tree* tree) noexcept nogil
cdef void set_nodes(Tree* tree, index_t leaf, int32_t nodes) noexcept nogil
cdef int insert_path(Tree* tree, const index_t* positions, int new_from_level, index_t place) except -1
