"""Whether a workload may be admitted at all: its namespace, its limits, the LimitRanges.

Texts are Kueue's, since they end up in the workload's conditions, where people and tools look.

Source: QC-77..QC-80.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

import msgspec

from kueue_fast.api.core import (
    Container,
    LimitRange,
    LimitRangeItem,
    Namespace,
    PodSpec,
    ResourceRequirements,
)
from kueue_fast.api.meta import LabelSelector, QuantityValue
from kueue_fast.errors import InputError
from kueue_fast.model.pod_requests import pod_requests
from kueue_fast.model.requests import units
from kueue_fast.model.selectors import aggregate, selects
from kueuecore._quantity import as_fraction, request_value

CONTAINER: Final = "Container"
POD: Final = "Pod"

LimitRangeSummary: TypeAlias = Mapping[str, LimitRangeItem]
"""All LimitRanges of a namespace as one item a type (`Container`, `Pod`)."""

_ResourceList: TypeAlias = Mapping[str, QuantityValue]
_T = TypeVar("_T")
_Choice: TypeAlias = Callable[[_T, _T], _T]

_NAMESPACE_MISMATCH: Final = "workload namespace doesn't match ClusterQueue selector"
_INVALID_RESOURCES: Final = "resources validation failed"
_LIMIT_RANGE_VIOLATED: Final = "resources didn't satisfy LimitRange constraints"
_ABOVE_LIMITS: Final = "requests must not exceed its limits"
_ABOVE_MAX: Final = "requests must not be above the limitRange max"
_BELOW_MIN: Final = "requests must not be below the limitRange min"


def validate_admissibility(
    namespace_name: str,
    namespace: Namespace | None,
    selector: LabelSelector | None,
    pods: Sequence[PodSpec],
    summary: LimitRangeSummary,
) -> str | None:
    """Why a workload cannot be admitted whatever the quota, or None.

    `namespace` is None if it does not exist, `selector` is the ClusterQueue's namespace
    selector, `pods` the adjusted pod specs of the pod sets in order (QC-64). The first kind of
    failure wins; of one kind, all findings are named.

    Raises `SelectorError` for an invalid selector, `InputError` for an unreadable quantity.

    Source: QC-77.
    """
    if namespace is None:
        name = json.dumps(namespace_name)
        return f"workload namespace {name} does not exist: Namespace {name} not found"
    if not selects(selector, namespace.metadata.labels):
        return _NAMESPACE_MISMATCH
    return violations(pods, summary)


def violations(pods: Sequence[PodSpec], summary: LimitRangeSummary) -> str | None:
    """The part of `validate_admissibility` that depends on pod specs and LimitRanges alone.

    Source: QC-78, QC-80.
    """
    found = [text for i, pod in enumerate(pods) for text in requests_above_limits(pod, pod_spec_path(i))]
    if found:
        return f"{_INVALID_RESOURCES}: {aggregate(found)}"
    found = [
        text for i, pod in enumerate(pods) for text in limit_range_violations(pod, summary, pod_spec_path(i))
    ]
    if found:
        return f"{_LIMIT_RANGE_VIOLATED}: {aggregate(found)}"
    return None


def pod_spec_path(pod_set: int) -> str:
    """Path of a pod set's pod spec in its Workload."""
    return f"spec.podSets[{pod_set}].template.spec"


def requests_above_limits(pod: PodSpec, path: str) -> list[str]:
    """One text for each container, and for the pod level, that requests more than its limit.

    Only resources that have both are compared, as whole quota units.

    Source: QC-78.
    """
    found: list[str] = []
    for at, resources in _resources(pod, path):
        names = _greater(
            _units(resources.requests, f"{at}.resources.requests"),
            _units(resources.limits, f"{at}.resources.limits"),
        )
        found += _invalid(at, names, _ABOVE_LIMITS)
    if pod.resources is not None:
        at = f"{path}.resources"
        names = _greater(
            _units(pod.resources.requests, f"{at}.requests"),
            _units(pod.resources.limits, f"{at}.limits"),
        )
        found += _invalid(at, names, _ABOVE_LIMITS)
    return found


def summarise(limit_ranges: Iterable[LimitRange]) -> LimitRangeSummary:
    """The LimitRanges of one namespace as one item a type.

    Of each resource it keeps the smallest `max` and `maxLimitRequestRatio`, the largest `min`
    and the first `default` and `defaultRequest`, the ranges taken by name.

    Raises `InputError` for a quantity that cannot be parsed.

    Source: QC-79.
    """
    summary: dict[str, LimitRangeItem] = {}
    for limit_range in sorted(limit_ranges, key=lambda each: each.metadata.name):
        for item in (limit_range.spec.limits if limit_range.spec else None) or ():
            first = summary.get(item.type, LimitRangeItem(type=item.type))
            try:
                summary[item.type] = LimitRangeItem(
                    type=item.type,
                    max=_merged(first.max or {}, item.max or {}, _smaller),
                    min=_merged(first.min or {}, item.min or {}, _larger),
                    default=_merged(first.default or {}, item.default or {}, _first),
                    default_request=_merged(first.default_request or {}, item.default_request or {}, _first),
                    max_limit_request_ratio=_merged(
                        first.max_limit_request_ratio or {}, item.max_limit_request_ratio or {}, _smaller
                    ),
                )
            except ValueError as error:
                meta = limit_range.metadata
                raise InputError(
                    str(error), object=f"LimitRange {meta.namespace}/{meta.name}", field="spec.limits"
                ) from error
    return summary


def limit_range_violations(pod: PodSpec, summary: LimitRangeSummary, path: str) -> list[str]:
    """One text for each container, and for the pod, outside of what the LimitRanges allow.

    A container is judged by the larger of request and limit against `max` and by the smaller
    against `min`, the pod by its requests (QC-65). A resource that is not asked for is not
    below its minimum.

    Source: QC-80.
    """
    found: list[str] = []
    item = summary.get(CONTAINER)
    if item is not None:
        highest = _units(item.max, "LimitRange max")
        lowest = _units(item.min, "LimitRange min")
        for at, resources in _resources(pod, path):
            requests = _units(resources.requests, f"{at}.resources.requests")
            limits = _units(resources.limits, f"{at}.resources.limits")
            # Rounding keeps the order of amounts, so the units can stand in for the quantities.
            most = _merged(requests, limits, max)
            least = _merged(requests, limits, min)
            found += _invalid(at, _greater(most, highest), _ABOVE_MAX)
            found += _invalid(at, _greater(lowest, least), _BELOW_MIN)
    item = summary.get(POD)
    if item is not None:
        total = {name: units(name, amount) for name, amount in pod_requests(pod).items()}
        found += _invalid(path, _greater(total, _units(item.max, "LimitRange max")), _ABOVE_MAX)
        found += _invalid(path, _greater(_units(item.min, "LimitRange min"), total), _BELOW_MIN)
    return found


def _resources(pod: PodSpec, path: str) -> Iterable[tuple[str, ResourceRequirements]]:
    """Path and resources of init containers, then containers, as far as they have any."""
    groups: tuple[tuple[str, Sequence[Container] | None], ...] = (
        ("initContainers", pod.init_containers),
        ("containers", pod.containers),
    )
    for name, containers in groups:
        for i, container in enumerate(containers or ()):
            if container.resources is not None:
                yield f"{path}.{name}[{i}]", container.resources


def _units(quantities: _ResourceList | None, field: str) -> dict[str, int]:
    result: dict[str, int] = {}
    for name, quantity in (quantities or {}).items():
        try:
            result[name] = request_value(name, quantity)
        except ValueError as error:
            raise InputError(str(error), field=f"{field}.{name}") from error
    return result


def _greater(left: Mapping[str, int], right: Mapping[str, int]) -> list[str]:
    """Sorted names of both in which the left amount is greater. Source: QP-110."""
    return sorted(name for name, value in left.items() if name in right and value > right[name])


def _invalid(path: str, names: Sequence[str], detail: str) -> list[str]:
    if not names:
        return []
    return [f"{path}: Invalid value: {msgspec.json.encode(names).decode()}: {detail}"]


def _merged(first: Mapping[str, _T], second: Mapping[str, _T], choose: _Choice[_T]) -> dict[str, _T]:
    """Entries of both; `choose` decides where both have one."""
    result = dict(first)
    for name, value in second.items():
        result[name] = choose(result[name], value) if name in result else value
    return result


def _first(first: QuantityValue, second: QuantityValue) -> QuantityValue:
    return first


def _smaller(first: QuantityValue, second: QuantityValue) -> QuantityValue:
    return second if as_fraction(second) < as_fraction(first) else first


def _larger(first: QuantityValue, second: QuantityValue) -> QuantityValue:
    return second if as_fraction(second) > as_fraction(first) else first
