"""Flavor assignment: which flavor each resource of each pod set would take, and how (fit, borrow, preempt, not at all).

Source: QP-401..446, QP-501, QP-531, QP-532.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._flavors cimport Flavors
from kueuecore._forest cimport Forest
from kueuecore._preempt cimport Preemptor
from kueuecore._types cimport (
    FIT, MODE_FIT, MODE_NO_FIT, MODE_PREEMPT, NO_FIT, Mode, Possibility, ReasonCode, amount_t, index_t,
)
from kueuecore._usage cimport ColumnUsage
from kueuecore._workloads cimport Workloads


cdef struct Rank:            # granular mode of a flavor (QP-403)
    Possibility possibility
    int64_t borrow           # borrowing level, 0 is none


cdef struct Request:         # one resource of a group of pod sets while flavors are searched
    index_t resource
    amount_t amount          # of all members
    index_t flavor           # chosen, NONE while open or skipped
    Possibility possibility
    int32_t borrow
    int32_t tried            # index to record (QP-443)
    Possibility try_possibility  # of the flavor that is being looked at
    int32_t try_borrow
    Possibility best_possibility
    int32_t best_borrow


cdef struct Choice:          # one resource of one pod set in the result
    index_t slot             # of the workload, counted from its slot_start
    index_t resource
    amount_t amount          # quota that it takes
    amount_t total           # requested by the pods themselves: `pods` of a ClusterQueue that covers it is not in it
    index_t flavor           # NONE where the resource was skipped or nothing was found
    Possibility possibility
    int32_t borrow
    int32_t tried


cdef struct PodSetResult:
    int64_t count            # pods that this result is for
    Py_ssize_t first         # first of its choices
    Py_ssize_t length
    index_t leader           # first pod set of its group: reasons are kept under that number
    Mode mode
    index_t tree             # flavor in whose topology it was placed, NONE where it was not
    int32_t delayed          # Delay
    Py_ssize_t first_domain  # its PlacedDomains
    Py_ssize_t domains


# Whether a pod set gets its topology assignment later (TP-608, TP-613).
cdef enum Delay:
    NOT_DELAYED = 0
    DELAY_PENDING = 1
    DELAY_READY = 2


cdef struct Reason:          # why a flavor was passed over or does not fit now
    int32_t code             # ReasonCode
    index_t pod_set          # first pod set of the group, counted within the workload
    index_t flavor
    index_t resource
    amount_t first           # missing amount, or what earlier groups of the workload take
    amount_t second          # requested
    amount_t third           # capacity


cdef inline Mode mode_of(Possibility possibility) noexcept nogil:
    """What the possibility of one flavor means for the assignment (QP-403)."""
    if possibility == FIT:
        return MODE_FIT
    return MODE_NO_FIT if possibility == NO_FIT else MODE_PREEMPT


cdef class Assigner:
    cdef readonly Forest forest
    cdef readonly Flavors flavors
    cdef readonly Workloads workloads
    cdef public bint fungibility          # gate FlavorFungibility
    cdef public bint partial_admission    # gate PartialAdmission
    cdef public bint ignore_undeclared    # config quotaCheckStrategy: IgnoreUndeclared (QP-411)

    cdef readonly Preemptor preemptor

    # the result of the last assignment
    cdef Mode mode
    cdef int64_t borrowing                # largest borrow level of its choices
    cdef Choice* choices
    cdef Py_ssize_t choice_count
    cdef PodSetResult* results            # [pod set of the workload]
    cdef Py_ssize_t result_count          # less than the pod sets where the search ended early
    cdef ColumnUsage* usage               # quota it would take, a column once
    cdef Py_ssize_t usage_count
    cdef Reason* reasons
    cdef Py_ssize_t reason_count

    # the slice that the workload would replace, NONE without: only what it asks beyond that is new (JS-603)
    cdef index_t replaced

    # flavors that a recomputation must keep to; NULL outside of one (QP-424)
    cdef Choice* pinned_choices
    cdef PodSetResult* pinned_results

    # scratch
    cdef Request* requests
    cdef Py_ssize_t request_count
    cdef int64_t* counts                  # [pod set] counts of a partial admission probe
    cdef uint8_t* done                    # [pod set] already placed with its group
    cdef Py_ssize_t choice_capacity, result_capacity, reason_capacity

    cdef int assign(self, index_t workload, index_t queue, bint reduced) except -1 nogil
    cdef int place_pods(self, index_t workload, index_t queue) except -1 nogil
    cdef int topology_match(self, index_t workload, index_t queue, Py_ssize_t pod_set, index_t group,
                            index_t flavor) noexcept nogil
    cdef bint is_pinned_out(self, index_t workload, index_t leader, index_t resource, index_t flavor) noexcept nogil
    cdef int make_room(self, index_t workload) except -1 nogil
    cdef int make_choices(self, Py_ssize_t slots) except -1 nogil
    cdef int collect_requests(self, index_t workload, index_t queue, index_t leader) except -1 nogil
    cdef void merge_request(self, index_t resource, amount_t amount) noexcept nogil
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
    cdef void book(self, index_t column, amount_t amount) noexcept nogil
    cdef amount_t booked(self, index_t column) noexcept nogil
    cdef int note(
        self, ReasonCode code, index_t pod_set, index_t flavor, index_t resource,
        amount_t first, amount_t second, amount_t third
    ) except -1 nogil
