"""What one pod asks for."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import PodSpec
from kueue_fast.errors import InputError
from kueue_fast.model.pod_requests import pod_requests


def container(sidecar: bool = False, **requests: str | float) -> dict[str, Any]:
    return {
        "name": "c",
        "resources": {"requests": requests},
        **({"restartPolicy": "Always"} if sidecar else {}),
    }


CASES: dict[str, tuple[dict[str, Any], dict[str, Fraction | int]]] = {
    "no containers": ({}, {}),
    "containers without resources": ({"containers": [{"name": "c"}, {"name": "d", "resources": {}}]}, {}),
    "containers add up": (
        {"containers": [container(cpu="500m", memory="1Gi"), container(cpu=2)]},
        {"cpu": Fraction(5, 2), "memory": 2**30},
    ),
    "limits alone do not count": ({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}, {}),
    "a request of zero is there": ({"containers": [container(cpu="0")]}, {"cpu": 0}),
    "nothing is rounded before the sum": (
        {"containers": [container(cpu="100u"), container(cpu="100u")]},
        {"cpu": Fraction(200, 10**6)},
    ),
    "the largest init container counts if larger": (
        {
            "initContainers": [container(cpu="3"), container(cpu="1", memory="5")],
            "containers": [container(cpu="2", memory="10")],
        },
        {"cpu": 3, "memory": 10},
    ),
    "init containers do not add up": (
        {"initContainers": [container(cpu="3"), container(cpu="3")], "containers": [container(cpu="1")]},
        {"cpu": 3},
    ),
    "a sidecar counts beside the containers": (
        {"initContainers": [container(sidecar=True, cpu="1")], "containers": [container(cpu="2")]},
        {"cpu": 3},
    ),
    "a sidecar counts beside later init containers": (
        {
            "initContainers": [container(sidecar=True, cpu="1"), container(cpu="5")],
            "containers": [container(cpu="2")],
        },
        {"cpu": 6},
    ),
    "a sidecar does not count beside earlier init containers": (
        {
            "initContainers": [container(cpu="5"), container(sidecar=True, cpu="1")],
            "containers": [container(cpu="2")],
        },
        {"cpu": 5},
    ),
    "sidecars add up for what follows": (
        {
            "initContainers": [
                container(sidecar=True, cpu="1"),
                container(cpu="2"),
                container(sidecar=True, cpu="1", memory="7"),
                container(cpu="4"),
            ],
            "containers": [container(cpu="1")],
        },
        {"cpu": 6, "memory": 7},
    ),
    "an init container with another restart policy is an ordinary one": (
        {"initContainers": [{**container(cpu="3"), "restartPolicy": "Never"}]},
        {"cpu": 3},
    ),
    "a resource of an init container only": (
        {"initContainers": [container(gpu="1")], "containers": [container(cpu="1")]},
        {"cpu": 1, "gpu": 1},
    ),
    "pod-level requests stand in place of the containers'": (
        {
            "containers": [container(cpu="4", memory="10", gpu="2")],
            "resources": {"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}},
        },
        {"cpu": 1, "memory": 10, "gpu": 2, "hugepages-2Mi": 2**21},
    ),
    "pod-level requests of other resources do not count": (
        {"containers": [container(cpu="4")], "resources": {"requests": {"gpu": "1", "pods": "3"}}},
        {"cpu": 4},
    ),
    "pod-level limits do not count": (
        {"containers": [container(cpu="4")], "resources": {"limits": {"cpu": "1"}}},
        {"cpu": 4},
    ),
    "overhead comes on top": (
        {
            "initContainers": [container(cpu="3")],
            "containers": [container(cpu="1")],
            "overhead": {"cpu": "100m", "memory": "1"},
        },
        {"cpu": Fraction(31, 10), "memory": 1},
    ),
    "overhead comes on top of pod-level requests": (
        {"resources": {"requests": {"memory": "10"}}, "overhead": {"memory": "1"}},
        {"memory": 11},
    ),
    "negative amounts are left as they are": (
        {"containers": [container(cpu="-1"), container(cpu="3")]},
        {"cpu": 2},
    ),
}


@pytest.mark.parametrize(("pod", "want"), CASES.values(), ids=CASES)
def test_pod_requests(pod: dict[str, Any], want: dict[str, Fraction]) -> None:
    assert pod_requests(msgspec.convert(pod, PodSpec)) == want


UNREADABLE: dict[str, tuple[dict[str, Any], str]] = {
    "container": (
        {"containers": [container(cpu="1"), container(cpu="1x")]},
        "containers[1].resources.requests.cpu",
    ),
    "init container": (
        {"initContainers": [container(memory="")]},
        "initContainers[0].resources.requests.memory",
    ),
    "pod level": ({"resources": {"requests": {"cpu": "1 "}}}, "resources.requests.cpu"),
    "overhead": ({"overhead": {"cpu": "one"}}, "overhead.cpu"),
}


@pytest.mark.parametrize(("pod", "want_field"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_quantity(pod: dict[str, Any], want_field: str) -> None:
    with pytest.raises(InputError) as caught:
        pod_requests(msgspec.convert(pod, PodSpec))
    assert caught.value.field == want_field


def test_the_pod_is_not_changed() -> None:
    spec = msgspec.convert(
        {"containers": [container(cpu="1")], "initContainers": [container(sidecar=True, cpu="1")]}, PodSpec
    )
    before = msgspec.json.encode(spec)
    assert pod_requests(spec) == pod_requests(spec)
    assert msgspec.json.encode(spec) == before
