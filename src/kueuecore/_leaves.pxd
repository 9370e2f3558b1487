"""How many pods of a request fit one leaf, and the columns in which counts are kept (TP-701..708)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._topology cimport Topologies
from kueuecore._trees cimport MOST_LEVELS, Tree
from kueuecore._types cimport amount_t, index_t

cdef enum:
    OUTSIDE = -2147483647    # code of a leaf that a restriction to a domain leaves out (TP-704)


cdef struct Shape:
    index_t tree
    int32_t view
    index_t pods             # pods class of the workers
    index_t leader           # pods class of the leader, NONE without
    index_t filter           # row of `match`
    int32_t slice_level      # σ: the level of the outermost slices
    int64_t slice_size       # s: 1 without slices
    int32_t[16] inner        # [level] size of inner slices, 0 without (TP-804)
    bint scored              # affinity scores count (TP-707)


cdef struct Need:            # of one pod of the workers, with `pods: 1`
    index_t resource
    amount_t amount
    amount_t leader          # what the leader takes of it


cdef struct LevelCounts:     # [domain]; equal columns share their memory
    int64_t* pods            # P
    int64_t* pods_led        # PL: beside a leader
    int64_t* slices          # S; NULL below the slice level, where all are 0
    int64_t* slices_led      # SL
    uint8_t* leaders         # Λ: a leader fits somewhere in it; NULL when none is asked for
    int64_t* scores          # A; NULL when not scored


cdef struct Counts:
    Shape shape
    int64_t version          # of the tree that was counted, 0 before
    int64_t generation       # of the tables that were read
    int64_t seen             # end of the tree's log that is accounted for
    LevelCounts[16] levels
    int32_t* code            # [leaf] why it has no pods: an Exclusion, or -1 - resource, or OUTSIDE; 0: it has some
    int64_t* excluded        # [code] leaves by Exclusion
    Py_ssize_t codes         # entries of excluded
    bint short_of_codes      # a leaf has a code beyond them
    int64_t* scarce          # [resource] leaves by what limits them
    int64_t outside          # leaves left out by the restriction
    int64_t all_slices       # of level 0 together
    int64_t least_loss       # least S - SL of the domains of level 0 that may host the leader
    bint any_leader          # one of them may
    int probe_level          # a level whose domains with at least probe_need (beside a leader) are counted; NONE
    int64_t probe_need
    Py_ssize_t probe_hits
    Need* needs
    Py_ssize_t need_count
    Need* leader_needs       # only resource and amount
    Py_ssize_t leader_need_count
    index_t* dirty           # scratch: [domain of the widest level]
    uint8_t* marked          # scratch: [domain of the widest level]
    void* memory             # one block for all of the above
    Py_ssize_t bytes
    int64_t last_use
    index_t first            # leaves of the restriction: [first, end)
    index_t end


cdef int allocate(Counts* counts, Topologies table, bint shared) except -1 nogil
cdef void count_leaf(Counts* counts, Topologies table, Tree* tree, Py_ssize_t leaf) noexcept nogil
