"""What LocalQueues used in the past, for admission fair sharing: decayed consumption and penalties not yet settled.

Amounts are exact: whole nanos of each resource's quantity (a cpu core is 10^9), as upstream's decimals of nine places.
Source: QC-14, QC-81..87.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

Nanos = dict[str, int]
"""Resource name to nanos."""

SECOND = 1_000_000_000
NANO = 1e-9


def alpha(elapsed_ns: int, half_life_ns: int) -> float:
    """Weight of what is new after some time; 0 without a half life. Source: QC-82."""
    if half_life_ns == 0:
        return 0.0
    return 1.0 - math.pow(0.5, (elapsed_ns / SECOND) / (half_life_ns / SECOND))


def scaled(amounts: Mapping[str, int], factor: float) -> Nanos:
    """Amounts times the shortest decimal of a double, truncated toward zero at nine places. Source: QC-83."""
    exact = Fraction(repr(factor))
    return {name: _truncate(amount * exact) for name, amount in amounts.items()}


def summed(first: Mapping[str, int], second: Mapping[str, int]) -> Nanos:
    """Amounts of both by resource."""
    total = dict(first)
    for name, amount in second.items():
        total[name] = total.get(name, 0) + amount
    return total


def decayed(consumed: Mapping[str, int], admitted: Mapping[str, int], elapsed_ns: int, half_life_ns: int) -> Nanos:
    """Consumption after some time under the present admitted usage. Source: QC-84."""
    new = alpha(max(elapsed_ns, 0), half_life_ns)
    return summed(scaled(consumed, 1 - new), scaled(admitted, new))


def to_nanos(resource: str, amount: int) -> int:
    """Nanos of an amount in kernel units: cpu is in milli, everything else whole."""
    return amount * (SECOND // 1000 if resource == "cpu" else SECOND)


class Entry:
    """Accounts of one LocalQueue."""

    def __init__(self, last_update_ns: int) -> None:
        self.consumed: Nanos = {}
        self.penalties: dict[str, Nanos] = {}  # workload key to what it was charged and did not settle yet
        self.last_update_ns = last_update_ns
        self.status_accounted = False

    @property
    def pending_penalty(self) -> Nanos:
        """Penalties of all workloads, summed."""
        total: Nanos = {}
        for penalty in self.penalties.values():
            total = summed(total, penalty)
        return {name: amount for name, amount in total.items() if amount}

    def usage(self, weight: float, resource_weights: Mapping[str, float]) -> float:
        """Weighted use; +Inf for a weight that is not positive, so that such a queue comes last. Source: QC-14."""
        total = summed(self.consumed, self.pending_penalty)
        used = 0.0
        for name in sorted(total):
            used += resource_weights.get(name, 1.0) * (float(total[name]) * NANO)
        return math.inf if weight <= 0 else used / weight

    def settle(self, workload: str, admitted: Mapping[str, int], now_ns: int, half_life_ns: int) -> None:
        """A workload was admitted: its penalty becomes consumption. Source: QC-86."""
        consumed = decayed(self.consumed, admitted, now_ns - self.last_update_ns, half_life_ns)
        self.consumed = summed(consumed, self.penalties.pop(workload, {}))
        self.last_update_ns = max(self.last_update_ns, now_ns)

    def sample(self, admitted: Mapping[str, int], now_ns: int, half_life_ns: int) -> None:
        """Bring consumption up to date. Source: QC-87."""
        if half_life_ns == 0:
            self.consumed = {}
        else:
            self.consumed = decayed(self.consumed, admitted, now_ns - self.last_update_ns, half_life_ns)
        self.last_update_ns = max(self.last_update_ns, now_ns)


def _truncate(value: Fraction) -> int:
    quotient = abs(value.numerator) // value.denominator
    return quotient if value >= 0 else -quotient
