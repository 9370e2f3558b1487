# Kubernetes quantities, from text to integers. Source: QP-101 to QP-103.

cimport cython


@cython.final
cdef class Quantity:
    # An amount that has been read. Immutable, so that one object serves all equal texts.
    cdef readonly str text      # as written
    cdef readonly str format    # DecimalSI, BinarySI or DecimalExponent: the family of its suffix
    cdef long long milli        # thousandths of a unit, rounded away from zero, clamped to int64
    cdef long long whole        # units, rounded away from zero, clamped to int64
    # The exact value is mantissa * 2**shift * 10**scale, unless exact_nanos holds it.
    cdef long long mantissa     # at most 18 digits, with the sign
    cdef int shift              # 0, 10, ... 60; not 0 only if scale is 0
    cdef int scale              # -9 ... 18
    cdef object exact_nanos     # int: units times 10**9, or None while mantissa holds the value
    cdef object exact_fraction  # Fraction, or None until asked for


# The quantity of a str, int or float; ValueError if it is none.
cdef Quantity read(object value)
