"""Flavor assignment: which flavor each resource of each pod set would take, and how (fit, borrow, preempt, not at all).

Source: QP-401..446, QP-501, QP-531, QP-532.
"""

from libc.stdint cimport int32_t, int64_t

from kueuecore._draft cimport (
    DELAY_PENDING, DELAY_READY, NOT_DELAYED, Choice, Delay, Draft, PodSetResult, Reason, Request,
)
from kueuecore._forest cimport Forest
from kueuecore._preempt cimport Preemptor
from kueuecore._types cimport (
    FIT, MODE_FIT, MODE_NO_FIT, MODE_PREEMPT, NO_FIT, Mode, Possibility, amount_t, index_t,
)


cdef struct Rank:            # granular mode of a flavor (QP-403)
    Possibility possibility
    int64_t borrow           # borrowing level, 0 is none


cdef inline Mode mode_of(Possibility possibility) noexcept nogil:
    """What the possibility of one flavor means for the assignment (QP-403)."""
    if possibility == FIT:
        return MODE_FIT
    return MODE_NO_FIT if possibility == NO_FIT else MODE_PREEMPT


cdef class Assigner(Draft):
    cdef readonly Forest forest
    cdef public bint fungibility          # gate FlavorFungibility
    cdef public bint partial_admission    # gate PartialAdmission
    cdef public bint ignore_undeclared    # config quotaCheckStrategy: IgnoreUndeclared (QP-411)

    cdef readonly Preemptor preemptor

    # the slice that the workload would replace, NONE without: only what it asks beyond that is new (JS-603)
    cdef index_t replaced

    # flavors that a recomputation must keep to; NULL outside of one (QP-424)
    cdef Choice* pinned_choices
    cdef PodSetResult* pinned_results

    cdef int assign(self, index_t workload, index_t queue, bint reduced) except -1 nogil
    cdef int place_pods(self, index_t workload, index_t queue) except -1 nogil
    cdef int topology_match(self, index_t workload, index_t queue, Py_ssize_t pod_set, index_t group,
                            index_t flavor) noexcept nogil
    cdef int32_t highest_borrow(self, index_t queue, index_t group) noexcept nogil
    cdef bint is_pinned_out(self, index_t workload, index_t leader, index_t resource, index_t flavor) noexcept nogil
    cdef int assign_group(self, index_t workload, index_t queue, index_t leader, bint* failed) except -1 nogil
    cdef int search(self, index_t workload, index_t queue, index_t leader, Py_ssize_t lead, int* found) except -1 nogil
    cdef index_t first_flavor(self, index_t workload, index_t leader, index_t resource) noexcept nogil
    cdef int eligible(self, index_t workload, index_t queue, index_t leader, index_t group, index_t flavor,
                      int* code) noexcept nogil
    cdef int rank_flavor(
        self, index_t workload, index_t queue, index_t leader, index_t group, index_t flavor, Rank* rank
    ) except -1 nogil
    cdef int fit_quota(
        self, index_t workload, index_t queue, index_t leader, index_t flavor, Request* request, amount_t amount,
        Rank* rank
    ) except -1 nogil
    cdef int finish_group(self, index_t workload, index_t leader, bint has_reasons, bint failed) except -1 nogil
    cdef bint take_off_replaced(self, index_t workload, index_t leader, index_t flavor, Request* request,
                                amount_t* amount) except -1 nogil
    cdef Py_ssize_t replaced_slot(self, Py_ssize_t pod_set, index_t resource) noexcept nogil
