"""Kubernetes quantities: Go's grammar and rounding, as integers that the kernel counts in.

A text is read once: equal texts share one Quantity from a bounded table. Plain numbers and the usual
suffixes are read in C; whatever is rarer (decimal exponents, more than 18 digits, fractions with a
binary suffix) takes a slower way with Python's integers. Both give what Go's resource.Quantity gives.
"""

import re
from fractions import Fraction

cimport cython

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef extern from *:
    """
    static int kueuecore_multiply(long long a, long long b, long long *product) {
        return __builtin_mul_overflow(a, b, product);
    }
    """
    # True if the product does not fit in int64.
    int multiply_overflows "kueuecore_multiply"(long long a, long long b, long long* product) noexcept nogil

cdef long long MAX = 0x7FFFFFFFFFFFFFFF
cdef long long MIN = -MAX - 1
# Cores from which a cpu quota is Unlimited (QP-102), in milli-units.
cdef long long UNLIMITED_MILLI = (MAX // 1000) * 1000

cdef long long[19] POWERS_OF_TEN
cdef int _power
POWERS_OF_TEN[0] = 1
for _power in range(1, 19):
    POWERS_OF_TEN[_power] = POWERS_OF_TEN[_power - 1] * 10

# Texts seen. When full it starts anew, since what is in use comes back at once.
cdef dict _seen = {}
cdef Py_ssize_t SEEN_LIMIT = 1 << 16
cdef Py_ssize_t SEEN_TEXT_LIMIT = 64

cdef str DECIMAL_SI = "DecimalSI"
cdef str BINARY_SI = "BinarySI"
cdef str DECIMAL_EXPONENT = "DecimalExponent"
cdef str CPU = "cpu"

cdef object _fraction_type = Fraction
# Python's integers: Cython would take a power of C integers for a float.
cdef object TEN = 10
cdef object MICRO = TEN ** 6
cdef object NANO = TEN ** 9

# A quantity is a sign, digits, and a suffix; which suffixes there are is looked up after. Digits may
# be missing altogether, which reads as zero: so does Go.
# Each part takes all it can and gives nothing back, so that a long wrong text costs one look at it.
cdef object _match = re.compile(
    r"([+-]?+)0*+([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[+-]?+[0-9]*+)"
).fullmatch
cdef object _match_exponent = re.compile(r"[eE]([+-]?[0-9]{1,30})").fullmatch
cdef dict DECIMAL_SUFFIXES = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}
cdef dict BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

# Digits before the point, or after it, beyond which nothing is told apart. Far outside int64, and
# it keeps a text of a few bytes (1e999999999) from becoming a number of a gigabyte.
cdef int DIGITS_LIMIT = 1000

UNLIMITED = MAX
"""The amount that stands for no limit, the largest int64. Source: QP-102."""


@cython.final
cdef class Quantity:
    """An amount with the text it was read from; exact to 10**-9 of a unit."""

    def __init__(self):
        raise TypeError("a Quantity is made by parse")

    @property
    def nanos(self):
        """The exact value in units of 10**-9, an int of any size."""
        if self.exact_nanos is None:
            self.exact_nanos = ((<object> self.mantissa) << self.shift) * TEN ** (self.scale + 9)
        return self.exact_nanos

    def __repr__(self):
        return f"Quantity({self.text!r})"


def parse(value):
    """The Quantity that a text or a number stands for.

    Finer fractions than 10**-9 are rounded away from zero, and what has a binary suffix is capped to
    the range of int64, both as Go does. Raises ValueError quoting the text if it is no quantity.
    """
    return read(value)


def request_value(str resource not None, value):
    """A request in the kernel's unit: cpu in milli, all else whole; rounded away from zero, clamped to
    int64. Raises ValueError as `parse` does. Source: QP-101, QP-103.
    """
    cdef Quantity quantity = read(value)
    return quantity.milli if resource == CPU else quantity.whole


def quota_value(str resource not None, value):
    """A quota in the kernel's unit; UNLIMITED from 9223372036854775 cores of cpu, or 2**63 - 1 of
    anything else. Raises ValueError as `parse` does. Source: QP-101, QP-102.
    """
    cdef Quantity quantity = read(value)
    if resource != CPU:
        return quantity.whole
    if quantity.milli > UNLIMITED_MILLI:
        return MAX
    if quantity.milli == UNLIMITED_MILLI and quantity.nanos >= (<object> UNLIMITED_MILLI) * 1_000_000:
        # Only the exact value tells a limit that was reached from one that rounding reached.
        return MAX
    return quantity.milli


def as_fraction(value):
    """The exact value of a quantity in units (cores, bytes). Raises ValueError as `parse` does."""
    cdef Quantity quantity = read(value)
    if quantity.exact_fraction is None:
        quantity.exact_fraction = _fraction_type(quantity.nanos, NANO)
    return quantity.exact_fraction


cdef Quantity read(object value):
    cdef object found
    cdef Quantity quantity
    if type(value) is str:
        found = _seen.get(value)
        if found is not None:
            return <Quantity> found
        quantity = read_text(<str> value)
        if len(<str> value) <= SEEN_TEXT_LIMIT:
            if len(_seen) >= SEEN_LIMIT:
                _seen.clear()
            _seen[value] = quantity
        return quantity
    if type(value) is int or type(value) is float:
        # Go reads the number's own text; a float's shortest text names the same value.
        return read(number_text(value))
    if isinstance(value, str):
        return read(str.__str__(value))
    raise ValueError(f"{value!r} is not a quantity: expected a text or a number, such as 500m, 2 or 16Gi")


cdef str number_text(object value):
    try:
        return repr(value)
    except ValueError:  # an int of thousands of digits
        return f"{'-' if value < 0 else ''}1e{DIGITS_LIMIT}"


cdef object refuse(str text, str why):
    cdef str shown = text if len(text) <= 60 else text[:60] + "..."
    raise ValueError(
        f"{shown!r} is not a quantity: {why}; expected a number with one of the suffixes "
        "n u m k M G T P E Ki Mi Gi Ti Pi Ei, an exponent such as e3, or none"
    )


cdef Quantity read_text(str text):
    cdef Quantity quantity = Quantity.__new__(Quantity)
    quantity.text = text
    if not read_common(quantity, text):
        read_any(quantity, text)
    return quantity


cdef bint read_common(Quantity quantity, str text) except -1:
    """Digits, perhaps with a point, and a suffix: false if the text is rarer than that, or wrong."""
    cdef Py_ssize_t size, position = 0
    cdef const char* chars
    cdef int digits = 0, decimals = 0, exponent = 0, shift = 0
    cdef bint negative = False, point = False, seen_digit = False
    cdef long long mantissa = 0
    try:
        chars = PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:  # lone surrogates
        return False

    if size > 0 and (chars[0] == c"-" or chars[0] == c"+"):
        negative = chars[0] == c"-"
        position = 1
    while position < size:
        if c"0" <= chars[position] <= c"9":
            seen_digit = True
            if mantissa or chars[position] != c"0":
                digits += 1
                if digits > 18:
                    return False
            mantissa = mantissa * 10 + (chars[position] - c"0")
            decimals += point
        elif chars[position] == c"." and not point:
            point = True
        else:
            break
        position += 1
    if not seen_digit:
        return False

    if not read_suffix(chars + position, size - position, &exponent, &shift):
        return False
    if negative:
        mantissa = -mantissa
    if shift:
        if decimals or multiply_overflows(mantissa, (<long long> 1) << shift, &quantity.whole):
            return False
        if quantity.whole == MIN:  # capped to -MAX, the other way
            return False
        quantity.milli = scaled(quantity.whole, 3)
        quantity.format = BINARY_SI
    else:
        exponent -= decimals
        if exponent < -9:
            return False
        quantity.milli = scaled(mantissa, exponent + 3)
        quantity.whole = scaled(mantissa, exponent)
        quantity.format = DECIMAL_SI
    quantity.mantissa = mantissa
    quantity.shift = shift
    quantity.scale = exponent
    return True


cdef bint read_suffix(const char* chars, Py_ssize_t size, int* exponent, int* shift) noexcept nogil:
    """A power of ten, or of two, that is not an `e` exponent; false if it is something else."""
    cdef int step
    cdef char first
    if size == 0:
        return True
    first = chars[0]
    if size == 1 and first == c"m":
        exponent[0] = -3
    elif size == 1 and first == c"u":
        exponent[0] = -6
    elif size == 1 and first == c"n":
        exponent[0] = -9
    elif size == 1 and first == c"k":
        exponent[0] = 3
    elif size == 1 or (size == 2 and chars[1] == c"i"):
        if first == c"K" and size == 2:
            step = 1
        elif first == c"M":
            step = 2
        elif first == c"G":
            step = 3
        elif first == c"T":
            step = 4
        elif first == c"P":
            step = 5
        elif first == c"E":
            step = 6
        else:
            return False
        if size == 2:
            shift[0] = step * 10
        else:
            exponent[0] = step * 3
    else:
        return False
    return True


cdef long long scaled(long long value, int power) noexcept nogil:
    """value * 10**power, rounded away from zero, clamped to int64. power is -9 to 21."""
    cdef long long result, divisor
    if value == 0:
        return 0
    if power > 18:
        return MAX if value > 0 else MIN
    if power >= 0:
        if multiply_overflows(value, POWERS_OF_TEN[power], &result):
            return MAX if value > 0 else MIN
        return result
    divisor = POWERS_OF_TEN[-power]
    result = value // divisor  # cdivision: toward zero
    if value % divisor:
        result += 1 if value > 0 else -1
    return result


cdef int read_any(Quantity quantity, str text) except -1:
    """Any text, with Python's integers."""
    cdef object match, nanos
    cdef str digits, decimals, suffix
    if not text:
        refuse(text, "it is empty")
    match = _match(text)
    if match is None:
        refuse(text, "it is not a number with a suffix")
    digits, decimals, suffix = match.group(2), match.group(3) or "", match.group(4)
    if suffix in BINARY_SUFFIXES:
        # Nothing times Ki to Ti is zero to Go, nothing times Pi is an error.
        if BINARY_SUFFIXES[suffix] >= 50 and not any_digit(text, suffix):
            refuse(text, "it has no digits")
        nanos = binary_nanos(digits, decimals, BINARY_SUFFIXES[suffix])
        # Go writes less than one unit in decimal form.
        quantity.format = DECIMAL_SI if 0 < nanos < NANO else BINARY_SI
    else:
        nanos = decimal_nanos(quantity, text, digits, decimals, suffix)
    if match.group(1) == "-":
        nanos = -nanos
    quantity.exact_nanos = nanos
    quantity.milli = clamp(away(nanos, MICRO))
    quantity.whole = clamp(away(nanos, NANO))
    return 0


cdef object decimal_nanos(Quantity quantity, str text, str digits, str decimals, str suffix):
    cdef object exponent = DECIMAL_SUFFIXES.get(suffix)
    cdef str all_digits
    quantity.format = DECIMAL_SI
    if exponent is None:
        quantity.format = DECIMAL_EXPONENT
        exponent = read_exponent(text, suffix)
        if exponent < -9 and not any_digit(text, suffix):
            refuse(text, "it has no digits")
    # The digits up to the place of 10**-9; whatever is nonzero after it rounds up.
    all_digits = (digits + decimals).lstrip("0")
    if not all_digits:
        return 0
    places = len(all_digits) - len(decimals) + exponent + 9
    if places > DIGITS_LIMIT:
        return TEN ** DIGITS_LIMIT
    if places < 0:
        return 1
    kept = all_digits[:places]
    nanos = int(kept or "0") * TEN ** (places - len(kept))
    return nanos + 1 if all_digits[places:].strip("0") else nanos


cdef object read_exponent(str text, str suffix):
    match = _match_exponent(suffix)
    if match is None:
        refuse(text, f"the suffix {suffix[:20]!r} is not known")
    exponent = int(match.group(1))
    if exponent > MAX or exponent < MIN:
        refuse(text, "its exponent is out of range")
    # Go keeps the lower 32 bits only.
    return (exponent + 0x80000000) % 0x100000000 - 0x80000000


cdef bint any_digit(str text, str suffix) except -1:
    return text[: len(text) - len(suffix)].strip("+-.") != ""


cdef object binary_nanos(str digits, str decimals, int shift):
    """What has a binary suffix is capped to int64's range."""
    if len(digits) > DIGITS_LIMIT:
        return (<object> MAX) * NANO
    if len(decimals) > DIGITS_LIMIT:
        decimals = decimals[:DIGITS_LIMIT] + ("1" if decimals[DIGITS_LIMIT:].strip("0") else "")
    nanos = away((int((digits + decimals) or "0") << shift) * NANO, TEN ** len(decimals))
    return min(nanos, (<object> MAX) * NANO)


cdef object away(object value, object divisor):
    """value / divisor, rounded away from zero."""
    if value < 0:
        return -((divisor - 1 - value) // divisor)
    return (value + divisor - 1) // divisor


cdef long long clamp(object value) except? -1:
    if value > MAX:
        return MAX
    if value < MIN:
        return MIN
    return value
