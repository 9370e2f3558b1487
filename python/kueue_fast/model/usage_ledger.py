"""What LocalQueues used in the past, for admission fair sharing: decayed consumption and penalties not yet settled.

Amounts are exact: whole nanos of each resource's quantity (a cpu core is 10^9), as upstream's decimals of nine places.
Powers of one half are those of libm; Go's differ now and then in the last bit, as they do between its own machines.
Source: QC-14, QC-81..87.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from kueue_fast.model.approximate_float import approximate_float, nanos_to_float
from kueuecore._quantity import parse

Nanos = dict[str, int]
"""Resource name to nanos."""

SECOND = 1_000_000_000
_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")


def seconds(duration_ns: int) -> float:
    """A duration in seconds, as Go makes it: the whole ones, and what is left divided."""
    whole, rest = divmod(duration_ns, SECOND)
    return float(whole) + rest / SECOND


def alpha(elapsed_ns: int, half_life_ns: int) -> float:
    """Weight of what is new after some time; 0 without a half life. Source: QC-82."""
    if half_life_ns == 0:
        return 0.0
    return 1.0 - math.pow(0.5, seconds(elapsed_ns) / seconds(half_life_ns))


def scaled(amounts: Mapping[str, int], factor: float) -> Nanos:
    """Amounts times the shortest decimal of a double, truncated toward zero at nine places. Source: QC-83."""
    numerator, denominator = _shortest_decimal(factor)
    return {name: _divided(amount * numerator, denominator) for name, amount in amounts.items()}


def summed(first: Mapping[str, int], second: Mapping[str, int]) -> Nanos:
    """Amounts of both by resource."""
    total = dict(first)
    for name, amount in second.items():
        total[name] = total.get(name, 0) + amount
    return total


def decayed(
    consumed: Mapping[str, int], admitted: Mapping[str, int], elapsed_ns: int, half_life_ns: int
) -> Nanos:
    """Consumption after some time under the present admitted usage; time does not go back. Source: QC-84."""
    new = alpha(max(elapsed_ns, 0), half_life_ns)
    return summed(scaled(consumed, 1 - new), scaled(admitted, new))


def to_nanos(resource: str, amount: int) -> int:
    """Nanos of an amount in kernel units: cpu is in milli, everything else whole."""
    return amount * (SECOND // 1000 if resource == "cpu" else SECOND)


def format_nanos(amount: int) -> str:
    """The quantity that upstream writes for an amount with nine places: decimal, the largest suffix that is exact."""
    if amount == 0:
        return "0"
    power = 0
    while amount % 1000 == 0 and power < len(_SUFFIXES) - 1:
        amount //= 1000
        power += 1
    return f"{amount}{_SUFFIXES[power]}"


class Remembered:
    """What a LocalQueue's status says it consumed. Raises ValueError for an amount that is no quantity."""

    def __init__(self, consumed: Mapping[str, str | int | float]) -> None:
        self.amounts: Nanos = {name: parse(amount).nanos for name, amount in consumed.items()}
        self.floats = {name: approximate_float(amount) for name, amount in consumed.items()}


class Entry:
    """Accounts of one LocalQueue. Source: QC-81."""

    def __init__(self, last_update_ns: int) -> None:
        self.consumed: Nanos = {}
        self.penalties: dict[str, Nanos] = {}  # workload key to what it was charged and did not settle yet
        self.pending: Nanos = {}  # sum of the penalties, without zeros
        self.last_update_ns = last_update_ns
        self.status_accounted = False
        # Consumption as the status wrote it, which has another double than the same amount with nine places.
        self._written: dict[str, float] = {}

    def charge(self, workload: str, penalty: Nanos) -> None:
        """A workload pays from now on, once: a new penalty takes the place of its last one. Source: QC-85."""
        self.drop(workload)
        self.penalties[workload] = penalty
        self._add_pending(penalty, 1)

    def drop(self, workload: str) -> Nanos:
        """Take back what a workload was charged; returns that, nothing without a record. Source: QC-86."""
        penalty = self.penalties.pop(workload, {})
        self._add_pending(penalty, -1)
        return penalty

    def remember(self, status: Remembered | None) -> None:
        """Add what the status says, the first time only. Source: QC-87."""
        if self.status_accounted:
            return
        self.status_accounted = True
        if status is not None:
            self._written = {
                name: value for name, value in status.floats.items() if name not in self.consumed
            }
            self.consumed = summed(self.consumed, status.amounts)

    def usage(self, weight: float, resource_weights: Mapping[str, float]) -> float:
        """Weighted use; +Inf for a weight that is not positive, so that such a queue comes last. Source: QC-14."""
        if weight <= 0:
            return math.inf
        total = summed(self.consumed, self.pending)
        used = 0.0
        for name in sorted(total):
            value = self._written.get(name) if name not in self.pending else None
            used += resource_weights.get(name, 1.0) * (
                nanos_to_float(total[name]) if value is None else value
            )
        return used / weight

    def settle(self, workload: str, admitted: Mapping[str, int], now_ns: int, half_life_ns: int) -> None:
        """A workload was admitted: its penalty becomes consumption. Source: QC-86."""
        self._decay(admitted, now_ns, half_life_ns)
        self.consumed = summed(self.consumed, self.drop(workload))

    def sample(self, admitted: Mapping[str, int], now_ns: int, half_life_ns: int) -> None:
        """Bring consumption up to date; without a half life nothing is remembered. Source: QC-87."""
        self._decay(admitted, now_ns, half_life_ns)
        if half_life_ns == 0:
            self.consumed = {}

    def _decay(self, admitted: Mapping[str, int], now_ns: int, half_life_ns: int) -> None:
        self.consumed = decayed(self.consumed, admitted, now_ns - self.last_update_ns, half_life_ns)
        self._written = {}
        self.last_update_ns = max(self.last_update_ns, now_ns)

    def _add_pending(self, penalty: Mapping[str, int], sign: int) -> None:
        for name, amount in penalty.items():
            total = self.pending.pop(name, 0) + sign * amount
            if total:
                self.pending[name] = total


@lru_cache(maxsize=1024)
def _shortest_decimal(factor: float) -> tuple[int, int]:
    return Fraction(repr(factor)).as_integer_ratio()


def _divided(numerator: int, denominator: int) -> int:
    quotient = abs(numerator) // denominator
    return quotient if numerator >= 0 else -quotient
