"""From a pod spec to integers in the order of their hash."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from kueue_fast.api.configuration import Resources
from kueue_fast.api.core import PodSpec
from kueue_fast.model.quantities import MAX, MIN
from kueue_fast.model.requests import per_pod_requests, resource_order, units

UNITS: dict[str, tuple[str, Fraction, int]] = {
    "cpu is in milli": ("cpu", Fraction(3, 2), 1500),
    "cpu is rounded up": ("cpu", Fraction(1, 10**6), 1),
    "memory is whole": ("memory", Fraction(5), 5),
    "memory is rounded up": ("memory", Fraction(3, 2), 2),
    "zero": ("gpu", Fraction(0), 0),
    "negative away from zero": ("gpu", Fraction(-3, 2), -2),
    "largest": ("gpu", Fraction(MAX), MAX),
    "just above the largest": ("gpu", Fraction(MAX) + Fraction(1, 2), MAX),
    "far above": ("gpu", Fraction(10**30), MAX),
    "cpu above by its unit": ("cpu", Fraction(10**16), MAX),
    "far below": ("gpu", Fraction(-(10**30)), MIN),
}


@pytest.mark.parametrize(("resource", "amount", "want"), UNITS.values(), ids=UNITS)
def test_units(resource: str, amount: Fraction, want: int) -> None:
    assert units(resource, amount) == want


def pod(**requests: str) -> dict[str, Any]:
    return {"containers": [{"resources": {"requests": requests}}]}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, dict[str, int]]] = {
    "empty pod": ({}, None, {}),
    "cpu and memory": (pod(cpu="1500m", memory="1Gi"), None, {"cpu": 1500, "memory": 2**30}),
    "zero stays": (pod(cpu="0"), None, {"cpu": 0}),
    "negative becomes zero": (pod(cpu="-1", memory="1"), None, {"cpu": 0, "memory": 1}),
    "too much is clamped": (
        pod(memory="9223372036854775807", cpu="10P"),
        None,
        {"memory": MAX, "cpu": MAX},
    ),
    "rounded once, after the sum": (
        {"containers": [{"resources": {"requests": {"memory": "1500m"}}}] * 2},
        None,
        {"memory": 3},
    ),
    "excluded": (pod(cpu="1", gpu="2"), {"excludeResourcePrefixes": ["gpu"]}, {"cpu": 1000}),
    "rounded after the transformation": (
        pod(cpu="1", memory="100M"),
        {"transformations": [{"input": "memory", "strategy": "Replace", "outputs": {"credits": "3n"}}]},
        {"cpu": 1000, "credits": 1},
    ),
    "a product beyond 64 bits is clamped, not lost": (
        pod(a="1E"),
        {"transformations": [{"input": "a", "strategy": "Replace", "outputs": {"x": "1E"}}]},
        {"x": MAX},
    ),
}


@pytest.mark.parametrize(("spec", "resources", "want"), CASES.values(), ids=CASES)
def test_per_pod_requests(
    spec: dict[str, Any], resources: dict[str, Any] | None, want: dict[str, int]
) -> None:
    converted = msgspec.convert(resources, Resources | None)
    assert per_pod_requests(msgspec.convert(spec, PodSpec), converted) == want


WANT_ORDER = [
    "ephemeral-storage",
    "amd.com/gpu",
    "memory",
    "nvidia.com/gpu",
    "pods",
    "example.com/gpu",
    "hugepages-2Mi",
    "gpu",
    "cpu",
]


def test_resources_stand_in_the_order_of_their_hash() -> None:
    assert sorted(sorted(WANT_ORDER), key=resource_order) == WANT_ORDER
    spec = msgspec.convert(pod(**dict.fromkeys(sorted(WANT_ORDER), "1")), PodSpec)
    assert list(per_pod_requests(spec)) == WANT_ORDER


def test_the_hash_is_64_bit_fnv_1a() -> None:
    assert resource_order("") == (0xCBF29CE484222325, "")
    assert resource_order("a") == (0xAF63DC4C8601EC8C, "a")
    assert resource_order("foobar") == (0x85944171F73967E8, "foobar")
