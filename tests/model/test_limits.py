"""Whether a workload may be admitted whatever the quota."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import LimitRange, Namespace, PodSpec
from kueue_fast.api.meta import LabelSelector
from kueue_fast.errors import InputError
from kueue_fast.model.limits import LimitRangeSummary, summarise, validate_admissibility, violations


def container(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests, "limits": limits}}


def ranges(*items: dict[str, Any]) -> LimitRangeSummary:
    limit_range = {"metadata": {"name": "r", "namespace": "ns"}, "spec": {"limits": list(items)}}
    return summarise([msgspec.convert(limit_range, LimitRange)])


def on_containers(**bounds: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Container", **bounds}


def on_pods(**bounds: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Pod", **bounds}


SPEC = "spec.podSets[0].template.spec"
EXCEED = "requests must not exceed its limits"
ABOVE = "requests must not be above the limitRange max"
BELOW = "requests must not be below the limitRange min"
RESOURCES = "resources validation failed: "
LIMIT_RANGE = "resources didn't satisfy LimitRange constraints: "

Case = tuple[list[dict[str, Any]], list[dict[str, Any]], str | None]
CASES: dict[str, Case] = {
    "nothing to object to": ([{"containers": [container({"cpu": "1"}, {"cpu": "1"})]}], [], None),
    "no containers": ([{}], [on_containers(min={"cpu": "1"})], None),
    "request above limit": (
        [{"containers": [container({"cpu": "2"}, {"cpu": "1"})]}],
        [],
        f'{RESOURCES}{SPEC}.containers[0]: Invalid value: ["cpu"]: {EXCEED}',
    ),
    "names are sorted": (
        [
            {
                "containers": [
                    container(
                        {"memory": "2", "cpu": "2", "gpu": "1"}, {"cpu": "1", "memory": "1", "gpu": "1"}
                    )
                ]
            }
        ],
        [],
        f'{RESOURCES}{SPEC}.containers[0]: Invalid value: ["cpu","memory"]: {EXCEED}',
    ),
    "above by less than a unit is equal": (
        [{"containers": [container({"cpu": "1.0001"}, {"cpu": "1001m"})]}],
        [],
        None,
    ),
    "only resources with both": ([{"containers": [container({"cpu": "2"}, {"memory": "1"})]}], [], None),
    "pod-level request above limit": (
        [{"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}],
        [],
        f'{RESOURCES}{SPEC}.resources: Invalid value: ["cpu"]: {EXCEED}',
    ),
    "all findings, in the order of pod sets, init containers, containers": (
        [
            {
                "initContainers": [container(), container({"cpu": "2"}, {"cpu": "1"})],
                "containers": [container({"cpu": "2"}, {"cpu": "1"})],
            },
            {"containers": [container({"cpu": "2"}, {"cpu": "1"})]},
        ],
        [],
        f'{RESOURCES}[{SPEC}.initContainers[1]: Invalid value: ["cpu"]: {EXCEED}, '
        f'{SPEC}.containers[0]: Invalid value: ["cpu"]: {EXCEED}, '
        f'spec.podSets[1].template.spec.containers[0]: Invalid value: ["cpu"]: {EXCEED}]',
    ),
    "limits come before LimitRanges": (
        [{"containers": [container({"cpu": "2"}, {"cpu": "1"})]}],
        [on_containers(max={"cpu": "1"})],
        f'{RESOURCES}{SPEC}.containers[0]: Invalid value: ["cpu"]: {EXCEED}',
    ),
    "container request above max": (
        [{"initContainers": [container({"cpu": "3"})], "containers": [container({"cpu": "1"})]}],
        [on_containers(max={"cpu": "2"})],
        f'{LIMIT_RANGE}{SPEC}.initContainers[0]: Invalid value: ["cpu"]: {ABOVE}',
    ),
    "container limit above max": (
        [{"containers": [container({"cpu": "1"}, {"cpu": "3"})]}],
        [on_containers(max={"cpu": "2"})],
        f'{LIMIT_RANGE}{SPEC}.containers[0]: Invalid value: ["cpu"]: {ABOVE}',
    ),
    "container request below min, though its limit is not": (
        [{"containers": [container({"cpu": "1"}, {"cpu": "3"})]}],
        [on_containers(min={"cpu": "2"})],
        f'{LIMIT_RANGE}{SPEC}.containers[0]: Invalid value: ["cpu"]: {BELOW}',
    ),
    "container equal to both bounds": (
        [{"containers": [container({"cpu": "2"}, {"cpu": "2"})]}],
        [on_containers(min={"cpu": "2"}, max={"cpu": "2000m"})],
        None,
    ),
    "a container without the resource is not below min": (
        [{"containers": [container({"cpu": "2"}), {"name": "d"}]}],
        [on_containers(min={"memory": "1Gi"})],
        None,
    ),
    "above and below in one container": (
        [{"containers": [container({"cpu": "9", "memory": "1"})]}],
        [on_containers(max={"cpu": "2"}, min={"memory": "2"})],
        f'{LIMIT_RANGE}[{SPEC}.containers[0]: Invalid value: ["cpu"]: {ABOVE}, '
        f'{SPEC}.containers[0]: Invalid value: ["memory"]: {BELOW}]',
    ),
    "pod above max by the sum of its containers": (
        [{"containers": [container({"cpu": "1"}), container({"cpu": "2"})]}],
        [on_pods(max={"cpu": "2"})],
        f'{LIMIT_RANGE}{SPEC}: Invalid value: ["cpu"]: {ABOVE}',
    ),
    "sidecars count in the pod": (
        [
            {
                "initContainers": [{**container({"cpu": "1"}), "restartPolicy": "Always"}],
                "containers": [container({"cpu": "2"})],
            }
        ],
        [on_pods(max={"cpu": "2"})],
        f'{LIMIT_RANGE}{SPEC}: Invalid value: ["cpu"]: {ABOVE}',
    ),
    "overhead counts in the pod": (
        [{"containers": [container({"cpu": "2"})], "overhead": {"cpu": "1m"}}],
        [on_pods(max={"cpu": "2"})],
        f'{LIMIT_RANGE}{SPEC}: Invalid value: ["cpu"]: {ABOVE}',
    ),
    "pod below min": (
        [{"containers": [container({"cpu": "1"})]}],
        [on_pods(min={"cpu": "2", "memory": "1"})],
        f'{LIMIT_RANGE}{SPEC}: Invalid value: ["cpu"]: {BELOW}',
    ),
    "containers come before their pod": (
        [{"containers": [container({"cpu": "3"})]}],
        [on_pods(max={"cpu": "1"}), on_containers(max={"cpu": "2"})],
        f'{LIMIT_RANGE}[{SPEC}.containers[0]: Invalid value: ["cpu"]: {ABOVE}, '
        f'{SPEC}: Invalid value: ["cpu"]: {ABOVE}]',
    ),
    "ratios are not checked": (
        [{"containers": [container({"cpu": "1"}, {"cpu": "9"})]}],
        [on_containers(maxLimitRequestRatio={"cpu": "2"})],
        None,
    ),
    "ranges of other types are not looked at": (
        [{"containers": [container({"storage": "1"})]}],
        [{"type": "PersistentVolumeClaim", "min": {"storage": "2"}}],
        None,
    ),
}


@pytest.mark.parametrize(("pods", "items", "want"), CASES.values(), ids=CASES)
def test_violations(pods: list[dict[str, Any]], items: list[dict[str, Any]], want: str | None) -> None:
    assert violations(msgspec.convert(pods, list[PodSpec]), ranges(*items)) == want


NS = {"metadata": {"name": "ns", "labels": {"team": "a"}}}
TOO_MUCH = [{"containers": [container({"cpu": "2"}, {"cpu": "1"})]}]
MISMATCH = "workload namespace doesn't match ClusterQueue selector"

NAMESPACES: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None, str | None]] = {
    "a namespace that does not exist": (
        None,
        {},
        'workload namespace "ns" does not exist: Namespace "ns" not found',
    ),
    "an unset selector selects no namespace": (NS, None, MISMATCH),
    "a selector that does not match": (NS, {"matchLabels": {"team": "b"}}, MISMATCH),
    "an empty selector selects all": (
        NS,
        {},
        f'{RESOURCES}{SPEC}.containers[0]: Invalid value: ["cpu"]: {EXCEED}',
    ),
    "a selector that matches": (
        NS,
        {"matchLabels": {"team": "a"}},
        f'{RESOURCES}{SPEC}.containers[0]: Invalid value: ["cpu"]: {EXCEED}',
    ),
}


@pytest.mark.parametrize(("namespace", "selector", "want"), NAMESPACES.values(), ids=NAMESPACES)
def test_validate_admissibility(
    namespace: dict[str, Any] | None, selector: dict[str, Any] | None, want: str | None
) -> None:
    got = validate_admissibility(
        "ns",
        msgspec.convert(namespace, Namespace | None),
        msgspec.convert(selector, LabelSelector | None),
        msgspec.convert(TOO_MUCH, list[PodSpec]),
        {},
    )
    assert got == want


def test_an_admissible_workload() -> None:
    pods = msgspec.convert([{"containers": [container({"cpu": "1"})]}], list[PodSpec])
    namespace = msgspec.convert(NS, Namespace)
    assert validate_admissibility("ns", namespace, LabelSelector(), pods, {}) is None


def test_summary_over_ranges_in_the_order_of_their_names() -> None:
    made = msgspec.convert(
        [
            {
                "metadata": {"name": "b"},
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "max": {"cpu": "2000m", "memory": "1Gi"},
                            "min": {"cpu": "100m"},
                            "default": {"cpu": "2"},
                            "defaultRequest": {"cpu": "2"},
                            "maxLimitRequestRatio": {"cpu": "4"},
                        }
                    ]
                },
            },
            {
                "metadata": {"name": "a"},
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "max": {"cpu": "3", "gpu": "1"},
                            "min": {"cpu": "0.05", "gpu": "1"},
                            "default": {"cpu": "1"},
                            "maxLimitRequestRatio": {"cpu": "3"},
                        },
                        {"type": "Pod", "max": {"cpu": "9"}},
                    ]
                },
            },
            {"metadata": {"name": "c"}},
        ],
        list[LimitRange],
    )
    summary = summarise(made)
    assert sorted(summary) == ["Container", "Pod"]
    container_range = summary["Container"]
    assert container_range.max == {"cpu": "2000m", "gpu": "1", "memory": "1Gi"}
    assert container_range.min == {"cpu": "100m", "gpu": "1"}
    assert container_range.default == {"cpu": "1"}
    assert container_range.default_request == {"cpu": "2"}
    assert container_range.max_limit_request_ratio == {"cpu": "3"}
    assert summary["Pod"].max == {"cpu": "9"}
    assert summarise([]) == {}


def test_unreadable_quantities_name_their_place() -> None:
    twice = [on_containers(max={"cpu": "1"}), on_containers(max={"cpu": "1x"})]
    with pytest.raises(InputError) as caught:
        ranges(*twice)
    assert caught.value.object == "LimitRange ns/r"
    pods = msgspec.convert([{"containers": [container({"cpu": "1"}, {"cpu": "1x"})]}], list[PodSpec])
    with pytest.raises(InputError) as caught:
        violations(pods, {})
    assert caught.value.field == f"{SPEC}.containers[0].resources.limits.cpu"
