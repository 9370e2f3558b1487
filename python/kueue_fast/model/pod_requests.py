"""What one pod asks for: containers, init containers, sidecars, pod-level resources, overhead.

Amounts are exact fractions of the resource's own unit (cores, bytes, pieces), so that nothing
is rounded before all sums and transformations are done.

Source: QC-65.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from kueue_fast.api.core import Container, PodSpec
from kueue_fast.api.meta import QuantityValue
from kueue_fast.errors import InputError
from kueuecore._quantity import as_fraction

Amounts: TypeAlias = dict[str, Fraction]
"""Exact amount by resource name."""

_POD_LEVEL: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"
_ALWAYS: Final = "Always"


def pod_requests(pod: PodSpec) -> Amounts:
    """The requests of one pod, exact, by resource name.

    Containers add up. Init containers run one by one before them, so the pod must hold the
    largest; a sidecar (an init container with `restartPolicy: Always`) goes on running and
    counts beside every container that starts after it. Pod-level requests stand in place of
    that result for `cpu`, `memory` and `hugepages-*`. Overhead comes on top.

    Raises `InputError` with the field for a quantity that cannot be parsed.

    Source: QC-65.
    """
    running: Amounts = {}
    for i, container in enumerate(pod.containers or ()):
        _add(running, _requests(container, f"containers[{i}]"))

    sidecars: Amounts = {}
    starting: Amounts = {}
    for i, container in enumerate(pod.init_containers or ()):
        own = _requests(container, f"initContainers[{i}]")
        if container.restart_policy == _ALWAYS:
            _add(running, own)
            _add(sidecars, own)
            _raise_to(starting, sidecars)
        else:
            _add(own, sidecars)
            _raise_to(starting, own)
    _raise_to(running, starting)

    if pod.resources is not None:
        level = parse_amounts(pod.resources.requests, "resources.requests")
        running.update(
            (name, amount)
            for name, amount in level.items()
            if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
        )
    _add(running, parse_amounts(pod.overhead, "overhead"))
    return running


def parse_amounts(quantities: Mapping[str, QuantityValue] | None, field: str) -> Amounts:
    """Exact amounts of a resource list; `field` is its path in the object, for errors.

    Raises `InputError` with the field for a quantity that cannot be parsed.
    """
    amounts: Amounts = {}
    for name, quantity in (quantities or {}).items():
        try:
            amounts[name] = as_fraction(quantity)
        except ValueError as error:
            raise InputError(str(error), field=f"{field}.{name}") from error
    return amounts


def _requests(container: Container, path: str) -> Amounts:
    if container.resources is None:
        return {}
    return parse_amounts(container.resources.requests, f"{path}.resources.requests")


def _add(total: Amounts, more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _raise_to(total: Amounts, least: Mapping[str, Fraction]) -> None:
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount
