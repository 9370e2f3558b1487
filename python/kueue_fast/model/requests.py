"""From a pod spec to the integers that quota is counted in.

Source: QC-61, QP-101, QP-103, QP-107.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Final

from kueue_fast.api.configuration import Resources
from kueue_fast.api.core import PodSpec
from kueue_fast.model.pod_requests import pod_requests
from kueue_fast.model.quantities import saturate
from kueue_fast.model.transformations import transformed

_CPU: Final = "cpu"
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3
_UINT64: Final = 2**64 - 1


def per_pod_requests(pod: PodSpec, resources: Resources | None = None) -> dict[str, int]:
    """The requests of one pod in quota units, in the order in which resources are looked at.

    `pod` is already adjusted (QC-64); `resources` is that section of Kueue's configuration. The
    unit is milli for `cpu` and one for everything else. Amounts are rounded up, clamped to
    int64 and never negative. A resource that is requested with 0 is in the result.

    Raises `InputError` with the field for a quantity that cannot be parsed.

    Source: QC-61, QP-101, QP-103, QP-104.
    """
    amounts = transformed(pod_requests(pod), resources)
    return {name: max(units(name, amounts[name]), 0) for name in sorted(amounts, key=resource_order)}


def units(resource: str, amount: Fraction) -> int:
    """An exact amount in the resource's quota unit: rounded away from zero, clamped to int64.

    Source: QP-101, QP-103.
    """
    scaled = amount * 1000 if resource == _CPU else amount
    whole = -(-abs(scaled.numerator) // scaled.denominator)
    return saturate(whole if scaled >= 0 else -whole)


@lru_cache(maxsize=4096)
def resource_order(name: str) -> tuple[int, str]:
    """Sort key of a resource: Kueue goes through requests by the names' 64-bit FNV-1a hash.

    The order decides which resource leads a resource group, and so which flavors are tried and
    which message a workload gets.

    Source: QP-107.
    """
    value = _FNV_OFFSET
    for byte in name.encode():
        value = ((value ^ byte) * _FNV_PRIME) & _UINT64
    return value, name
