"""What Kueue fills into a pod spec before it reads its requests.

Source: QC-64.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from kueue_fast.api.core import Container, LimitRangeItem, PodSpec, ResourceRequirements, RuntimeClass
from kueue_fast.api.meta import QuantityValue
from kueue_fast.model.limits import CONTAINER, POD, LimitRangeSummary

ResourceList: TypeAlias = dict[str, QuantityValue]


def adjust(
    pod: PodSpec,
    runtime_classes: Mapping[str, RuntimeClass],
    limit_ranges: LimitRangeSummary,
) -> PodSpec:
    """The pod spec with overhead, LimitRange defaults and limits-as-requests filled in.

    `runtime_classes` are all RuntimeClasses by name, `limit_ranges` is the summary of the
    namespace's LimitRanges (`limits.summarise`). Returns `pod` itself if nothing changes; never
    changes it in place.

    Only missing entries are filled, in this order: overhead of the RuntimeClass, if the pod has
    none; defaults of LimitRanges; requests from limits. So where a LimitRange has a default
    request, a container with only a limit requests that default and not its limit. A
    RuntimeClass that does not exist adds nothing.

    Source: QC-64.
    """
    pod = _with_overhead(pod, runtime_classes)
    container_range = limit_ranges.get(CONTAINER)
    pod_range = limit_ranges.get(POD)

    def container_resources(resources: ResourceRequirements) -> ResourceRequirements:
        return _limits_as_requests(_with_defaults(resources, container_range))

    changes: dict[str, object] = {}
    for name, containers in (
        ("init_containers", pod.init_containers),
        ("containers", pod.containers),
    ):
        adjusted = _each(containers, container_resources)
        if adjusted is not None:
            changes[name] = adjusted
    if pod.resources is not None:
        resources = _limits_as_requests(_with_defaults(pod.resources, pod_range))
        if resources is not pod.resources:
            changes["resources"] = resources
    return msgspec.structs.replace(pod, **changes) if changes else pod


def _with_overhead(pod: PodSpec, runtime_classes: Mapping[str, RuntimeClass]) -> PodSpec:
    if pod.runtime_class_name is None or pod.overhead:
        return pod
    runtime_class = runtime_classes.get(pod.runtime_class_name)
    if runtime_class is None or runtime_class.overhead is None or not runtime_class.overhead.pod_fixed:
        return pod
    return msgspec.structs.replace(pod, overhead=runtime_class.overhead.pod_fixed)


def _each(
    containers: Sequence[Container] | None,
    change: Callable[[ResourceRequirements], ResourceRequirements],
) -> list[Container] | None:
    """The containers with changed resources, or None if none changes."""
    result: list[Container] = []
    changed = False
    for container in containers or ():
        before = container.resources or ResourceRequirements()
        after = change(before)
        if after is not before:
            container = msgspec.structs.replace(container, resources=after)
            changed = True
        result.append(container)
    return result if changed else None


def _with_defaults(resources: ResourceRequirements, item: LimitRangeItem | None) -> ResourceRequirements:
    if item is None:
        return resources
    limits = _filled(resources.limits, item.default)
    requests = _filled(resources.requests, item.default_request)
    if limits is resources.limits and requests is resources.requests:
        return resources
    return msgspec.structs.replace(resources, limits=limits, requests=requests)


def _limits_as_requests(resources: ResourceRequirements) -> ResourceRequirements:
    requests = _filled(resources.requests, resources.limits)
    if requests is resources.requests:
        return resources
    return msgspec.structs.replace(resources, requests=requests)


def _filled(given: ResourceList | None, defaults: ResourceList | None) -> ResourceList | None:
    """`given` plus the defaults it lacks; `given` itself if it lacks none."""
    given_names = given or {}
    missing = {name: value for name, value in (defaults or {}).items() if name not in given_names}
    return {**given_names, **missing} if missing else given
