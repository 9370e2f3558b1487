"""From pod specs to requested amounts, and whether a pod spec may be admitted at all.

Source: QC-61, QC-64 to QC-68, QC-77 to QC-80.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from tests.oracle.amounts import QuantityText, multiply, parse, request_value, to_units
from tests.oracle.settings import Settings

Manifest: TypeAlias = Mapping[str, Any]
Amounts: TypeAlias = dict[str, Fraction]
Written: TypeAlias = Mapping[str, QuantityText]


class LimitSummary:
    """All LimitRanges of a namespace in one, for one type of item. Source: QC-79."""

    def __init__(self, limit_ranges: Iterable[Manifest], kind: str) -> None:
        self.default: dict[str, QuantityText] = {}
        self.default_request: dict[str, QuantityText] = {}
        self.max: dict[str, QuantityText] = {}
        self.min: dict[str, QuantityText] = {}
        for limit_range in sorted(limit_ranges, key=lambda o: str(o["metadata"]["name"])):
            for item in limit_range["spec"].get("limits") or ():
                if item.get("type") == kind:
                    self._include(item)

    def _include(self, item: Manifest) -> None:
        self.default = {**(item.get("default") or {}), **self.default}
        self.default_request = {**(item.get("defaultRequest") or {}), **self.default_request}
        for resource, text in (item.get("max") or {}).items():
            self.max[resource] = min(text, self.max.get(resource, text), key=parse)
        for resource, text in (item.get("min") or {}).items():
            self.min[resource] = max(text, self.min.get(resource, text), key=parse)


def adjust(
    spec: Manifest, runtime_classes: Mapping[str, Manifest], limit_ranges: Iterable[Manifest]
) -> dict[str, Any]:
    """The pod spec as the scheduler sees it: overhead, defaults of LimitRanges, limits as requests. Source: QC-64."""
    adjusted = dict(spec)
    runtime_class = runtime_classes.get(spec.get("runtimeClassName") or "")
    if runtime_class is not None and not spec.get("overhead"):
        overhead = (runtime_class.get("overhead") or {}).get("podFixed")
        if overhead:
            adjusted["overhead"] = overhead
    ranges = list(limit_ranges)
    defaults = LimitSummary(ranges, "Container")
    for field in ("initContainers", "containers"):
        if spec.get(field):
            adjusted[field] = [
                {**container, "resources": fill(container.get("resources") or {}, defaults)}
                for container in spec[field]
            ]
    if spec.get("resources"):
        adjusted["resources"] = fill(spec["resources"], LimitSummary(ranges, "Pod"))
    return adjusted


def fill(resources: Manifest, defaults: LimitSummary) -> dict[str, Any]:
    limits = {**defaults.default, **(resources.get("limits") or {})}
    requests = {**defaults.default_request, **(resources.get("requests") or {})}
    return {**resources, "limits": limits, "requests": {**limits, **requests}}


def exact(written: Written | None) -> Amounts:
    return {resource: parse(text) for resource, text in (written or {}).items()}


def requested(container: Manifest) -> Amounts:
    return exact((container.get("resources") or {}).get("requests"))


def merge(a: Amounts, b: Amounts, combine: Callable[[Fraction, Fraction], Fraction]) -> Amounts:
    return {**a, **b, **{resource: combine(a[resource], b[resource]) for resource in a.keys() & b.keys()}}


def plus(a: Amounts, b: Amounts) -> Amounts:
    return merge(a, b, lambda x, y: x + y)


def pod_requests(spec: Manifest) -> Amounts:
    """What one pod asks for, sidecars, init containers, pod-level resources and overhead included. Source: QC-65."""
    running: Amounts = {}
    for container in spec.get("containers") or ():
        running = plus(running, requested(container))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            running = plus(running, requested(container))
            sidecars = plus(sidecars, requested(container))
            asks = sidecars
        else:
            asks = plus(requested(container), sidecars)
        starting = merge(starting, asks, max)
    total = merge(running, starting, max)
    for resource, value in exact((spec.get("resources") or {}).get("requests")).items():
        if resource in ("cpu", "memory") or resource.startswith("hugepages-"):
            total[resource] = value
    return plus(total, exact(spec.get("overhead")))


def transform(requests: Amounts, settings: Settings) -> Amounts:
    """Drop excluded resources, then apply `resources.transformations`. Source: QC-67, QC-68."""
    kept = (
        {
            resource: value
            for resource, value in requests.items()
            if not resource.startswith(settings.excluded_prefixes)
        }
        if settings.excluded_prefixes
        else dict(requests)
    )
    retained: Amounts = {}
    generated: Amounts = {}
    for resource, value in kept.items():
        rule = settings.transformations.get(resource)
        if rule is None or (rule.get("strategy") or "Retain") == "Retain":
            retained[resource] = value
        if rule is not None:
            scaled = value * kept.get(rule.get("multiplyBy") or "", Fraction(1))
            generated = plus(
                generated, {output: scaled * factor for output, factor in exact(rule.get("outputs")).items()}
            )
    return plus(retained, {resource: max(Fraction(0), value) for resource, value in generated.items()})


def totals(adjusted: Manifest, count: int, settings: Settings) -> dict[str, int]:
    """Units that a pod set of `count` pods asks for. Source: QC-61, QP-104."""
    per_pod = transform(pod_requests(adjusted), settings)
    return {
        resource: multiply(max(0, to_units(resource, value)), count) for resource, value in per_pod.items()
    }


def is_admissible(adjusted: Manifest, limit_ranges: Iterable[Manifest]) -> bool:
    """Requests within limits, and both within the LimitRanges of the namespace. Source: QC-78, QC-80."""
    containers = [*(adjusted.get("initContainers") or ()), *(adjusted.get("containers") or ())]
    resources = [container.get("resources") or {} for container in containers]
    pod_level = [adjusted["resources"]] if adjusted.get("resources") else []
    if any(exceeds(r.get("requests"), r.get("limits")) for r in [*resources, *pod_level]):
        return False
    ranges = list(limit_ranges)
    each = LimitSummary(ranges, "Container")
    for r in resources:
        requests, limits = exact(r.get("requests")), exact(r.get("limits"))
        highest, lowest = merge(requests, limits, max), merge(requests, limits, min)
        if above(highest, exact(each.max)) or above(exact(each.min), lowest):
            return False
    whole = LimitSummary(ranges, "Pod")
    total = pod_requests(adjusted)
    return not above(total, exact(whole.max)) and not above(exact(whole.min), total)


def exceeds(requests: Written | None, limits: Written | None) -> bool:
    asked, allowed = requests or {}, limits or {}
    return any(
        request_value(r, asked[r]) > request_value(r, allowed[r]) for r in asked.keys() & allowed.keys()
    )


def above(left: Amounts, right: Amounts) -> bool:
    return any(left[resource] > right[resource] for resource in left.keys() & right.keys())
