"""What an assignment is written into while flavors are searched, and what it leaves behind.

Source: QP-401..405, QP-410, QP-436, QP-443.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kueuecore._flavors cimport Flavors
from kueuecore._types cimport Mode, Possibility, ReasonCode, amount_t, index_t
from kueuecore._usage cimport ColumnUsage
from kueuecore._workloads cimport Workloads


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


cdef struct Attempt:         # one flavor that the scan looked at for a group of pod sets
    index_t leader           # first pod set of the group
    index_t flavor
    int32_t possibility      # Possibility, of its worst resource
    int32_t borrow           # highest level of its resources
    int64_t reasons          # number of its Reasons; those of all attempts stand one after the other


cdef class Draft:
    cdef readonly Flavors flavors
    cdef readonly Workloads workloads
    cdef public bint keeps_attempts       # whether what the scan looked at is kept (QP-465)

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
    cdef Attempt* attempts                # [attempt] in the order of the scan
    cdef Py_ssize_t attempt_count
    cdef Reason* attempt_reasons          # also those that the assignment has no use for, since another flavor fits
    cdef Py_ssize_t attempt_reason_count

    # scratch
    cdef Request* requests
    cdef Py_ssize_t request_count
    cdef int64_t* counts                  # [pod set] counts of a partial admission probe
    cdef uint8_t* done                    # [pod set] already placed with its group
    cdef Py_ssize_t choice_capacity, result_capacity, reason_capacity
    cdef Py_ssize_t attempt_capacity, attempt_reason_capacity

    cdef int make_room(self, index_t workload) except -1 nogil
    cdef int make_choices(self, Py_ssize_t slots) except -1 nogil
    cdef int collect_requests(self, index_t workload, index_t queue, index_t leader) except -1 nogil
    cdef void merge_request(self, index_t resource, amount_t amount) noexcept nogil
    cdef void book(self, index_t column, amount_t amount) noexcept nogil
    cdef amount_t booked(self, index_t column) noexcept nogil
    cdef int note(
        self, ReasonCode code, index_t pod_set, index_t flavor, index_t resource,
        amount_t first, amount_t second, amount_t third
    ) except -1 nogil
    cdef int keep_attempt(
        self, index_t leader, index_t flavor, Possibility possibility, int32_t borrow, Py_ssize_t first_reason
    ) except -1 nogil
