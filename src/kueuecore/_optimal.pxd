"""The set of domains that balanced placement chooses: fewest domains, then least room to spare (TP-902, TP-908)."""

from libc.stdint cimport int32_t, int64_t

from kueuecore._leaves cimport Counts
from kueuecore._trees cimport Tree
from kueuecore._types cimport index_t


cdef struct Greedy:          # what taking from the front of the order comes to
    bint fits
    int64_t domains          # m
    index_t last_led         # qL: the last domain taken with a leader, NONE without
    index_t last             # q: the last one taken without, NONE without


cdef struct State:           # of the programme: so many domains used, leaders and pods left
    int64_t pods
    index_t domain           # the last one taken
    int32_t previous         # state before it
    int32_t next             # in the same bucket of the table
    int32_t sibling          # the next state with as many domains and leaders
    int32_t used
    int32_t leaders


cdef struct Programme:
    State* states
    Py_ssize_t length
    Py_ssize_t capacity
    int32_t* buckets         # [bucket_count], a power of two
    Py_ssize_t bucket_count
    int32_t* heads           # [2 * (domains + 1)] first state with so many domains and leaders


cdef void sort_domains(Counts* counts, int level, bint led, index_t* domains, Py_ssize_t length) noexcept nogil
cdef Greedy take_greedily(Counts* counts, int level, index_t* domains, Py_ssize_t length, int64_t need,
                          int32_t leaders) noexcept nogil
cdef Py_ssize_t choose(Counts* counts, Tree* tree, int level, index_t* domains, Py_ssize_t length, int64_t need,
                       int32_t leaders, bint by_entropy) except -2 nogil
