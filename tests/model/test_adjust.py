"""What is filled into a pod spec before its requests are read."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import LimitRange, PodSpec, RuntimeClass
from kueue_fast.model.adjust import adjust
from kueue_fast.model.limits import summarise


def resources(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if requests is not None:
        made["requests"] = requests
    if limits is not None:
        made["limits"] = limits
    return made


def one(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [{"name": "c", "resources": resources(requests, limits)}]


def item(
    kind: str, default: dict[str, Any] | None = None, request: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"type": kind, "default": default, "defaultRequest": request}


RUNTIME_CLASSES: dict[str, dict[str, Any]] = {
    "kata": {"handler": "kata", "overhead": {"podFixed": {"cpu": "100m", "memory": "10Mi"}}},
    "plain": {"handler": "plain"},
    "empty": {"handler": "empty", "overhead": {"podFixed": {}}},
}

Case = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]
CHANGED: dict[str, Case] = {
    "overhead of the RuntimeClass": (
        {"runtimeClassName": "kata"},
        [],
        {"runtimeClassName": "kata", "overhead": {"cpu": "100m", "memory": "10Mi"}},
    ),
    "an empty overhead is none": (
        {"runtimeClassName": "kata", "overhead": {}},
        [],
        {"runtimeClassName": "kata", "overhead": {"cpu": "100m", "memory": "10Mi"}},
    ),
    "limits as requests": (
        {"initContainers": one(limits={"cpu": "1"}), "containers": one({"cpu": "1"}, {"cpu": "2", "gpu": 1})},
        [],
        {
            "initContainers": one({"cpu": "1"}, {"cpu": "1"}),
            "containers": one({"cpu": "1", "gpu": 1}, {"cpu": "2", "gpu": 1}),
        },
    ),
    "pod-level limits as requests": (
        {"resources": resources(limits={"cpu": "2"})},
        [],
        {"resources": resources({"cpu": "2"}, {"cpu": "2"})},
    ),
    "defaults of a LimitRange in both kinds of containers": (
        {"initContainers": [{"name": "i"}], "containers": one({"cpu": "1"})},
        [item("Container", {"cpu": "4"}, {"cpu": "2", "memory": "1Gi"})],
        {
            "initContainers": [
                {"name": "i", "resources": resources({"cpu": "2", "memory": "1Gi"}, {"cpu": "4"})}
            ],
            "containers": one({"cpu": "1", "memory": "1Gi"}, {"cpu": "4"}),
        },
    ),
    "a default request comes before the limit": (
        {"containers": one(limits={"cpu": "8"})},
        [item("Container", None, {"cpu": "2"})],
        {"containers": one({"cpu": "2"}, {"cpu": "8"})},
    ),
    "a default limit becomes the request": (
        {"containers": one()},
        [item("Container", {"cpu": "4"})],
        {"containers": one({"cpu": "4"}, {"cpu": "4"})},
    ),
    "defaults of a pod LimitRange where pod-level resources are set": (
        {"resources": {}, "containers": one({"cpu": "1"})},
        [item("Pod", {"cpu": "4"}, {"memory": "1Gi"})],
        {
            "resources": resources({"memory": "1Gi", "cpu": "4"}, {"cpu": "4"}),
            "containers": one({"cpu": "1"}),
        },
    ),
    "each kind of range reaches its own level": (
        {"resources": {}, "containers": one()},
        [item("Container", None, {"cpu": "1"}), item("Pod", None, {"memory": "1"})],
        {"resources": resources({"memory": "1"}), "containers": one({"cpu": "1"})},
    ),
    "the first default wins": (
        {"containers": one()},
        [item("Container", None, {"cpu": "1"}), item("Container", None, {"cpu": "2", "gpu": "3"})],
        {"containers": one({"cpu": "1", "gpu": "3"})},
    ),
    "only one of two containers": (
        {"containers": one({"cpu": "1"}) + one(limits={"cpu": "2"})},
        [],
        {"containers": one({"cpu": "1"}) + one({"cpu": "2"}, {"cpu": "2"})},
    ),
}

UNCHANGED: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "empty pod": ({}, []),
    "nothing missing": (
        {"containers": one({"cpu": "1"}, {"cpu": "2"})},
        [item("Container", {"cpu": "9"}, {"cpu": "9"})],
    ),
    "the pod's own overhead": ({"runtimeClassName": "kata", "overhead": {"cpu": "1"}}, []),
    "no RuntimeClass of that name": ({"runtimeClassName": "other"}, []),
    "a RuntimeClass without overhead": ({"runtimeClassName": "plain"}, []),
    "a RuntimeClass with empty overhead": ({"runtimeClassName": "empty"}, []),
    "a pod LimitRange without pod-level resources": (
        {"containers": [{"name": "c"}]},
        [item("Pod", {"cpu": "4"})],
    ),
    "a LimitRange of volumes": (
        {"containers": [{"name": "c"}]},
        [item("PersistentVolumeClaim", {"cpu": "4"})],
    ),
    "a LimitRange without defaults": (
        {"containers": [{"name": "c"}]},
        [{"type": "Container", "max": {"cpu": "1"}}],
    ),
}


def run(pod: PodSpec, items: list[dict[str, Any]]) -> PodSpec:
    classes = {
        name: msgspec.convert({"metadata": {"name": name}, **body}, RuntimeClass)
        for name, body in RUNTIME_CLASSES.items()
    }
    limit_range = {"metadata": {"name": "r"}, "spec": {"limits": items}}
    return adjust(pod, classes, summarise([msgspec.convert(limit_range, LimitRange)]))


@pytest.mark.parametrize(("pod", "items", "want"), CHANGED.values(), ids=CHANGED)
def test_adjust(pod: dict[str, Any], items: list[dict[str, Any]], want: dict[str, Any]) -> None:
    given = msgspec.convert(pod, PodSpec)
    before = msgspec.json.encode(given)
    assert run(given, items) == msgspec.convert(want, PodSpec)
    assert msgspec.json.encode(given) == before


@pytest.mark.parametrize(("pod", "items"), UNCHANGED.values(), ids=UNCHANGED)
def test_nothing_to_adjust_gives_the_same_object(pod: dict[str, Any], items: list[dict[str, Any]]) -> None:
    given = msgspec.convert(pod, PodSpec)
    assert run(given, items) is given
