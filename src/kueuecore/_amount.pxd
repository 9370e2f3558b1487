"""Saturating arithmetic on amounts (QP-105, QP-106). A plain `+` on an amount is an error in review."""

from kueuecore._types cimport amount_t

cdef extern from *:
    """
    #define KUEUECORE_UNLIMITED INT64_MAX
    #define KUEUECORE_LOWEST INT64_MIN
    static inline int64_t kueuecore_saturating_add(int64_t a, int64_t b) {
        int64_t r;
        if (__builtin_add_overflow(a, b, &r)) return a > 0 ? INT64_MAX : INT64_MIN;
        return r;
    }
    static inline int64_t kueuecore_saturating_sub(int64_t a, int64_t b) {
        int64_t r;
        if (__builtin_sub_overflow(a, b, &r)) return a < 0 ? INT64_MIN : INT64_MAX;
        return r;
    }
    static inline int64_t kueuecore_saturating_mul(int64_t a, int64_t b) {
        int64_t r;
        if (__builtin_mul_overflow(a, b, &r)) return ((a < 0) == (b < 0)) ? INT64_MAX : INT64_MIN;
        return r;
    }
    """
    const amount_t UNLIMITED "KUEUECORE_UNLIMITED"
    const amount_t LOWEST "KUEUECORE_LOWEST"
    amount_t saturating_add "kueuecore_saturating_add"(amount_t a, amount_t b) noexcept nogil
    amount_t saturating_sub "kueuecore_saturating_sub"(amount_t a, amount_t b) noexcept nogil
    amount_t saturating_mul "kueuecore_saturating_mul"(amount_t a, amount_t b) noexcept nogil


cdef inline amount_t add(amount_t a, amount_t b) noexcept nogil:
    """a + b of two amounts: Unlimited if either is."""
    if a == UNLIMITED or b == UNLIMITED:
        return UNLIMITED
    return saturating_add(a, b)


cdef inline amount_t add_plain(amount_t a, amount_t value) noexcept nogil:
    """An amount and a plain number: Unlimited stays Unlimited, also when the number is negative."""
    if a == UNLIMITED:
        return UNLIMITED
    return saturating_add(a, value)


cdef inline amount_t sub(amount_t a, amount_t b) noexcept nogil:
    """a - b of two amounts: Unlimited - Unlimited is 0, bounded - Unlimited the lowest number."""
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    if b == UNLIMITED:
        return LOWEST
    return saturating_sub(a, b)


cdef inline amount_t floored(amount_t a) noexcept nogil:
    """a, or 0 where it is negative."""
    return a if a > 0 else 0
